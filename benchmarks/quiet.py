"""Everything about speed that needs a quiet machine, in order of importance, in one command.

    python benchmarks/quiet.py [--output FOLDER] [--minutes 25] [--only STEP …] [--data DIR] [--quick] [--list]

Every step is a command of its own. What it prints goes to FOLDER/STEP.txt as well as to the terminal, and its seconds
to FOLDER/steps.tsv. A step that fails does not stop the others, but the exit code is 1; one that is not expected to
end within the minutes left is skipped, and `--only` makes up for it later. `--quick` only shows that everything runs;
`--list` shows the commands.
"""

import argparse
import os
import random
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import prism_mt

HERE = Path(__file__).parent


class Step(NamedTuple):
    """A command, and how many minutes it is expected to take at most on two quiet cores."""

    name: str
    minutes: float
    words: list[str]


def script(name: str, *words: object) -> list[str]:
    return [sys.executable, str(HERE / name), *map(str, words)]


def write_news(data: Path, folder: Path) -> list[str]:
    """Real references and one output each, by all systems in turn; returns the options that name them."""
    judgments = prism_mt.read_judgments(data / "judgments" / "wmt21_mqm_news_en-de.jsonl.xz").without_humans()
    texts = judgments.texts
    assert texts is not None
    references, systems = texts.references["ref-C"], judgments.systems
    places = [place for place, text in enumerate(references) if text]
    random.Random(0).shuffle(places)
    rows = [
        (references[place], texts.outputs[systems[turn % len(systems)]][place])
        for turn, place in enumerate(places)
    ]
    files = folder / "news.ref", folder / "news.out"
    for side, file in enumerate(files):
        file.write_text("".join(f"{row[side]}\n" for row in rows if row[1]), "utf-8")
    return ["--text", *map(str, files), "de"]


def steps(data: Path, folder: Path, quick: bool) -> list[Step]:
    """In order of importance. Of the largest shape, `--pairs` means a sixteenth."""
    text = write_news(data, folder)
    pairs, repeat = (16, 1) if quick else (512, 3)
    some: list[object] = ["--repeat", repeat, "--pairs"]
    made: list[object] = ["--json", folder / "peers.json"]
    at = ["--data", data]
    few = ["--segments", 1 if quick else 20, "--only", "systems"]
    return [
        Step("peers-mini", 5, script("scoring.py", "--models", "mini", *text, *some, pairs, *made)),
        Step("peers-60M", 5.5, script("scoring.py", "--models", "60M", *some, pairs)),
        Step("start-up", 0.7, script("start_up.py", "--repeat", 2 if quick else 5)),
        Step("esim", 2, script("learned_metrics.py", *at, "speed", "--pairs", 40 if quick else 1500)),
        Step(
            "bertscore", 2, script("learned_metrics.py", *at, "speed-bertscore", "--pairs", 40 if quick else 1500)
        ),
        Step("soft-accuracy", 0.5, script("meta_evaluation.py", "--reference-draws", 1)),
        Step("training", 1.5, script("training_speed.py", *at, "--steps", 1 if quick else 6)),
        Step("systems", 1.5, script("shared_work.py", *at, *few)),
        Step("mbr", 0.7, script("shared_work.py", "--candidates", 4 if quick else 32, "--only", "mbr")),
        *(
            Step(
                f"systems-{engine}-{precision}",
                0.7,
                script("shared_work.py", *at, *few, "--engine", engine, "--precision", precision),
            )
            for engine, precision in (("torch", "auto"), ("ct2", "float32"))
        ),
        Step("ray", 1.5, script("cluster.py", "--pairs", 32 if quick else 1024)),
        *([] if quick else [Step("peers-745M", 6, script("scoring.py", "--models", "745M", *some, 256))]),
        Step("agreement", 6, script("precisions.py", *at, "--segments", 1 if quick else 60)),
        Step("scale", 5, script("scale.py", "--output", folder, *(["--quick"] if quick else []))),
    ]


def run(step: Step, folder: Path) -> tuple[int, float]:
    """Exit code and seconds; standard output is shown and kept."""
    start = time.perf_counter()
    log = (folder / f"{step.name}.err").open("w", encoding="utf-8")
    with log, (folder / f"{step.name}.txt").open("w", encoding="utf-8") as file:
        file.write(f"$ {shlex.join(step.words)}\n")
        process = subprocess.Popen(step.words, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            print(line, end="", flush=True)
        code = process.wait()
    return code, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("benchmark-quiet"), metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--only", nargs="+", metavar="STEP")
    default = os.environ.get("PRISM_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with judgments/")
    parser.add_argument("--quick", action="store_true", help="few texts: shows that it runs, not how fast")
    parser.add_argument("--list", action="store_true", help="show the commands")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    known = steps(Path(options.data), options.output, options.quick)
    if missing := sorted(set(options.only or ()) - {step.name for step in known}):
        parser.error(f"no step {', '.join(missing)}; steps are {', '.join(step.name for step in known)}")
    chosen = [step for step in known if options.only is None or step.name in options.only]
    if options.list:
        print(*(f"{step.minutes:4.1f} min  {step.name}: {shlex.join(step.words)}" for step in chosen), sep="\n")
        return
    failed = False
    end = time.monotonic() + 60 * options.minutes
    with (options.output / "steps.tsv").open("a", encoding="utf-8") as table:
        for step in chosen:
            left = (end - time.monotonic()) / 60
            if not options.quick and step.minutes > left:
                print(f"skipped {step.name}: {step.minutes:g} minutes, {left:.1f} left", flush=True)
                continue
            print(f"== {step.name}: up to {step.minutes:g} of {left:.1f} minutes left", flush=True)
            code, seconds = run(step, options.output)
            outcome = f"failed ({code})" if code else "ok"
            print(step.name, outcome, f"{seconds:.0f}", sep="\t", file=table, flush=True)
            if code:
                failed = True
                print(f"FAILED: see {options.output / step.name}.err", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
