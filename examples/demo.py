"""Score the bundled example with the default model, offline.

Where the installation brings no model yet, a stand-in with random weights is made on the spot: it shows every
command at work, but its numbers mean nothing.
"""

import os
import sys
import tempfile
from pathlib import Path

from prism_mt.cli.main import main
from prism_mt.models.resolve import DEFAULT_MODEL, embedded
from prism_mt.models.store import write_model

_HERE = Path(__file__).resolve().parent
_DATA = Path("examples/wmt21-en-de")


def run(*words: str) -> None:
    """Show a command and what it prints."""
    print(f"\n$ prism {' '.join(words)}", flush=True)
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
    """A tour of the score command on outputs of two systems."""
    texts = ["--cand", f"A={_DATA / 'system-a.de'}", f"B={_DATA / 'system-b.de'}", "--ref", str(_DATA / "ref.de")]
    os.chdir(_HERE.parent)  # so that the commands shown can be typed from there
    with tempfile.TemporaryDirectory() as made:
        model = ["--model", default_model(Path(made)), "--lang", "de"]
        run("score", *texts, "--src", str(_DATA / "src.en"), "--src-lang", "en", *model)
        run("score", *texts, *model, "--metric", "bleu", "chrf")
        first = Path(made) / "first"
        first.mkdir()
        for name in ("system-a.de", "ref.de"):
            line = (_DATA / name).read_text(encoding="utf-8").split("\n")[1]
            (first / name).write_text(line + "\n", encoding="utf-8")
        run("score", "--cand", str(first / "system-a.de"), "--ref", str(first / "ref.de"), *model, "--tokens")


if __name__ == "__main__":
    demo()
