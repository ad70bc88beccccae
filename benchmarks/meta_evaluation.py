"""Soft pairwise accuracy and its PERM-BOTH test beside plain implementations of the definitions, in one run.

    python benchmarks/meta_evaluation.py [--reference-draws 2]

Two sizes: 557 segments × 12 systems × 4 metrics, and 51 × 13 × 3. Values are computed for all metrics; the test is
made for every pair of metrics with 1,000 draws. The reference computes one p-value after the other, the same draws
for all, and swaps and recomputes both accuracies in every draw of the test; its test is timed on a few draws and
scaled. The last column is the largest difference of values, and of p-values of the test on these few draws.
"""

import argparse
import itertools
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from prism_mt.report.table import Column, Table, number, render
from prism_mt.stats.arrays import Matrix, Statistic
from prism_mt.stats.permutation import permutation_test
from prism_mt.stats.soft_accuracy import SoftPairwiseAccuracy

SIZES = ((557, 12, 4), (51, 13, 3))
DRAWS = 1000
SEED = 1
Result = TypeVar("Result")


def make_scores(segments: int, systems: int, metrics: int) -> tuple[Matrix, list[Matrix]]:
    """Human scores look like MQM: few levels, most of them 0."""
    rng = np.random.default_rng(0)
    quality = (
        rng.normal(size=(systems, segments)) + rng.normal(size=segments) + 0.1 * rng.normal(size=(systems, 1))
    )
    human = -np.maximum(0, np.round(3 - 2 * quality))
    return human, [quality + (1.5 + 0.1 * place) * rng.normal(size=quality.shape) for place in range(metrics)]


def reference(human: Matrix, metric: Matrix) -> float:
    """Soft pairwise accuracy by its definition: the tests of every pair of systems, for people and metric."""
    coins = np.random.default_rng(SEED).random(size=(DRAWS, human.shape[1]), dtype=np.float32)
    signs = 2.0 * np.rint(coins.T) - 1
    errors = []
    for first, second in itertools.combinations(range(len(human)), 2):
        p_values = []
        for scores in (human, metric):
            gaps = scores[first] - scores[second]
            p_values.append(float((gaps @ signs >= gaps.sum() - 1e-12 * np.abs(gaps).sum()).mean()))
        errors.append(abs(p_values[0] - p_values[1]))
    return 1 - float(np.mean(errors))


def timed(run: Callable[[], Result]) -> tuple[Result, float, float]:
    """The result, seconds, and CPU seconds, which depend less on what else runs on the machine."""
    start, cpu = time.perf_counter(), time.process_time()
    result = run()
    return result, time.perf_counter() - start, time.process_time() - cpu


def all_p_values(statistic: Statistic, human: Matrix, metrics: list[Matrix], draws: int) -> list[float]:
    """p-values of every pair of metrics."""
    return [
        permutation_test(statistic, human, a, b, np.random.default_rng(SEED), draws).p
        for a, b in itertools.combinations(metrics, 2)
    ]


def rows_of(size: tuple[int, int, int], reference_draws: int) -> list[tuple[str | float, ...]]:
    segments, systems, count = size
    human, metrics = make_scores(*size)
    name = f"{segments} × {systems} × {count}"
    theirs, their_seconds, _ = timed(lambda: [reference(human, metric) for metric in metrics])

    def values() -> list[float]:
        return SoftPairwiseAccuracy(segments, np.random.default_rng(SEED), DRAWS).each(human, metrics)

    ours, our_seconds, cpu = min((timed(values) for _ in range(3)), key=lambda found: found[1])
    difference = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    rows: list[tuple[str | float, ...]] = [
        (name, "values", our_seconds, cpu, their_seconds, their_seconds / our_seconds, difference)
    ]
    statistic = SoftPairwiseAccuracy(segments, np.random.default_rng(SEED), DRAWS)
    _, our_seconds, cpu = timed(lambda: all_p_values(statistic, human, metrics, DRAWS))
    few = all_p_values(statistic, human, metrics, reference_draws)
    theirs, their_seconds, _ = timed(lambda: all_p_values(reference, human, metrics, reference_draws))
    their_seconds *= DRAWS / reference_draws
    difference = max(abs(a - b) for a, b in zip(few, theirs, strict=True))
    rows.append((name, "PERM-BOTH", our_seconds, cpu, their_seconds, their_seconds / our_seconds, difference))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference-draws", type=int, default=2, metavar="N")
    options = parser.parse_args()
    columns = (
        *(Column(title) for title in ("segments × systems × metrics", "what")),
        *(number(title) for title in ("ours s", "ours CPU s")),
        number("reference s", 1),
        number("ratio", 0),
        Column("largest difference", ".1e", "right"),
    )
    rows = tuple(row for size in SIZES for row in rows_of(size, options.reference_draws))
    caption = f"Soft pairwise accuracy, {DRAWS} draws, and PERM-BOTH of all pairs of metrics with {DRAWS} draws"
    print(render(Table(columns, rows, caption)), end="")


if __name__ == "__main__":
    main()
