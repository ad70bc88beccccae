"""Run a metric over parallel text, all systems side by side."""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from prism_mt.metrics.base import Metric, Origin, Segment, SegmentScore, SystemScores
from prism_mt.text.lines import Lines, check_parallel

Watch = Callable[[int, int, SegmentScore], None]
"""Called with system index, segment number (from 1) and score, as scores come."""


@dataclass(frozen=True)
class ParallelText:
    """Outputs of systems with references and/or source, of equal length and not held in memory."""

    systems: tuple[tuple[str, Lines], ...]
    references: tuple[Lines, ...] = ()
    source: Lines | None = None

    def count(self) -> int:
        """Number of segments, after it has been checked that all sides have as many."""
        others = [*self.references, *([self.source] if self.source else [])]
        return check_parallel([*(lines for _, lines in self.systems), *others])

    def segments(self) -> Iterator[Segment]:
        """Segment by segment all systems, so that what they share is near in time."""
        references_of = tuple(lines.name for lines in self.references)
        source_of = self.source.name if self.source else "source"
        origins = [Origin(lines.name, references_of, source_of) for _, lines in self.systems]
        hypotheses = zip(*(lines for _, lines in self.systems), strict=True)
        references = zip(*self.references, strict=True) if self.references else None
        sources = iter(self.source) if self.source else None
        for number, outputs in enumerate(hypotheses, start=1):
            texts = next(references) if references else ()
            source = next(sources) if sources else None
            for output, origin in zip(outputs, origins, strict=True):
                yield Segment(output, texts, source, number, origin)


def evaluate(metric: Metric, text: ParallelText, watch: Watch | None = None) -> list[SystemScores]:
    """Scores of every system. Only one number per segment is kept; tokens go to `watch` alone."""
    systems = len(text.systems)
    scores = [array("d") for _ in range(systems)]
    totals: list[np.ndarray[tuple[int], np.dtype[np.float64]] | float] = [0.0] * systems
    for index, result in enumerate(metric.score(text.segments())):
        system = index % systems
        scores[system].append(result.score)
        totals[system] = totals[system] + np.asarray(result.statistics, dtype=np.float64)
        if watch:
            watch(system, index // systems + 1, result)
    signature = metric.signature()
    return [
        SystemScores(
            metric.name, name, metric.aggregate(np.atleast_1d(total).tolist()), signature, np.array(values)
        )
        for (name, _), total, values in zip(text.systems, totals, scores, strict=True)
    ]
