"""Does a smaller number format cost agreement with people? Every precision on MQM judgments, in one run.

    python benchmarks/precisions.py [--model mini] [--data DIR] [--sets "wmt21 news en-de" …] [--segments N] [--alone]

Prism-ref of all judged outputs: Kendall's tau-b ×100 over all outputs, the share of pairs of outputs of one segment
that the metric orders as people do, both also as a difference to float32; the mean and the largest error of a segment
score; and seconds of the processor. `--alone` also scores every text in a batch of its own, and adds how far the
largest score moves by that. The score cache is not used.
"""

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).with_name("mini")))
from quality import SETS, subset

import prism_mt
from prism_mt import EngineConfig, Runtime, make_metric
from prism_mt._core.environment import has_bfloat16, has_int8
from prism_mt.engines.base import EngineName
from prism_mt.engines.factory import Precision
from prism_mt.evaluation.collect import open_metrics
from prism_mt.evaluation.scoring import score_texts
from prism_mt.report.table import Column, Table, Value, number, render
from prism_mt.stats.accuracy import segment_accuracy
from prism_mt.stats.correlation import kendall_b

SETTINGS: list[tuple[EngineName, Precision]] = [("ct2", "float32"), ("torch", "float32"), ("ct2", "int8")]
if has_int8():
    SETTINGS.append(("torch", "int8"))
if has_bfloat16():
    SETTINGS.append(("torch", "bfloat16"))
if has_bfloat16() and has_int8():
    SETTINGS.append(("torch", "int8_bfloat16"))


def measure(
    title: str, model: str, data: Path, segments: int | None, threads: int | None, alone: bool
) -> list[tuple[Value, ...]]:
    """One row per precision; the first is what the others are compared with."""
    file, reference = SETS[title]
    judgments = prism_mt.read_judgments(data / "judgments" / f"{file}.jsonl.xz", pair=file.split("_")[-1])
    judgments = subset(judgments.without_humans(), segments)
    human = judgments.scores
    metric = make_metric("prism-ref", {"model": model, "overlong": "window"})

    def score(config: EngineConfig) -> tuple[NDArray[np.float64], float]:
        start = time.process_time()
        (scorer,) = open_metrics([metric], judgments, Runtime(config))
        scores = score_texts(scorer, judgments, reference, only_judged=True).higher.segments
        return scores, time.process_time() - start

    rows: list[tuple[Value, ...]] = []
    first = np.empty(0)
    for engine, precision in SETTINGS:
        config = EngineConfig(engine=engine, precision=precision, cache=False, threads=threads)
        scores, spent = score(config)
        moved = np.abs(score(replace(config, batch_tokens=1))[0] - scores) if alone else np.full(1, np.nan)
        known = np.isfinite(human)
        tau, accuracy = 100 * kendall_b(human.ravel(), scores.ravel()), 100 * segment_accuracy(human, scores)
        if not rows:
            first, agreement = scores, (tau, accuracy)
        errors = np.abs(scores - first)[known]
        rows.append(
            (
                title, f"{engine} {precision}", int(known.sum()), spent, tau, tau - agreement[0], accuracy,
                accuracy - agreement[1], float(errors.mean()), float(errors.max()),
                float(np.nanmax(moved)) if alone else None,
            )
        )  # fmt: skip
        print(*rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini")
    default = os.environ.get("PRISM_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with judgments/")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS)[:2])
    parser.add_argument("--segments", type=int, help="so many segments of each set only")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--alone", action="store_true", help="also in batches of one text")
    parser.add_argument("--format", choices=["text", "markdown", "tsv", "json"], default="text")
    options = parser.parse_args()
    rows = [
        row
        for title in options.sets
        for row in measure(title, options.model, options.data, options.segments, options.threads, options.alone)
    ]
    columns = (Column("test set"), Column("engine"), Column("outputs", ",d", "right"), number("CPU s", 1))
    agreement = (number("tau", 2), number("Δ tau", 3), number("accuracy", 2), number("Δ accuracy", 3))
    errors = (number("mean error", 5), number("largest", 4), number("by batch", 4))
    print(render(Table((*columns, *agreement, *errors), tuple(rows)), options.format), end="")


if __name__ == "__main__":
    main()
