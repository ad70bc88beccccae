"""Where humans and metrics differ most: outputs worth reading."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.arrays import Matrix


@dataclass(frozen=True)
class Disagreement:
    """One output with its percentiles (0 to 100, ties share the middle) among all judged outputs."""

    segment: str
    system: str
    human_score: float
    human: float
    metrics: Mapping[str, float]
    source: str | None
    reference: str | None
    output: str | None

    @property
    def gap(self) -> float:
        """How much higher humans rank the output than the first metric does."""
        return self.human - next(iter(self.metrics.values()))


@dataclass(frozen=True)
class Disagreements:
    """Outputs that humans rank far above the first metric, and vice versa, largest difference first."""

    people_higher: tuple[Disagreement, ...]
    metric_higher: tuple[Disagreement, ...]


def disagreements(
    judgments: Judgments, metrics: Sequence[MetricScores], count: int = 10, reference: str | None = None
) -> Disagreements:
    """Find the `count` largest disagreements in each direction between humans and the first metric, one per segment.

    Only outputs scored by all metrics are compared, so that percentiles mean the same for all.
    """
    texts = judgments.texts
    if count < 1:
        raise PrismError(f"the number of outputs in each direction must be at least 1, not {count}")
    if texts and reference is not None and reference not in texts.references:
        known_names = ", ".join(texts.references) or "none"
        raise PrismError(f"{judgments.place} has no reference {reference!r}; it has {known_names}")
    aligned = {one.metric: one.higher.align(judgments.systems, judgments.segments) for one in metrics}
    known = ~np.isnan(judgments.scores)
    for scores in aligned.values():
        known &= ~np.isnan(scores)
    places = np.argwhere(known)
    human = percentiles(judgments.scores, known)
    ranks = {name: percentiles(scores, known) for name, scores in aligned.items()}
    gap = human - next(iter(ranks.values()))

    def describe(index: int) -> Disagreement:
        row, column = places[index].tolist()
        outputs = texts.outputs.get(judgments.systems[row]) if texts else None
        return Disagreement(
            segment=judgments.segments[column],
            system=judgments.systems[row],
            human_score=float(judgments.scores[row, column]),
            human=float(human[index]),
            metrics={name: float(values[index]) for name, values in ranks.items()},
            source=texts.sources[column] if texts else None,
            reference=texts.references[reference][column] if texts and reference else None,
            output=outputs[column] if outputs else None,
        )

    def greatest(order: Sequence[int]) -> tuple[Disagreement, ...]:
        chosen: dict[int, int] = {}
        for index in order:
            chosen.setdefault(int(places[index][1]), index)
            if len(chosen) == count:
                break
        return tuple(map(describe, chosen.values()))

    higher = greatest([i for i in np.argsort(-gap, kind="stable").tolist() if gap[i] > 0])
    lower = greatest([i for i in np.argsort(gap, kind="stable").tolist() if gap[i] < 0])
    return Disagreements(higher, lower)


def percentiles(scores: Matrix, known: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Matrix:
    """Percentiles of the known scores among themselves, as a vector in row order."""
    from scipy.stats import rankdata

    values = scores[known]
    result: Matrix = 100.0 * (rankdata(values) - 0.5) / max(len(values), 1)
    return result
