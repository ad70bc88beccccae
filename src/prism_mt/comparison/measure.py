"""Run a metric and keep what comparing systems needs."""

from collections.abc import Callable

import numpy as np

from prism_mt.comparison.compare import Measured
from prism_mt.metaeval.judgments import Vector
from prism_mt.metrics.base import Metric, SegmentScore
from prism_mt.metrics.evaluate import ParallelText, Watch, evaluate

# Errors, not merits: of these metrics lower scores are better.
_ERRORS = frozenset({"ter"})


def measure(
    metric: Metric, text: ParallelText, advance: Callable[[], None], watch: Watch | None = None
) -> Measured:
    """Scores and statistics of every system; `advance` is called for every output, and `watch` gets its score."""
    rows: list[list[Vector]] = [[] for _ in text.systems]

    def collect(system: int, segment: int, result: SegmentScore) -> None:
        rows[system].append(np.asarray(result.statistics, dtype=np.float64))
        advance()
        if watch:
            watch(system, segment, result)

    results = evaluate(metric, text, collect)
    return Measured(
        metric.name,
        results[0].signature,
        tuple(name for name, _ in text.systems),
        np.array([result.segments for result in results]),
        [np.array(statistics) for statistics in rows],
        metric.aggregate,
        metric.name in _ERRORS,
    )
