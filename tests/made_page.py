"""A small comparison to make pages of."""

from collections.abc import Sequence

import numpy as np

from prism_mt.evaluation.buckets import Buckets
from prism_mt.evaluation.compare import Significance, compare_systems
from prism_mt.metrics.base import TokenTrace
from prism_mt.metrics.scores import Matrix, MetricScores, Traces
from prism_mt.report.page import Heading, Page
from prism_mt.stats.arrays import row_means
from prism_mt.text.lines import lines_of
from prism_mt.text.parallel import ParallelText

EVIL = """</script><script>alert('1')</script><img src=x onerror="alert(2)">"""

ERRORS = f"errors {EVIL}"


def make_page(
    systems: Sequence[str] = ("A", "B"),
    count: int = 6,
    command: str = "",
    parts: Sequence[Buckets] = (),
    heading: Heading = Heading(),  # noqa: B008  immutable
) -> Page:
    """Two metrics; the first system's scores fall from segment to segment, those of the others rise."""
    falling = -np.arange(1.0, count + 1)
    rows = np.array(
        [falling if place == 0 else falling[::-1] * (1 + 0.1 * place) for place in range(len(systems))]
    )
    lines = [
        lines_of([f"output {i} of {place} {EVIL}" for i in range(count)], name)
        for place, name in enumerate(systems)
    ]
    references = lines_of([f"reference {i} {EVIL}" for i in range(count)], "ref")
    text = ParallelText(tuple(zip(systems, lines, strict=True)), (references,), references)
    trace = TokenTrace("hypothesis|reference", ("▁output", EVIL, "</s>"), (-0.25, -9.77, -0.01))
    traces = (((trace,),) * count,) * len(systems)
    options = Significance(draws=40)
    errors = -rows
    errors[0, 1] = 2 * count  # the one output of which the metrics think differently
    scores = [_scores("prism-ref", tuple(systems), rows, traces), _scores(ERRORS, tuple(systems), errors)]
    comparisons = [compare_systems(one, options) for one in scores]
    return Page(text, comparisons, options, parts=parts, command=command, heading=heading)


def _scores(
    name: str, systems: tuple[str, ...], rows: Matrix, tokens: tuple[Traces, ...] | None = None
) -> MetricScores:
    return MetricScores(name, systems, rows, row_means(rows), f"{name}|made", name == ERRORS, tokens=tokens)
