"""Does the context of a document help? Agreement with MQM judgments for 0, 1, 2, … earlier segments.

    python benchmarks/documents.py --data DATA [--documents 10] [--context 0 1 2] [--pairs en-de zh-en en-ru]

Whole documents of WMT21 news, spread evenly over the test set. Accuracy is the share of pairs of outputs that people
tell apart and the metric orders alike: outputs of one segment, means over the segments of one document, means over
everything. Tau-b ×100 is pooled over all segments or documents. ± is half of the central 95 % of the difference from
the first of the numbers in `--context` over resampled documents.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

import prism_mt
from prism_mt import EngineConfig, Runtime, make_metric
from prism_mt.evaluation.collect import open_metrics
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.scoring import score_texts
from prism_mt.report.table import Column, Table, number, render
from prism_mt.stats.accuracy import pairwise_accuracy, segment_accuracy
from prism_mt.stats.arrays import Matrix, Vector, row_means
from prism_mt.stats.correlation import kendall_b

REFERENCES = {"en-de": "ref-C", "zh-en": "ref-B", "en-ru": "ref-A"}
_DRAWS = 500


@dataclass(frozen=True)
class Agreement:
    """Agreement with people at the three levels."""

    segments: float
    tau: float
    documents: float
    documents_tau: float
    systems: float


def whole_documents(judgments: Judgments, count: int) -> Judgments:
    """Keep some of the documents whose segments are all judged."""
    judged = np.array(judgments.judged().any(axis=0))
    documents = [list(own) for _, own in groupby(range(len(judged)), key=lambda place: judgments.documents[place])]
    whole = [own for own in documents if judgments.documents[own[0]] and judged[own].all()]
    chosen = np.unique(np.linspace(0, len(whole) - 1, min(count, len(whole))).round().astype(int))
    return judgments.on_segments([place for number in chosen for place in whole[number]])


def agreement(human: Matrix, scores: Matrix, documents: Sequence[Sequence[int]]) -> Agreement:
    """Compare the scores of some documents (columns of the matrices) with those of people."""
    columns = [place for own in documents for place in own]
    ours, theirs = scores[:, columns], human[:, columns]
    ours = np.where(np.isnan(theirs), np.nan, ours)
    means = [np.stack([row_means(table[:, own]) for own in documents], axis=1) for table in (human, scores)]
    return Agreement(
        100 * segment_accuracy(theirs, ours),
        100 * kendall_b(theirs.ravel(), ours.ravel()),
        100 * segment_accuracy(*means),
        100 * kendall_b(means[0].ravel(), means[1].ravel()),
        100 * pairwise_accuracy(row_means(theirs), row_means(ours)),
    )


def half_width(values: Vector) -> float:
    """Half of the central 95 %."""
    low, high = np.percentile(values, [2.5, 97.5])
    return float(high - low) / 2


def spreads(
    human: Matrix, scores: Matrix, plain: Matrix, documents: Sequence[Sequence[int]]
) -> tuple[float, float]:
    """How uncertain the differences of the two segment statistics from the plain score are."""
    generator = np.random.default_rng(0)
    found = []
    for _ in range(_DRAWS):
        columns = [p for d in generator.integers(len(documents), size=len(documents)) for p in documents[d]]
        pairs = [(human[:, columns], one[:, columns]) for one in (scores, plain)]
        accuracy, tau = (
            [100 * statistic(theirs, ours) for theirs, ours in pairs] for statistic in (segment_accuracy, _pooled)
        )
        found.append((accuracy[0] - accuracy[1], tau[0] - tau[1]))
    table = np.array(found)
    return half_width(table[:, 0]), half_width(table[:, 1])


def _pooled(human: Matrix, scores: Matrix) -> float:
    return kendall_b(human.ravel(), scores.ravel())


def measure(
    judgments: Judgments,
    side: str,
    contexts: Sequence[int],
    model: str,
    runtime: Runtime,
    say: Callable[[str], None],
) -> list[tuple[str | float, ...]]:
    """One row per number of earlier segments."""
    reference = REFERENCES[judgments.pair]
    groups = groupby(range(len(judgments.segments)), key=lambda place: judgments.documents[place])
    documents = [list(own) for _, own in groups]
    rows: list[tuple[str | float, ...]] = []
    plain: Matrix | None = None
    for context in contexts:
        metric = make_metric(side, {"model": model, "overlong": "window", "context": context})
        [scorer] = open_metrics([metric], judgments, runtime)
        result = score_texts(scorer, judgments, reference, only_judged=True)
        scores = np.where(np.isnan(judgments.scores), np.nan, result.segments)
        human = np.where(np.isnan(scores), np.nan, judgments.scores)
        plain = scores if plain is None else plain
        found = agreement(human, scores, documents)
        by_segment, by_tau = spreads(human, scores, plain, documents) if scores is not plain else (0.0, 0.0)
        size = f"{len(documents)} documents, {int(np.isfinite(human).sum())} outputs"
        values = (
            found.segments,
            by_segment,
            found.tau,
            by_tau,
            found.documents,
            found.documents_tau,
            found.systems,
        )
        rows.append((f"{judgments.pair}: {size}", side, context, *values))
        say(f"{rows[-1]}  {result.signature}")
    return rows


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with judgments/")
    parser.add_argument("--model", default="mini")
    parser.add_argument("--documents", type=int, default=10, help="so many documents of each pair")
    parser.add_argument("--context", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--pairs", nargs="+", default=list(REFERENCES), choices=list(REFERENCES))
    parser.add_argument("--metrics", nargs="+", default=["prism-ref", "prism-src"])
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--format", choices=["text", "markdown", "tsv", "json"], default="text")
    options = parser.parse_args()
    runtime = Runtime(EngineConfig(engine=options.engine, precision=options.precision))
    rows: list[tuple[str | float, ...]] = []
    for pair in options.pairs:
        path = options.data / "judgments" / f"wmt21_mqm_news_{pair}.jsonl.xz"
        judgments = whole_documents(prism_mt.read_judgments(path, pair=pair).without_humans(), options.documents)
        for side in options.metrics:
            rows += measure(
                judgments,
                side,
                options.context,
                options.model,
                runtime,
                lambda line: print(line, file=sys.stderr, flush=True),
            )
    columns = (Column("pair"), Column("metric"), Column("context", align="right"))
    names = ("segments %", "±", "tau-b", "± ", "documents %", "tau-b of documents", "systems %")
    print(render(Table((*columns, *(number(name, 1) for name in names)), tuple(rows)), options.format), end="")


if __name__ == "__main__":
    main()
