"""Prepare a corpus, then again with a kill half-way; prints time, peak memory and whether the outputs are the same.

python benchmarks/corpus/show.py --root DIR --output DIR [--config all-bitext.toml]
"""

import argparse
import csv
import filecmp
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--config", type=Path, default=HERE / "all-bitext.toml")
    options = parser.parse_args()
    whole, killed = options.output / "whole", options.output / "killed"
    command = [
        sys.executable,
        "-m",
        "prism_mt",
        "corpus",
        "prepare",
        str(options.config),
        "--root",
        str(options.root),
    ]

    seconds, peak = run([*command, "--output", str(whole)], None)
    rows = rows_read(whole / "report.tsv")
    print(
        f"{rows:,} rows in {seconds:,.0f} s: {rows / seconds:,.0f} rows/s; peak memory {peak / 2**10:,.0f} MB",
        flush=True,
    )
    run([*command, "--output", str(killed)], kill_after=seconds / 2)
    rest, _ = run([*command, "--output", str(killed)], None)
    names = sorted(path.name for path in whole.iterdir())
    same = filecmp.cmpfiles(whole, killed, names, shallow=False)[0] == names
    print(f"killed after {seconds / 2:,.0f} s, resumed for {rest:,.0f} s: the {len(names)} files are", end=" ")
    print("identical" if same else "NOT identical")
    sys.exit(not same)


def run(command: list[str], kill_after: float | None) -> tuple[float, int]:
    """Seconds and peak memory in KB of a command with all its processes; it may be killed on the way."""
    start, peak = time.monotonic(), 0
    process = subprocess.Popen(command, start_new_session=True)
    while process.poll() is None:
        peak = max(peak, memory(process.pid))
        if kill_after is not None and time.monotonic() - start > kill_after:
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.5)
    if process.returncode and kill_after is None:
        sys.exit(f"the preparation failed with exit code {process.returncode}")
    return time.monotonic() - start, peak


def memory(session: int) -> int:
    """Resident memory in KB of all processes of a session; pages that they share count for each."""
    listing = subprocess.run(["ps", "-o", "rss=", "-s", str(session)], capture_output=True, text=True, check=False)
    return sum(map(int, listing.stdout.split()))


def rows_read(report: Path) -> int:
    """Rows that the sources gave, before any step."""
    with open(report, encoding="utf-8", newline="") as handle:
        return sum(int(line["after"]) for line in csv.DictReader(handle, delimiter="\t") if line["step"] == "read")


if __name__ == "__main__":
    main()
