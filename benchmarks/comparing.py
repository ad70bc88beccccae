"""Significance tests: `prism compare` beside sacreBLEU, on the same files in one run.

    python benchmarks/comparing.py [--systems 5] [--copies 1] [--metrics bleu chrf] [--data DIR]

Outputs of WMT21 news, English to German. The first system is the baseline of sacreBLEU, which tests the others against
it; `prism compare` tests every pair. --copies repeats the test set, to see what more segments cost. That the numbers
are the same is tested in tests/stats.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import prism_mt
from prism_mt.report.table import Column, Table, number, render

TESTS = {"bootstrap": "--paired-bs", "randomization": "--paired-ar"}


def write_texts(data: Path, systems: int, copies: int, folder: Path) -> tuple[list[Path], Path]:
    """Outputs of the systems and the reference, as files."""
    judgments = prism_mt.read_judgments(data / "judgments" / "wmt21_mqm_news_en-de.jsonl.xz")
    texts = judgments.texts
    assert texts is not None
    names = judgments.without_humans().systems[:systems]
    columns = {**{name: texts.outputs[name] for name in names}, "reference": texts.references["ref-C"]}
    places = [place for place in range(len(texts.sources)) if all(column[place] for column in columns.values())]
    for name, column in columns.items():
        (folder / name).write_text("".join(f"{column[place]}\n" for place in places) * copies, "utf-8")
    return [folder / name for name in names], folder / "reference"


def measure(command: list[str]) -> tuple[float, float, float]:
    """Seconds, those of the processor, and peak memory in MB of a command, at least what this process has by now.

    Linux counts the memory of the process that starts another as its, too.
    """
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=5)
    parser.add_argument("--copies", type=int, default=1, help="how often the test set is repeated")
    parser.add_argument("--metrics", nargs="+", default=["bleu", "chrf"])
    default = os.environ.get("PRISM_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with judgments/")
    options = parser.parse_args()
    rows: list[tuple[Any, ...]] = []
    scripts = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        outputs, reference = write_texts(Path(options.data), options.systems, options.copies, Path(folder))
        segments = len(reference.read_text("utf-8").splitlines())
        files = list(map(str, outputs))
        for test, flag in TESTS.items():
            theirs = [
                str(scripts / "sacrebleu"),
                str(reference),
                "-i",
                *files,
                "-m",
                *options.metrics,
                flag,
                "-f",
                "text",
            ]
            ours = [str(scripts / "prism"), "compare", "--ref", str(reference), "--cand", *files, "--lang", "de"]
            ours += ["--metric", *options.metrics, "--test", test, "--no-language-check"]
            for name, command in (("sacreBLEU", theirs), ("prism", ours)):
                seconds, processor, memory = measure(command)
                tested = (options.systems - 1) * (1 if name == "sacreBLEU" else options.systems / 2)
                rows.append((test, name, segments, int(tested), seconds, processor, memory))
    columns = (
        *(Column("test"), Column("tool"), number("segments", 0), number("pairs tested", 0)),
        *(number("seconds", 1), number("processor", 1), number("MB", 0)),
    )
    print(render(Table(columns, tuple(rows), f"{options.systems} systems, {', '.join(options.metrics)}")))


if __name__ == "__main__":
    main()
