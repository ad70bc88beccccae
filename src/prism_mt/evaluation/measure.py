"""Run a metric and keep what comparing systems needs."""

from collections.abc import Callable, Sequence

import numpy as np

from prism_mt.evaluation.compare import Measured
from prism_mt.metrics.base import Metric, SegmentScore
from prism_mt.metrics.parallel import ParallelText

# Errors, not merits: of these metrics lower scores are better.
_ERRORS = frozenset({"ter"})


def score_all(metric: Metric, text: ParallelText, advance: Callable[[], None]) -> list[SegmentScore]:
    """Scores of all outputs, segment by segment all systems; `advance` is called for each."""
    found = []
    for result in metric.score(text.segments()):
        found.append(result)
        advance()
    return found


def measured_from(metric: Metric, systems: Sequence[str], results: Sequence[SegmentScore]) -> Measured:
    """Scores and statistics of every system, from results that go segment by segment through all systems."""
    by_system = [results[place :: len(systems)] for place in range(len(systems))]
    return Measured(
        metric.name,
        metric.signature(),
        tuple(systems),
        np.array([[result.score for result in own] for own in by_system]),
        [np.array([result.statistics for result in own], dtype=np.float64) for own in by_system],
        metric.aggregate,
        metric.name in _ERRORS,
    )
