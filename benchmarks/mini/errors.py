"""Fit what finds errors for a model, and measure it: one command each.

    python benchmarks/mini/errors.py fit --data DIR --model run/model
    python benchmarks/mini/errors.py measure --data DIR --model run/model > tables.md

`fit` writes the weights of error spans and of error-free segments into the model's folder; `measure` prints the tables
of docs/results/2026-11-errors.md as Markdown, each below its command. Both print what every command took. Scores are
cached: a run that was killed goes on where it stopped, and fitting anew after a change of features costs little.
DIR has bitext/ and judgments/.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import prism_mt

_ROOT = Path(__file__).parents[2]
_DOCUMENTS = os.path.relpath(_ROOT / "benchmarks" / "documents.py")
_BITEXT = (
    *(f"{name}.tsv.xz" for name in ("tatoeba_paraphrase", "tatoeba", "wmt_news_2014_2018", "kk_en_gov")),
    *(f"{name}.jsonl.xz" for name in ("tico19", "wesnoth", "docs_libreoffice_help", "europarl7")),
)
_WMT20 = [f"DIR/judgments/wmt20_mqm_{pair}.jsonl.xz" for pair in ("en-de", "zh-en")]
_WMT21 = {"en-de": "ref-C", "zh-en": "ref-B"}

FIT = [
    [
        *("prism", "metric", "spans", "--bitext", *(f"DIR/bitext/{name}" for name in _BITEXT)),
        *("--judgments", *_WMT20, "--reference", "Human-A.0", "--pairs", "16", "--judged", "100"),
    ],
    ["prism", "metric", "error-free", *_WMT20, "--reference", "Human-A.0", "--outputs", "600"],
]
MEASURE = [
    ["prism", "metaeval", "spans"],
    ["prism", "challenge", "builtin"],
    *(
        f"prism metaeval error-free DIR/judgments/wmt21_mqm_news_{pair}.jsonl.xz --outputs 1000 --reference "
        f"{reference}".split()
        for pair, reference in _WMT21.items()
    ),
    ["python", _DOCUMENTS, "--data", "DIR", "--documents", "10", "--context", "0", "1", "2"],
]


def run(words: Sequence[str], data: Path, more: Mapping[str, str], tables: bool) -> None:
    """Run a command, and print it, its table, and what it took."""
    shown = " ".join([*words, *(f"{flag} {value}" for flag, value in more.items())])
    start = [sys.executable, *(["-m", "prism_mt"] if words[0] == "prism" else [])]
    arguments = [str(data) + word[3:] if word == "DIR" or word.startswith("DIR/") else word for word in words[1:]]
    own = [word for item in more.items() for word in item]
    formatted = ["--format", "markdown"] if tables else []
    began, before = time.perf_counter(), _cpu_seconds()
    found = subprocess.run([*start, *arguments, *own, *formatted], stdout=subprocess.PIPE, text=True)
    if found.returncode:
        raise SystemExit(f"failed: {shown}")
    took = f"{_cpu_seconds() - before:.0f} CPU seconds, {time.perf_counter() - began:.0f} s"
    print(f"`{shown}` ({took})\n\n{found.stdout}", flush=True)
    print(f"{shown}: {took}", file=sys.stderr)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Run the commands one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["fit", "measure"])
    default = os.environ.get("PRISM_DATA", _ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with bitext/ and judgments/")
    parser.add_argument("--model", default="mini", help="folder of the model (default of measure: mini)")
    parser.add_argument("--engine", default="torch")
    parser.add_argument("--precision", default="bfloat16")
    options = parser.parse_args()
    if options.task == "fit" and options.model == "mini":
        parser.error("fit writes into the model's folder: pass the --model that you made, not the embedded one")
    more = {"--model": options.model, "--engine": options.engine, "--precision": options.precision}
    digest = prism_mt.Runtime().model(options.model).digest[:12]
    print(f"{date.today()}, prism {prism_mt.__version__}, model {Path(options.model).name}@{digest}\n", flush=True)
    for words in FIT if options.task == "fit" else MEASURE:
        run(words, options.data.resolve(), more, tables=options.task == "measure")


if __name__ == "__main__":
    main()
