"""What a cold start takes: `prism --help` and `prism score` of one line, best and median of some runs.

    python benchmarks/start_up.py [--repeat 5] [--model mini]

Seconds of the clock and of the processor, and peak memory, of whole processes. The model is converted before, but for
the row that says otherwise; files are in the system's cache.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prism_mt.report.table import Column, Table, Value, number, render


def measure(words: list[str], cache: Path) -> tuple[float, float, float]:
    """Seconds, CPU seconds and peak MB of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "prism_mt", *words],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PRISM_CACHE": str(cache)},
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"failed: prism {' '.join(words)}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--model", default="mini")
    options = parser.parse_args()
    rows: list[tuple[Value, ...]] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for side, text in (("cand", "The cat sat.\n"), ("ref", "A cat sat there.\n")):
            (folder / side).write_text(text, "utf-8")
        score = ["score", "--cand", str(folder / "cand"), "--ref", str(folder / "ref"), "--lang", "en"]
        score += ["--model", options.model]
        commands = {
            "--help": (["--help"], options.repeat),
            "score, first run ever": (score, 1),
            "score, float32": ([*score, "--no-cache"], options.repeat),
            "score, auto": ([*score, "--no-cache", "--precision", "auto"], options.repeat),
            "score, bfloat16": ([*score, "--no-cache", "--precision", "bfloat16"], options.repeat),
            "score, known in the cache": (score, options.repeat),
        }
        for name, (words, repeat) in commands.items():
            found = [measure(words, folder / "cache") for _ in range(repeat)]
            seconds = [one[0] for one in found]
            cpu, memory = min(one[1] for one in found), max(one[2] for one in found)
            rows.append((name, min(seconds), statistics.median(seconds), cpu, memory))
    columns = (
        Column("prism"),
        number("seconds", 3),
        number("median", 3),
        number("CPU s", 3),
        number("peak MB", 0),
    )
    print(render(Table(columns, tuple(rows), f"Cold start of one line, best of {options.repeat}")), end="")


if __name__ == "__main__":
    main()
