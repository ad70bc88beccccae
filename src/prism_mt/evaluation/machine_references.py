"""How metrics behave with machine-translated references (Vamvas et al. 2023).

References are error-free outputs of unrelated systems: systems of one family, such as the five outputs of one team,
are related. Every pair of systems gets one reference per segment, from a third family. Segments without such a
reference are left out under standard references, too. Human translations are neither scored nor drawn.

The result for systems is the share of pairs in people's order. For segments it is tau-b over all outputs, where the
score of an output comes from one of its system's pairs: one at random of those in which the system's name comes first,
as in the authors' code (the last name takes those in which it is second). The result is the mean over such draws. Of
the readings that were compared with the paper's tables this one agrees best; others were all pairs pooled, the mean
over an output's pairs, and one reference per output.
"""

import hashlib
import itertools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
Drawn = Mapping[tuple[int, int], Index]
"""For every pair of systems, the system whose output is the reference of each segment."""
_TAU = Correlation("kendall-b")
_LOG = logging.getLogger("prism_mt")


@dataclass(frozen=True)
class StudyOptions(Config):
    """How machine-translated references are found and drawn."""

    level: StudyLevel = option("judge segments, or pairs of systems", "segments")
    draw: Draw = option(
        "md5: the text with the smallest MD5 among the distinct candidates, as in Vamvas et al.; random: any candidate",
        "md5",
    )
    draws: int = option(
        "number of draws: of references if they are random, and for segments of the pair in which an output is scored",
        5,
        metavar="N",
        low=1,
        high=10_000,
    )
    seed: int = option("seed of the draws", 1, metavar="N", low=0)
    error_free: ErrorFree = option(
        "errors: outputs in which no rater marked an error; score: outputs whose score is not below 0", "errors"
    )


@dataclass(frozen=True)
class StudiedMetric:
    """A metric's scores under standard references, and the metric itself if further scores can be computed."""

    standard: MetricScores
    scorer: TextScorer | None = None


@dataclass(frozen=True)
class Effect:
    """One metric under both kinds of references; NaN if its scores under machine translation are unknown."""

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
    """Segments with a machine-translated reference, averaged over pairs of systems."""
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
    plan = ReferencePlan(judgments, free)
    if not plan.pairs:
        raise PrismError(f"{judgments.place}: machine-translated references need at least two systems")
    drawn = _draws(plan, options) if any(studied.scorer for studied in metrics) else []
    effects = tuple(_effect(studied, judgments, plan, drawn, options) for studied in metrics)
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

    With `errors`, no rater marked one; ratings without error lists must then be MQM penalties, where 0 is error-free.
    With `score`, the score is not negative: the test of Vamvas et al., which accepts nearly all outputs if the scores
    are not penalties, as in the length-normalized scores of English–Russian.
    """
    rated = ~np.isnan(judgments.scores)
    if rule == "score":
        return rated & (judgments.scores >= 0.0)
    if judgments.ratings.has_errors:
        return rated & ~judgments.ratings.marked(*judgments.scores.shape)
    if (judgments.scores > 0).any():
        raise PrismError(
            f"{judgments.place} has positive scores and no error lists, so it is unknown which outputs are error-free"
        )
    free: Mask = judgments.scores == 0.0
    return free


class ReferencePlan:
    """All pairs of systems, with the segments on which a third family has an error-free output."""

    def __init__(self, judgments: Judgments, free: Mask) -> None:
        self.judgments, self.free = judgments, free
        self._families = np.array(judgments.family_names())
        rated = ~np.isnan(judgments.scores)
        self.pairs = {
            (one, other): self.candidates(one, other).any(axis=0) & rated[one] & rated[other]
            for one, other in itertools.combinations(range(len(rated)), 2)
        }
        """Both systems, and the segments on which they are scored."""

    def candidates(self, one: int, other: int) -> Mask:
        """Error-free outputs (systems × segments) of families to which neither system belongs."""
        related = np.isin(self._families, self._families[[one, other]])
        return self.free & ~related[:, None]

    def mean_segments(self) -> float:
        """Segments with a reference, averaged over pairs of systems."""
        return float(np.mean([scored.sum() for scored in self.pairs.values()]))

    def draw(self, order: Matrix) -> Drawn:
        """For every pair, the system whose output is the reference of each segment: the first by `order`."""
        return {
            pair: np.where(self.candidates(*pair), order, np.inf).argmin(axis=0).astype(np.int64)
            for pair in self.pairs
        }

    def places(self, drawn: Drawn) -> Iterator[Place]:
        """What is scored against what."""
        for pair, scored in self.pairs.items():
            for segment in np.flatnonzero(scored).tolist():
                for system in pair:
                    yield system, int(drawn[pair][segment]), segment

    def standard(self, scores: Matrix, options: StudyOptions) -> Vector:
        """The results under standard references, where there are others."""
        found = [scores[list(pair)][:, scored] for pair, scored in self.pairs.items()]
        return self._results(found, options)

    def machine(self, drawn: Drawn, known: Mapping[Place, float], options: StudyOptions) -> Vector:
        """The results under drawn references."""
        values = np.array([known.get(place, np.nan) for place in self.places(drawn)], dtype=np.float64)
        sizes = [2 * int(scored.sum()) for scored in self.pairs.values()]
        found = [part.reshape(-1, 2).T for part in np.split(values, np.cumsum(sizes)[:-1])]
        return self._results(found, options)

    def _results(self, scores: Sequence[Matrix], options: StudyOptions) -> Vector:
        """From the scores of every pair, 2 × its segments: one result for systems, one per draw for segments."""
        if options.level == "segments":
            return self._taus(scores, options)
        means = self.judgments.system_means()
        gaps = [_mean(pair[0] - pair[1]) for pair in scores]
        # A pair without a human gap is left out, a tie is wrong.
        right = [
            gap * (means[one] - means[other]) > 0
            for (one, other), gap in zip(self.pairs, gaps, strict=True)
            if gap == gap
        ]
        return np.array([np.mean(right) if right else np.nan])

    def _taus(self, scores: Sequence[Matrix], options: StudyOptions) -> Vector:
        """Tau-b with the score of every output from one of its pairs; the same pairs for every metric."""
        human, rng = self.judgments.scores, np.random.default_rng(options.seed)
        segments = np.arange(human.shape[1])
        by_pair = np.full((len(self.pairs), 2, len(segments)), np.nan)
        for place, (scored, part) in enumerate(zip(self.pairs.values(), scores, strict=True)):
            by_pair[place][:, scored] = part
        own = [self._own_pairs(system) for system in range(len(human))]
        taus = []
        for _ in range(options.draws):
            drawn = [rows[rng.integers(len(rows), size=len(segments))] for rows in own]
            taus.append(_TAU(human, np.array([by_pair[one[:, 0], one[:, 1], segments] for one in drawn])))
        return np.array(taus)

    def _own_pairs(self, system: int) -> Index:
        """Places of the pairs that score a system's outputs, and which of the two it is in them."""
        names = self.judgments.systems
        first: list[tuple[int, int]] = []
        second: list[tuple[int, int]] = []
        for place, pair in enumerate(self.pairs):
            if system in pair:
                is_first = names[system] == min(names[pair[0]], names[pair[1]])
                (first if is_first else second).append((place, pair.index(system)))
        return np.array(first or second, dtype=np.int64)


def score_places(metric: TextScorer, judgments: Judgments, places: Iterable[Place]) -> dict[Place, float]:
    """Score outputs against outputs of other systems; higher is better in the result."""
    if "ref" not in metric.metric.needs:
        raise PrismError(f"{metric.name} does not use references: nothing to compare")
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


def _draws(plan: ReferencePlan, options: StudyOptions) -> list[Drawn]:
    if options.draw == "md5":
        return [plan.draw(digest_ranks(plan))]
    rng = np.random.default_rng(options.seed)
    return [plan.draw(rng.random(plan.free.shape)) for _ in range(options.draws)]


def digest_ranks(plan: ReferencePlan) -> Matrix:
    """Rank texts of a segment by MD5, so that equal outputs of several systems have no advantage."""
    ranks = np.full(plan.free.shape, np.inf)
    for segment in np.flatnonzero(plan.free.any(axis=0)).tolist():
        systems = np.flatnonzero(plan.free[:, segment]).tolist()
        texts = [_output(plan.judgments, system, segment) for system in systems]
        digests = [hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts]
        ordered = sorted(set(digests))
        ranks[systems, segment] = [ordered.index(digest) for digest in digests]
    return ranks


def _effect(
    studied: StudiedMetric,
    judgments: Judgments,
    plan: ReferencePlan,
    drawn: Sequence[Drawn],
    options: StudyOptions,
) -> Effect:
    scores = studied.standard.higher.align(judgments.systems, judgments.segments)
    unknown = int((np.isnan(scores) & ~np.isnan(judgments.scores)).sum())
    if unknown:
        _LOG.warning(
            "%s: %d judged outputs without a score of %s under standard references are left out",
            *(judgments.place, unknown, studied.standard.metric),
        )
    standard = _mean(plan.standard(scores, options))
    if studied.scorer is None:
        return Effect(studied.standard.metric, standard, float("nan"), float("nan"))
    # What has no standard reference counts in neither result.
    needed = {place for one in drawn for place in plan.places(one) if not np.isnan(scores[place[0], place[2]])}
    known = score_places(studied.scorer, judgments, sorted(needed, key=lambda place: place[::-1]))
    values = np.concatenate([plan.machine(one, known, options) for one in drawn])
    return Effect(studied.standard.metric, standard, _mean(values), _spread(values))


def _output(judgments: Judgments, system: int, segment: int) -> str:
    name = judgments.systems[system]
    outputs = judgments.texts.outputs.get(name) if judgments.texts is not None else None
    text = outputs[segment] if outputs else None
    if text is None:
        raise PrismError(f"{judgments.place}: no text of {name} for segment {judgments.segments[segment]}")
    return text


def _mean(values: Vector) -> float:
    """The mean of the known values."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _spread(values: Vector) -> float:
    """The standard deviation of those that are known."""
    known = values[~np.isnan(values)]
    return float(known.std()) if len(known) else float("nan")
