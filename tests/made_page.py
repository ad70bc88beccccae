"""A small comparison to make pages of."""

from collections.abc import Sequence

import numpy as np

from prism_mt.evaluation.buckets import Buckets
from prism_mt.evaluation.compare import Measured, Significance, compare
from prism_mt.metrics.base import TokenTrace
from prism_mt.report.page import Page, Traces
from prism_mt.text.lines import lines_of
from prism_mt.text.parallel import ParallelText

EVIL = """</script><script>alert('1')</script><img src=x onerror="alert(2)">"""

ERRORS = f"errors {EVIL}"


def make_page(
    systems: Sequence[str] = ("A", "B"), count: int = 6, command: str = "", parts: Sequence[Buckets] = ()
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
    traces: Traces = [
        [(TokenTrace("hypothesis|reference", ("▁output", EVIL, "</s>"), (-0.25, -9.77, -0.01)),) for _ in systems]
        for _ in range(count)
    ]
    options = Significance(draws=40)
    errors = -rows
    errors[0, 1] = 2 * count  # the one output of which the metrics think differently
    measured = [_measured("prism-ref", tuple(systems), rows), _measured(ERRORS, tuple(systems), errors)]
    comparisons = [compare(one, options) for one in measured]
    return Page(text, comparisons, options, 0, parts, {"prism-ref": traces}, None, command)


def _measured(
    name: str, systems: tuple[str, ...], rows: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> Measured:
    statistics = [np.stack([row, np.ones(len(row))], axis=1) for row in rows]
    return Measured(name, f"{name}|made", systems, rows, statistics, lambda t: t[0] / t[1], name == ERRORS)
