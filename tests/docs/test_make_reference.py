"""The site builds without a warning, links hold, and the reference has every command, metric, protocol and option."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from make_reference import PAGES, all_commands, write
from option_tables import documented

import prism_mt
from prism_mt._core.arguments import flag
from prism_mt.evaluation.protocols import PROTOCOLS
from prism_mt.metrics.registry import list_metrics

_ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"!?\[[^\]\n]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```$", re.M | re.S)


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    return {name: make() for name, make in PAGES.items()}


def test_site_builds_in_strict_mode(tmp_path: Path) -> None:
    if shutil.which("zensical", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("Zensical is not installed: pip install '.[docs]'")
    for name in ("docs", "src", "mkdocs.yml"):
        (tmp_path / name).symlink_to(_ROOT / name) if name == "src" else _copy(_ROOT / name, tmp_path / name)
    write(tmp_path / "docs")
    words = [str(Path(sys.executable).parent / "zensical"), "build", "--strict"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "build" / "site"
    assert "forward-weight" in (site / "reference" / "options.html").read_text(encoding="utf-8")
    assert "Score as" in (site / "reference" / "python.html").read_text(encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("reference"))
    else:
        shutil.copy(source, target)


def test_every_command_and_option_is_in_the_reference(reference: dict[str, str]) -> None:
    text = (reference["reference/commands.md"] + reference["reference/options.md"]).replace("\\|", "|")
    for words, command in all_commands():
        assert f"## prism {words}\n" in text
        for kind in command.options:
            for field, _ in documented(kind):
                name = flag(field.name)
                if field.metadata["positional"]:
                    name = field.metadata["metavar"] or field.name.upper()
                assert f"`{name}`" in text


def test_every_metric_is_in_the_reference(reference: dict[str, str]) -> None:
    for name, kind in list_metrics().items():
        assert f"\n## {name} {{" in reference["reference/metrics.md"]
        for field, _ in documented(kind):
            assert f"| `{field.name}` |" in reference["reference/metrics.md"]


def test_every_protocol_and_public_name_is_in_the_reference(reference: dict[str, str]) -> None:
    for name in PROTOCOLS:
        assert f"| `{name}` |" in reference["reference/protocols.md"]
    for name in prism_mt.__all__:
        assert re.search(rf"^::: prism_mt\.[\w.]*\b{name}$", reference["reference/python.md"], re.M)


def test_statistics_and_tests_are_explained() -> None:
    text = (_ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
    for protocol in PROTOCOLS.values():
        assert f"`{protocol.statistic}`" in text
        assert f"`{protocol.test}`" in text


def _pages() -> Iterator[Path]:
    yield from _ROOT.glob("*.md")
    for folder in ("benchmarks", "examples", "src"):
        yield from (_ROOT / folder).rglob("*.md")


@pytest.mark.parametrize("page", sorted(_pages()), ids=lambda page: str(page.relative_to(_ROOT)))
def test_links_outside_of_the_site_hold(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    links = [link.partition("#")[0] for link in _LINK.findall(text) if not re.match(r"[a-z]+:", link)]
    assert [link for link in links if link and not (page.parent / link).exists()] == []
