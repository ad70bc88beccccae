"""What happens to metrics when machine translation serves as the reference (Vamvas et al. 2023).

References are outputs without errors of unrelated systems: systems of one family, such as the five outputs of one
team, are related. Judging segments, every output gets a reference of its own. Judging systems, every pair of systems
gets one per segment from a third family. Outputs and segments without such a reference are left out under standard
references, too. Human translations are neither scored nor drawn.
"""

import hashlib
import itertools
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt._core.progress import track
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.scoring import TextScorer
from prism_mt.metrics.base import Origin, Segment
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.arrays import Index, Mask, Matrix, Vector
from prism_mt.stats.correlation import Correlation

StudyLevel = Literal["segments", "systems"]
Draw = Literal["md5", "random"]
ErrorFree = Literal["errors", "score"]
Place = tuple[int, int, int]
"""Scored system, system whose output is the reference, segment."""
_TAU = Correlation("kendall-b")
_LOG = logging.getLogger("prism_mt")


@dataclass(frozen=True)
class StudyOptions(Config):
    """How machine-translated references are found and drawn."""

    level: StudyLevel = option("judge segments, or pairs of systems", "segments")
    draw: Draw = option(
        "md5: the text with the smallest MD5 among the distinct candidates, as Vamvas et al. do; random: any candidate",
        "md5",
    )
    draws: int = option("random: how often references are drawn", 5, metavar="N", low=1, high=10_000)
    seed: int = option("random: seed of the draws", 1, metavar="N", low=0)
    error_free: ErrorFree = option(
        "errors: outputs in which no rater marked an error; score: outputs whose score is not below 0", "errors"
    )


@dataclass(frozen=True)
class StudiedMetric:
    """A metric's scores under standard references, and the metric itself where others can be computed."""

    standard: MetricScores
    scorer: TextScorer | None = None


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
class ReferenceStudy:
    """All metrics on one set of judgments."""

    place: str
    pair: str
    options: StudyOptions
    segments: float
    """Segments with a machine-translated reference, on average over outputs or pairs of systems."""
    judged: int
    families: Mapping[str, tuple[str, ...]]
    """Families of more than one system."""
    effects: tuple[Effect, ...]
    reference: str | None = None
    """The standard reference."""


def study_references(
    judgments: Judgments,
    metrics: Sequence[StudiedMetric],
    options: StudyOptions | None = None,
    reference: str | None = None,
) -> ReferenceStudy:
    """Compare metrics under standard and machine-translated references on the same outputs."""
    options, judgments = options or StudyOptions(), judgments.without_humans()
    free = error_free(judgments, options.error_free)
    if not free.any():
        raise PrismError(f"{judgments.place}: no output is free of errors, so none can be a reference")
    kinds = {"segments": SegmentPlan, "systems": SystemPlan}
    plan = kinds[options.level](judgments, free)
    drawn = _draws(plan, options)
    effects = tuple(_effect(studied, judgments, plan, drawn) for studied in metrics)
    judged = int((~np.isnan(judgments.scores)).any(axis=0).sum())
    families: dict[str, list[str]] = {}
    for system, family in zip(judgments.systems, judgments.family_names(), strict=True):
        families.setdefault(family, []).append(system)
    related = {family: tuple(systems) for family, systems in families.items() if len(systems) > 1}
    return ReferenceStudy(
        judgments.place, judgments.pair, options, plan.mean_segments(), judged, related, effects, reference
    )


def error_free(judgments: Judgments, rule: ErrorFree = "errors") -> Mask:
    """Outputs (systems × segments) without errors.

    By `errors`, no rater marked one; ratings without lists of errors must then be MQM penalties, of which 0 is free.
    By `score`, the score is not below 0: the test of Vamvas et al., which lets nearly all outputs through where the
    scores are not penalties, as in the length-normalized scores of English–Russian.
    """
    rated = ~np.isnan(judgments.scores)
    if rule == "score":
        return rated & (judgments.scores >= 0.0)
    if judgments.ratings.has_errors:
        return rated & ~judgments.ratings.marked(*judgments.scores.shape)
    if (judgments.scores > 0).any():
        raise PrismError(
            f"{judgments.place} has scores above 0 and no lists of errors: these do not tell what is free of errors"
        )
    free: Mask = judgments.scores == 0.0
    return free


class ReferencePlan(ABC):
    """Which outputs are scored, and which others may be their references."""

    def __init__(self, judgments: Judgments, free: Mask) -> None:
        self.judgments, self.free = judgments, free
        names = {name: number for number, name in enumerate(dict.fromkeys(judgments.family_names()))}
        self.family: Index = np.array([names[name] for name in judgments.family_names()], dtype=np.int64)
        # Error-free outputs by family and segment: what is left without some families is a difference of counts.
        self._by_family = np.zeros((len(names), free.shape[1]), dtype=np.int64)
        np.add.at(self._by_family, self.family, free.astype(np.int64))

    @cached_property
    @abstractmethod
    def groups(self) -> list[tuple[tuple[int, ...], Mask]]:
        """Systems that share references, with the segments on which they have one."""

    @abstractmethod
    def result(self, scores: Sequence[Matrix]) -> float:
        """The statistic from the scores of every group (its systems × all segments)."""

    def mean_segments(self) -> float:
        """Segments with a reference, on average over groups."""
        return float(np.mean([scored.sum() for _, scored in self.groups]))

    def candidates(self, systems: Sequence[int], segment: int) -> list[int]:
        """Systems of other families with an error-free output."""
        related = np.isin(self.family, self.family[list(systems)])
        return [int(system) for system in np.flatnonzero(self.free[:, segment] & ~related)]

    def unrelated(self, systems: Sequence[int]) -> Mask:
        """Segments with an error-free output of another family."""
        families = np.unique(self.family[list(systems)])
        left: Mask = self._by_family.sum(axis=0) - self._by_family[families].sum(axis=0) > 0
        return left

    def standard(self, scores: Matrix) -> float:
        """The statistic under standard references where there are others."""
        return self.result([np.where(scored, scores[list(systems)], np.nan) for systems, scored in self.groups])

    def machine(self, drawn: Sequence[Index], known: Mapping[Place, float]) -> float:
        """The statistic under drawn references."""
        found = []
        for (systems, scored), references in zip(self.groups, drawn, strict=True):
            scores = np.full((len(systems), len(scored)), np.nan)
            for segment in np.flatnonzero(scored).tolist():
                for row, system in enumerate(systems):
                    scores[row, segment] = known.get((system, int(references[segment]), segment), np.nan)
            found.append(scores)
        return self.result(found)


class SegmentPlan(ReferencePlan):
    """Every output has its own reference; the result is tau-b over all outputs that have one."""

    @cached_property
    def groups(self) -> list[tuple[tuple[int, ...], Mask]]:
        """Every system on its own."""
        rated = ~np.isnan(self.judgments.scores)
        return [((system,), self.unrelated((system,)) & rated[system]) for system in range(len(rated))]

    def result(self, scores: Sequence[Matrix]) -> float:
        """Tau-b with people's scores."""
        return _TAU(self.judgments.scores, np.concatenate(scores))


class SystemPlan(ReferencePlan):
    """Every pair of systems has its own references; the result is the share of pairs in people's order.

    People's order is that of all their judgments, a metric's that of its means over the segments with a reference.
    """

    @cached_property
    def groups(self) -> list[tuple[tuple[int, ...], Mask]]:
        """All pairs of systems."""
        rated = ~np.isnan(self.judgments.scores)
        pairs = itertools.combinations(range(len(rated)), 2)
        return [((one, other), self.unrelated((one, other)) & rated[one] & rated[other]) for one, other in pairs]

    def result(self, scores: Sequence[Matrix]) -> float:
        """Accuracy: a pair that the metric has no gap for is left out, a tie is wrong."""
        human = self.judgments.system_means()
        right = []
        for ((one, other), _), pair in zip(self.groups, scores, strict=True):
            gap = _mean(pair[0] - pair[1])
            if gap == gap:
                right.append(gap * (human[one] - human[other]) > 0)
        return float(np.mean(right)) if right else float("nan")


def score_places(metric: TextScorer, judgments: Judgments, places: Iterable[Place]) -> dict[Place, float]:
    """Score outputs against outputs of other systems; higher is better in the result."""
    if "ref" not in metric.metric.needs:
        raise PrismError(f"{metric.name} does not use references: there is nothing to compare")
    if judgments.texts is None:
        raise PrismError(f"{judgments.place} has no texts to score: name a file that has them")
    found: list[tuple[Place, Segment]] = []
    for place in places:
        hypothesis, reference = (_output(judgments, system, place[2]) for system in place[:2])
        origin = Origin(judgments.systems[place[0]], (judgments.systems[place[1]],))
        found.append((place, Segment(hypothesis, (reference,), number=place[2] + 1, origin=origin)))
    sign = -1.0 if metric.metric.lower_is_better else 1.0
    results = track(metric.score(segment for _, segment in found), f"{metric.name} {judgments.pair}", len(found))
    return {place: sign * result.score for (place, _), result in zip(found, results, strict=True)}


def _draws(plan: ReferencePlan, options: StudyOptions) -> list[list[Index]]:
    """For every draw and group the system whose output is the reference of each segment."""
    if options.draw == "md5":
        return [[_smallest_digests(plan, systems, scored) for systems, scored in plan.groups]]
    rng = np.random.default_rng(options.seed)
    return [
        [_random_systems(plan, systems, scored, rng) for systems, scored in plan.groups]
        for _ in range(options.draws)
    ]


def _smallest_digests(plan: ReferencePlan, systems: Sequence[int], scored: Mask) -> Index:
    """Draw by text, so that equal outputs of several systems do not win by number."""
    chosen = np.full(len(scored), -1, dtype=np.int64)
    if plan.judgments.texts is None:
        return chosen  # Nothing can be scored then, and nothing depends on the draw.
    for segment in np.flatnonzero(scored).tolist():
        chosen[segment] = min(
            plan.candidates(systems, segment),
            key=lambda system: hashlib.md5(
                _output(plan.judgments, system, segment).encode(), usedforsecurity=False
            ).hexdigest(),
        )
    return chosen


def _random_systems(plan: ReferencePlan, systems: Sequence[int], scored: Mask, rng: np.random.Generator) -> Index:
    chosen = np.full(len(scored), -1, dtype=np.int64)
    for segment in np.flatnonzero(scored).tolist():
        candidates = plan.candidates(systems, segment)
        chosen[segment] = candidates[int(rng.integers(len(candidates)))]
    return chosen


def _effect(
    studied: StudiedMetric, judgments: Judgments, plan: ReferencePlan, drawn: Sequence[Sequence[Index]]
) -> Effect:
    scores = studied.standard.higher.align(judgments.systems, judgments.segments)
    values = np.full(len(drawn), np.nan)
    if studied.scorer is not None:
        # What has no standard reference counts in neither of the two results.
        needed = {
            (system, int(references[segment]), segment)
            for draw in drawn
            for (systems, scored), references in zip(plan.groups, draw, strict=True)
            for segment in np.flatnonzero(scored).tolist()
            for system in systems
            if not np.isnan(scores[system, segment])
        }
        known = score_places(studied.scorer, judgments, sorted(needed, key=lambda place: place[::-1]))
        values = np.array([plan.machine(draw, known) for draw in drawn])
    unknown = int((np.isnan(scores) & ~np.isnan(judgments.scores)).sum())
    if unknown:
        _LOG.warning(
            "%s: %d judged outputs without a score of %s under standard references are left out",
            *(judgments.place, unknown, studied.standard.metric),
        )
    return Effect(studied.standard.metric, plan.standard(scores), float(values.mean()), float(values.std()))


def _output(judgments: Judgments, system: int, segment: int) -> str:
    name = judgments.systems[system]
    outputs = judgments.texts.outputs.get(name) if judgments.texts is not None else None
    text = outputs[segment] if outputs else None
    if text is None:
        raise PrismError(f"{judgments.place}: no text of {name} for segment {judgments.segments[segment]}")
    return text


def _mean(values: Vector) -> float:
    """The mean of those that are known."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
