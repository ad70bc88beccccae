"""What happens to metrics when machine translation serves as the reference (Vamvas et al. 2023).

References are outputs in which nobody marked an error, of systems that are not being scored. Judging segments,
every output gets one of its own, drawn at random. Judging systems, every pair of systems gets one per segment
from a third system. Outputs and segments without such a reference are left out under standard references, too.
Human translations are neither scored nor drawn.
"""

import fnmatch
import itertools
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt._core.progress import track
from prism_mt.evaluation.judgments import Judgments, MetricScores
from prism_mt.evaluation.scoring import LOWER_IS_BETTER
from prism_mt.metrics.base import Metric, Origin, Segment
from prism_mt.stats.arrays import Matrix, Vector
from prism_mt.stats.correlation import Correlation

StudyLevel = Literal["segments", "systems"]
Place = tuple[int, int, int]
"""Scored system, system whose output is the reference, segment."""
_TAU = Correlation("kendall-b")
_LOG = logging.getLogger("prism_mt")


@dataclass(frozen=True)
class Studied:
    """A metric's scores under standard references, and the metric itself where others can be computed."""

    standard: MetricScores
    metric: Metric | None = None


@dataclass(frozen=True)
class Effect:
    """One metric under both kinds of references; NaN where its scores under machine translation are not known."""

    metric: str
    standard: float
    machine: float
    """Mean over draws."""
    spread: float
    """Standard deviation over draws."""

    @property
    def change(self) -> float:
        """Relative to the standard references."""
        return (self.machine - self.standard) / abs(self.standard) if self.standard else float("nan")


@dataclass(frozen=True)
class Study:
    """All metrics on one set of judgments; `segments` is how many have a machine-translated reference."""

    place: str
    pair: str
    level: StudyLevel
    draws: int
    seed: int
    segments: int
    judged: int
    effects: tuple[Effect, ...]


def study_references(
    judgments: Judgments,
    metrics: Sequence[Studied],
    level: StudyLevel,
    draws: int = 5,
    seed: int = 1,
    only_scored: Sequence[str] = (),
) -> Study:
    """Compare metrics under standard and machine-translated references on the same outputs.

    Systems that match a pattern of `only_scored` never serve as references.
    """
    judgments = judgments.without_humans()
    if (judgments.scores > 0).any():
        raise PrismError(
            f"{judgments.place} has scores above 0: these are no MQM penalties, which tell what is free of errors"
        )
    free = (judgments.scores == 0.0) & _may_serve(judgments, only_scored)[:, None]
    if not free.any():
        raise PrismError(f"{judgments.place}: no output is free of errors (score 0), so none can be a reference")
    plan = SegmentPlan(judgments, free) if level == "segments" else SystemPlan(judgments, free)
    rng = np.random.default_rng(seed)
    drawn = [plan.draw(rng) for _ in range(draws)]
    effects = []
    for studied in metrics:
        values = np.full(draws, np.nan)
        scores = studied.standard.align(judgments)
        if studied.metric is not None:
            # What has no standard reference counts in neither of the two results.
            needed = {place for places in drawn for place in places if not np.isnan(scores[place[0], place[2]])}
            known = score_places(studied.metric, judgments, sorted(needed, key=lambda place: place[::-1]))
            values = np.array([plan.machine(places, known) for places in drawn])
        standard = plan.standard(scores)
        effects.append(Effect(studied.standard.metric, standard, float(values.mean()), float(values.std())))
        unknown = int((np.isnan(scores) & ~np.isnan(judgments.scores)).sum())
        if unknown:
            _LOG.warning(
                "%s: %d judged outputs without a score of %s under standard references are left out",
                *(judgments.place, unknown, studied.standard.metric),
            )
    judged = int((~np.isnan(judgments.scores)).any(axis=0).sum())
    return Study(judgments.place, judgments.pair, level, draws, seed, plan.segments(), judged, tuple(effects))


class SegmentPlan:
    """Every output has its own reference; the result is tau-b over all outputs that have one."""

    def __init__(self, judgments: Judgments, free: NDArray[np.bool_]) -> None:
        self.human, self._free = judgments.scores, free
        others = free.sum(axis=0)[None, :] - free
        self._scored = (others > 0) & ~np.isnan(judgments.scores)

    def segments(self) -> int:
        """Segments of which an output has a reference."""
        return int(self._scored.any(axis=0).sum())

    def draw(self, rng: np.random.Generator) -> list[Place]:
        """A reference for every output."""
        return [
            (system, _choose(self._free[:, segment], (system,), rng), segment)
            for segment, system in np.argwhere(self._scored.T).tolist()
        ]

    def standard(self, scores: Matrix) -> float:
        """Tau of scores under standard references."""
        return _TAU(np.where(self._scored, self.human, np.nan), scores)

    def machine(self, places: Sequence[Place], known: Mapping[Place, float]) -> float:
        """Tau of scores under drawn references."""
        scores = np.full(self.human.shape, np.nan)
        for system, reference, segment in places:
            scores[system, segment] = known.get((system, reference, segment), np.nan)
        return self.standard(scores)


class SystemPlan:
    """Every pair of systems has its own references; the result is the share of pairs in people's order.

    People's order is that of all their judgments, a metric's that of its means over the segments with a reference.
    """

    def __init__(self, judgments: Judgments, free: NDArray[np.bool_]) -> None:
        self._human, self._free = judgments.system_means(), free
        both = ~np.isnan(judgments.scores)
        self._scored = {
            (one, other): (free.sum(axis=0) - free[one] - free[other] > 0) & both[one] & both[other]
            for one, other in itertools.combinations(range(len(free)), 2)
        }

    def segments(self) -> int:
        """Segments with a reference for some pair of systems."""
        return int(np.any(list(self._scored.values()), axis=0).sum())

    def draw(self, rng: np.random.Generator) -> list[Place]:
        """For every pair and segment the same reference for both systems, one after the other."""
        places = []
        for (one, other), scored in self._scored.items():
            for segment in np.flatnonzero(scored).tolist():
                reference = _choose(self._free[:, segment], (one, other), rng)
                places += [(one, reference, segment), (other, reference, segment)]
        return places

    def standard(self, scores: Matrix) -> float:
        """Accuracy of scores under standard references."""
        gaps = []
        for (one, other), scored in self._scored.items():
            gaps.append(_mean(scores[one, scored] - scores[other, scored]))
        return self._accuracy(gaps)

    def machine(self, places: Sequence[Place], known: Mapping[Place, float]) -> float:
        """Accuracy of scores under drawn references."""
        values = iter(known.get(place, np.nan) for place in places)
        gaps = []
        for scored in self._scored.values():
            differences = [next(values) - next(values) for _ in range(int(scored.sum()))]
            gaps.append(_mean(np.array(differences, dtype=np.float64)))
        return self._accuracy(gaps)

    def _accuracy(self, gaps: Sequence[float]) -> float:
        """A pair that the metric has no gap for is left out, a tie is wrong."""
        right = [
            gap * (self._human[one] - self._human[other]) > 0
            for (one, other), gap in zip(self._scored, gaps, strict=True)
            if gap == gap
        ]
        return float(np.mean(right)) if right else float("nan")


def score_places(metric: Metric, judgments: Judgments, places: Iterable[Place]) -> dict[Place, float]:
    """Score outputs against outputs of other systems; higher is better in the result."""
    if "ref" not in metric.needs:
        raise PrismError(f"{metric.name} does not use references: there is nothing to compare")
    if judgments.texts is None:
        raise PrismError(f"{judgments.place} has no texts to score: name them with --texts")
    outputs, systems = judgments.texts.outputs, judgments.systems
    found: list[tuple[Place, Segment]] = []
    for place in places:
        scored, reference = systems[place[0]], systems[place[1]]
        texts = [outputs.get(system, ())[place[2] : place[2] + 1] for system in (scored, reference)]
        hypothesis, other = (text[0] if text else None for text in texts)
        if hypothesis is None or other is None:
            missing = scored if hypothesis is None else reference
            raise PrismError(f"{judgments.place}: no text of {missing} for segment {judgments.segments[place[2]]}")
        origin = Origin(scored, (reference,))
        found.append((place, Segment(hypothesis, (other,), number=place[2] + 1, origin=origin)))
    sign = -1.0 if metric.name in LOWER_IS_BETTER else 1.0
    results = track(metric.score(segment for _, segment in found), f"{metric.name} {judgments.pair}", len(found))
    return {place: sign * result.score for (place, _), result in zip(found, results, strict=True)}


def _may_serve(judgments: Judgments, only_scored: Sequence[str]) -> NDArray[np.bool_]:
    """Which systems may serve as references."""
    for pattern in only_scored:
        if not fnmatch.filter(judgments.systems, pattern):
            raise PrismError(f"{judgments.place} has no system {pattern}; it has {', '.join(judgments.systems)}")
    return np.array([not any(fnmatch.fnmatchcase(name, one) for one in only_scored) for name in judgments.systems])


def _mean(values: Vector) -> float:
    """The mean of those that are known."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _choose(free: NDArray[np.bool_], without: Sequence[int], rng: np.random.Generator) -> int:
    """One of the systems with an error-free output, at random."""
    candidates = [system for system in np.flatnonzero(free).tolist() if system not in without]
    return int(candidates[int(rng.integers(len(candidates)))])
