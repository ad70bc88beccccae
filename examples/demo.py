"""Score and compare the bundled example with the default model, offline."""

import os
import shlex
import sys
from pathlib import Path

from prism_mt.cli.main import main

_HERE = Path(__file__).resolve().parent
_DATA = Path("examples/wmt21-en-de")
_REPORT = Path("build/report.html")


def run(*words: str) -> None:
    """Show a command and what it prints."""
    print(f"\n$ prism {shlex.join(words)}", flush=True)
    if code := main(words):
        sys.exit(code)


def demo() -> None:
    """A tour: score two systems, compare six of them on a page, look into one segment."""
    texts = ["--cand", f"A={_DATA / 'system-a.de'}", f"B={_DATA / 'system-b.de'}", "--ref", str(_DATA / "ref.de")]
    os.chdir(_HERE.parent)  # so that the commands shown can be typed from there
    language = ["--lang", "de"]
    run("score", *texts, "--src", str(_DATA / "src.en"), "--src-lang", "en", *language)
    run("score", *texts, *language, "--metric", "bleu", "chrf")
    six = [f"{name}={_DATA / f'system-{name.lower()}.de'}" for name in "ABCDEF"]
    sides = ["--ref", str(_DATA / "ref.de"), "--groups", str(_DATA / "documents.txt")]
    metrics = ["--metric", "prism-ref", "bleu", "chrf", "--html", str(_REPORT)]
    run("compare", "--cand", *six, *sides, *language, *metrics)
    print(f"\nOpen {_REPORT} in a browser.")
    reference, output = (
        (_DATA / name).read_text(encoding="utf-8").split("\n")[1] for name in ("ref.de", "system-a.de")
    )
    run("explain", reference, output, *language)


if __name__ == "__main__":
    demo()
