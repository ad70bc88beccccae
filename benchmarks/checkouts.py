"""`prism score` of two checkouts side by side, in one run: is the newer one slower?

    python benchmarks/checkouts.py OLD NEW [--lines 100000] [--repeat 3] [--metric prism-ref] [--model FOLDER]

OLD and NEW are folders with a source tree. Each repetition runs both, one after the other, with an empty cache of their
own, on made-up lines that all differ; the time is that of the processor, which other programs disturb least. The
scores of both are compared, too. Where their embedded models differ, --model names one that both can read.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from prism_mt.report.table import Column, Table, number, render

WORDS = (Path(__file__).parents[1] / "examples" / "wmt21-en-de" / "ref.de").read_text("utf-8").split()


def write_lines(folder: Path, lines: int) -> None:
    """Write references of 4 to 20 words, and outputs that change one of them."""
    chance = random.Random(1)
    with (
        (folder / "ref").open("w", encoding="utf-8") as ref,
        (folder / "cand").open("w", encoding="utf-8") as cand,
    ):
        for _ in range(lines):
            words = chance.choices(WORDS, k=chance.randint(4, 20))
            ref.write(" ".join(words) + "\n")
            words[chance.randrange(len(words))] = chance.choice(WORDS)
            cand.write(" ".join(words) + "\n")


def run(checkout: Path, folder: Path, options: list[str]) -> tuple[float, list[float]]:
    """Score with a checkout; return seconds of the processor and the segment scores."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "PRISM_CACHE": cache}
        command = [sys.executable, "-m", "prism_mt", "score", "--cand", "cand", "--ref", "ref", "--lang", "de"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [*command, *options, "--segments"],
            cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, [float(line) for line in done.stdout.split()]


def main() -> None:
    """Alternate between the checkouts, and print the fastest run of each."""
    parser = argparse.ArgumentParser(description="`prism score` of two checkouts side by side")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--metric", default="prism-ref")
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    scoring = ["--metric", options.metric, *(["--model", str(options.model.resolve())] if options.model else [])]
    checkouts = {"old": options.old.resolve(), "new": options.new.resolve()}
    seconds: dict[str, list[float]] = {name: [] for name in checkouts}
    scores: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_lines(Path(folder), options.lines)
        for _ in range(options.repeat):
            for name, checkout in checkouts.items():
                spent, scores[name] = run(checkout, Path(folder), scoring)
                seconds[name].append(spent)
    difference = max(abs(a - b) for a, b in zip(scores["old"], scores["new"], strict=True))
    rows = [(name, min(spent), options.lines / min(spent)) for name, spent in seconds.items()]
    notes = (
        f"new / old: {min(seconds['new']) / min(seconds['old']):.3f}; largest difference of a score: {difference:.2g}",
    )
    columns = (Column("checkout"), number("seconds", 1), number("lines per second", 0))
    print(render(Table(columns, tuple(rows), f"{options.metric}, {options.lines:,} lines", notes=notes)), end="")


if __name__ == "__main__":
    main()
