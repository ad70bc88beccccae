"""Take the pictures of the comparison page that the docs show: wide and narrow, light and dark.

python tools/take_pictures.py          # needs Playwright and Chromium; writes docs/images/page-*.png
"""

import hashlib
import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

import prism_mt as prism

_ROOT = Path(__file__).resolve().parent.parent
_DATA = _ROOT / "examples" / "wmt21-en-de"
_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
_SIZES = {1400: 1250, 400: 1300}
_PATIENCE = 300_000
"""Milliseconds; on a busy machine, Playwright's 30 seconds are not enough."""
_COLORS = 256
"""A palette keeps the files small; nobody sees the difference in a picture of text."""


def lines(name: str) -> list[str]:
    """Read a file of the bundled example."""
    return (_DATA / name).read_text(encoding="utf-8").splitlines()


def origin() -> str:
    """Return a digest of what the page looks like and says: its files, the example and the model.

    It is written into every picture, so that a test notices pictures of an older page.
    """
    package = Path(prism.__file__).parent
    files = [*(package / "report" / "page_files").iterdir(), *_DATA.iterdir()]
    files.append(package / "assets" / "mini" / "config.json")
    digest = hashlib.sha256()
    for path in sorted(path for path in files if path.is_file()):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def make_page(path: Path) -> None:
    """Compare the systems of the bundled example."""
    systems = {name: lines(f"system-{name.lower()}.de") for name in "ABCDEF"}
    metrics = ["prism-ref", "bleu", "chrf"]
    scores = prism.score(
        systems, ref=lines("ref.de"), src=lines("src.en"), lang="de", src_lang="en", metrics=metrics, tokens=True
    )
    compared = prism.compare(scores, groups=lines("documents.txt"))
    compared.to_html(path, title="Six systems at WMT21", test_set="newstest2021, first 60 segments")


def take(browser: Any, page_file: Path, folder: Path, width: int, scheme: str) -> None:
    """Light pictures show the top of the page, dark ones its segments."""
    from PIL import Image, PngImagePlugin

    page = browser.new_page(viewport={"width": width, "height": _SIZES[width]}, color_scheme=scheme)
    page.set_default_timeout(_PATIENCE)
    page.goto(page_file.as_uri())
    page.wait_for_selector(".row")
    if scheme == "dark":
        page.select_option("#other", "2")
        page.select_option("#sort", "loses")
        page.select_option("#outputs", "chosen")
        target = "#pair" if width > 1000 else "#scale-legend"
        page.evaluate(f"document.querySelector('{target}').scrollIntoView()")
    page.wait_for_timeout(300)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    path = folder / f"page-{width}-{scheme}.png"
    info = PngImagePlugin.PngInfo()
    info.add_text("origin", origin())
    picture.quantize(_COLORS, dither=Image.Dither.NONE).save(path, optimize=True, pnginfo=info)
    print(f"{path.relative_to(_ROOT)}: {path.stat().st_size // 1000} kB")
    page.close()


def main() -> None:
    """Make the page and take all pictures."""
    from playwright.sync_api import sync_playwright

    folder = _ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as started:
        page_file = Path(temporary) / "report.html"
        make_page(page_file)
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=_FLAGS)
        for width in _SIZES:
            for scheme in ("light", "dark"):
                take(browser, page_file, folder, width, scheme)
        browser.close()


if __name__ == "__main__":
    main()
