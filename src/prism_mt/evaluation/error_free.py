"""How well the probability of an error-free segment is calibrated, and what it saves in post-editing."""

from dataclasses import dataclass, replace

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.references import choose_reference
from prism_mt.metrics.base import Metric, Segment
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.spans.features import Array
from prism_mt.metrics.spans.finder import SpanFinder
from prism_mt.metrics.spans.scorer import open_scorer
from prism_mt.stats.arrays import Vector
from prism_mt.text.parallel import Languages

_BINS = 10


@dataclass(frozen=True, eq=False)
class RatedSegments:
    """Outputs with the share of raters who marked no error in them."""

    name: str
    languages: Languages
    segments: tuple[Segment, ...]
    share: Vector
    errors: Vector
    """Mean number of errors that a rater marked."""

    def take(self, places: list[int]) -> "RatedSegments":
        """Keep some of the outputs."""
        chosen = tuple(self.segments[place] for place in places)
        return replace(self, segments=chosen, share=self.share[places], errors=self.errors[places])


@dataclass(frozen=True)
class Bin:
    """Outputs with similar predictions."""

    predicted: float
    observed: float
    outputs: int


@dataclass(frozen=True)
class ErrorFreeResult:
    """Predictions compared with the ratings."""

    name: str
    outputs: int
    base_rate: float
    """Share of outputs without errors."""
    brier: float
    base_brier: float
    """Brier score of always predicting the base rate."""
    shifted_brier: float
    """Brier score once the mean prediction is the base rate: raters of another test set may be stricter or milder."""
    score_brier: float
    """Brier score of the best threshold on the metric's score."""
    accuracy: float
    base_accuracy: float
    score_accuracy: float
    bins: tuple[Bin, ...]
    caught: float
    """Share of all errors in the 30 % of outputs with the lowest probability."""
    caught_by_score: float
    """The same by the metric's score."""

    @property
    def gain(self) -> float:
        """How far the Brier score is below that of the base rate, as a share of it."""
        return 1 - self.brier / self.base_brier

    @property
    def shifted_gain(self) -> float:
        """The same for predictions that know the base rate, as the base rate itself does."""
        return 1 - self.shifted_brier / self.base_brier


def rated_segments(judgments: Judgments, reference: str | None = None) -> RatedSegments:
    """Collect the rated outputs of machine translation with their reference and source."""
    judgments = judgments.without_humans()
    texts, ratings = judgments.texts, judgments.ratings
    if texts is None or not ratings.has_errors:
        raise PrismError(f"{judgments.place} has no texts with lists of errors")
    references = texts.references[choose_reference(judgments, reference)]
    cells: dict[tuple[int, int], list[int]] = {}
    for system, segment, errors in zip(ratings.system, ratings.segment, ratings.errors, strict=True):
        cells.setdefault((int(system), int(segment)), []).append(len(errors or ()))
    segments, shares, counts = [], [], []
    for (system, segment), own in cells.items():
        output, given = texts.outputs[judgments.systems[system]][segment], references[segment]
        source = texts.sources[segment]
        if output is None or given is None or source is None:
            continue
        segments.append(Segment(output, (given,), source, segment + 1))
        shares.append(sum(not one for one in own) / len(own))
        counts.append(sum(own) / len(own))
    source_language, _, target = judgments.pair.partition("-")
    languages = Languages(target, source_language)
    return RatedSegments(judgments.place, languages, tuple(segments), np.array(shares), np.array(counts))


def summaries(rated: RatedSegments, metric: Metric, runtime: Runtime) -> Array:
    """Compute the features of every output from which its probability is predicted."""
    finder = SpanFinder(metric, runtime, rated.languages)
    results = metric.open(runtime, rated.languages).score(rated.segments, tokens=True)
    found = finder.find(rated.segments, [result.tokens for result in results])
    return np.stack([one.summary for one in found])


def judge_error_free(rated: RatedSegments, metric: Metric, runtime: Runtime) -> ErrorFreeResult:
    """Predict, and compare with the ratings."""
    scorer = open_scorer(metric, runtime, rated.languages, error_free=True)
    results = list(scorer.score(rated.segments))
    predicted = np.array([result.error_free for result in results], dtype=np.float64)
    scores = np.array([result.score for result in results])
    return compare_predictions(rated, predicted, -scores if metric.lower_is_better else scores)


def compare_predictions(rated: RatedSegments, predicted: Vector, scores: Vector) -> ErrorFreeResult:
    """Compare probabilities, and a threshold on scores, with the shares of raters who marked no error."""
    share, rate = rated.share, float(rated.share.mean())
    threshold_brier, threshold_accuracy = _best_threshold(scores, share)
    shifted = shift_to_rate(predicted, rate)
    edges = np.clip((predicted * _BINS).astype(int), 0, _BINS - 1)
    bins = tuple(
        Bin(float(predicted[edges == b].mean()), float(share[edges == b].mean()), int((edges == b).sum()))
        for b in range(_BINS)
        if (edges == b).any()
    )
    return ErrorFreeResult(
        rated.name,
        len(share),
        rate,
        _brier(predicted, share),
        _brier(np.full(len(share), rate), share),
        _brier(shifted, share),
        threshold_brier,
        _accuracy(shifted, share),
        max(rate, 1 - rate),
        threshold_accuracy,
        bins,
        _caught(predicted, rated.errors),
        _caught(scores, rated.errors),
    )


def shift_to_rate(predicted: Vector, rate: float) -> Vector:
    """Add one constant to the log-odds of all predictions, so that their mean is the rate."""
    clipped = np.clip(predicted, 1e-6, 1 - 1e-6)
    logits = np.log(clipped / (1 - clipped))
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        if (1 / (1 + np.exp(-(logits + middle)))).mean() < rate:
            low = middle
        else:
            high = middle
    found: Vector = 1 / (1 + np.exp(-(logits + low)))
    return found


def _brier(predicted: Vector, share: Vector) -> float:
    """Mean squared distance to every rater's 0 or 1."""
    return float(np.mean(share * (1 - predicted) ** 2 + (1 - share) * predicted**2))


def _accuracy(predicted: Vector, share: Vector) -> float:
    return float(np.mean(np.where(predicted >= 0.5, share, 1 - share)))


def _best_threshold(scores: Vector, share: Vector) -> tuple[float, float]:
    """Brier score and accuracy of the threshold that suits these outputs best, which favors the threshold."""
    order = np.argsort(scores)
    ranked = share[order]
    below = np.concatenate(([0.0], np.cumsum(1 - ranked)))
    above = np.concatenate((np.cumsum(ranked[::-1])[::-1], [0.0]))
    place = int((below + above).argmax())
    accuracy = float((below + above)[place] / len(share))
    low, high = ranked[:place], ranked[place:]
    spread = sum(len(part) * float(part.mean() * (1 - part.mean())) for part in (low, high) if len(part))
    return spread / len(share), accuracy


def _caught(scores: Vector, errors: Vector, part: float = 0.3) -> float:
    """Share of all errors in the outputs with the lowest scores."""
    worst = np.argsort(scores, kind="stable")[: max(1, round(part * len(scores)))]
    return float(errors[worst].sum() / max(errors.sum(), 1e-9))
