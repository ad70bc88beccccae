"""How good is a model as a metric? The quality table of the model card, made by one command.

    python benchmarks/mini/quality.py [--model mini] [--data DIR] [--segments N]

Agreement with MQM judgments (WMT21 news, which nothing was trained on, and WMT20, most of which `mini` was tuned
on), two ways: Kendall tau-b ×100 pooled over all outputs, which also rewards knowing which segments are hard, and the
share of pairs of outputs of one segment, told apart by people, that the metric orders alike (a metric tie is wrong).
BLEU and chrF of the same segments stand beside.

Mistakes made on purpose are counted by `prism challenge builtin --texts flores200_devtest.jsonl.xz`.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import prism_mt
from prism_mt import EngineConfig, Metric, Runtime, make_metric
from prism_mt.evaluation.collect import open_metrics
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.scoring import score_texts
from prism_mt.report.table import Column, Table, number, render
from prism_mt.stats.accuracy import segment_accuracy
from prism_mt.stats.correlation import kendall_b

SETS = {
    "wmt21 news en-de": ("wmt21_mqm_news_en-de", "ref-C"),
    "wmt21 news zh-en": ("wmt21_mqm_news_zh-en", "ref-B"),
    "wmt21 news en-ru": ("wmt21_mqm_news_en-ru", "ref-A"),
    "wmt20 en-de": ("wmt20_mqm_en-de", "Human-A.0"),
    "wmt20 zh-en": ("wmt20_mqm_zh-en", "Human-A.0"),
}


def subset(judgments: Judgments, limit: int | None, seed: int = 0) -> Judgments:
    """The judged segments, or a random choice of so many of them."""
    judged = np.flatnonzero(judgments.judged().any(axis=0))
    if limit is not None and limit < len(judged):
        judged = np.sort(np.random.default_rng(seed).choice(judged, limit, replace=False))
    return judgments.on_segments(judged.tolist())


def mqm(metrics: Sequence[Metric], runtime: Runtime, data: Path, names: list[str], limit: int | None) -> Table:
    rows: list[tuple[str | float, ...]] = []
    for title in names:
        file, reference = SETS[title]
        judgments = prism_mt.read_judgments(data / "judgments" / f"{file}.jsonl.xz", pair=file.split("_")[-1])
        judgments = subset(judgments.without_humans(), limit)
        human = judgments.scores
        for scorer in open_metrics(metrics, judgments, runtime):
            scores = score_texts(scorer, judgments, reference, only_judged=True).higher.segments
            tau = 100 * kendall_b(human.ravel(), scores.ravel())
            accuracy = 100 * segment_accuracy(human, scores)
            rows.append((title, scorer.metric.name, int(np.isfinite(human).sum()), tau, accuracy))
            print(rows[-1], file=sys.stderr)
    columns = (Column("test set"), Column("metric"), Column("outputs", align="right"))
    return Table((*columns, number("tau-b ×100", 1), number("within-segment accuracy %", 1)), tuple(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini")
    default = os.environ.get("PRISM_DATA", Path(__file__).parents[3] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with judgments/ and heldout/")
    parser.add_argument("--segments", type=int, help="so many segments of each set only")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--metrics", nargs="+", default=["prism-ref", "prism-src", "bleu", "chrf"])
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--format", choices=["text", "markdown", "tsv", "json"], default="text")
    options = parser.parse_args()
    runtime = Runtime(EngineConfig(precision=options.precision))
    metrics = [make_metric(name, {"model": options.model, "overlong": "window"}) for name in options.metrics]
    print(render(mqm(metrics, runtime, options.data, options.sets, options.segments), options.format))


if __name__ == "__main__":
    main()
