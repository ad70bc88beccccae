"""Score and compare the bundled example with the default model, offline.

Where the installation brings no model yet, a stand-in with random weights is made on the spot: it shows every
command at work, but its numbers mean nothing.
"""

import os
import shlex
import sys
import tempfile
from pathlib import Path

from prism_mt.cli.main import main
from prism_mt.models.resolve import DEFAULT_MODEL, embedded
from prism_mt.models.store import write_model

_HERE = Path(__file__).resolve().parent
_DATA = Path("examples/wmt21-en-de")
_REPORT = Path("build/report.html")


def run(*words: str) -> None:
    """Show a command and what it prints."""
    print(f"\n$ prism {shlex.join(words)}", flush=True)
    if code := main(words):
        sys.exit(code)


def default_model(folder: Path) -> str:
    """The embedded model, or a stand-in."""
    if embedded().is_dir():
        return DEFAULT_MODEL
    sys.path.insert(0, str(_HERE.parent / "tests"))
    from made import make_model

    print("This installation has no embedded model: a STAND-IN with random weights takes its place.")
    print("Its Prism scores mean nothing; BLEU and chrF are real.")
    return str(write_model(make_model(width=64, max_positions=512), folder / "stand-in").folder)


def demo() -> None:
    """A tour: score two systems, compare six of them on a page, look into one segment."""
    texts = ["--cand", f"A={_DATA / 'system-a.de'}", f"B={_DATA / 'system-b.de'}", "--ref", str(_DATA / "ref.de")]
    os.chdir(_HERE.parent)  # so that the commands shown can be typed from there
    with tempfile.TemporaryDirectory() as made:
        model = ["--model", default_model(Path(made)), "--lang", "de"]
        run("score", *texts, "--src", str(_DATA / "src.en"), "--src-lang", "en", *model)
        run("score", *texts, *model, "--metric", "bleu", "chrf")
        six = [f"{name}={_DATA / f'system-{name.lower()}.de'}" for name in "ABCDEF"]
        sides = ["--ref", str(_DATA / "ref.de"), "--groups", str(_DATA / "documents.txt")]
        metrics = ["--metric", "prism-ref", "bleu", "chrf", "--html", str(_REPORT)]
        run("compare", "--cand", *six, *sides, *model, *metrics)
        print(f"\nOpen {_REPORT} in a browser.")
        reference, output = (
            (_DATA / name).read_text(encoding="utf-8").split("\n")[1] for name in ("ref.de", "system-a.de")
        )
        run("explain", reference, output, *model)


if __name__ == "__main__":
    demo()
