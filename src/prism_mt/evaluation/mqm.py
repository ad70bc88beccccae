"""MQM scores from error lists, with the weights of Freitag et al. (2021)."""

from collections.abc import Iterable
from dataclasses import replace

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.ratings import Error

NON_TRANSLATION = 25.0
NO_ERROR = "no-error"
_SEVERITIES = {"major": 5.0, "minor": 1.0, "neutral": 0.0, NO_ERROR: 0.0, "trivial": 0.1}
_PUNCTUATION = 0.1


def penalty(category: str, severity: str, non_translation: float = NON_TRANSLATION) -> float:
    """Penalty of one error: major 5, minor 1, minor punctuation 0.1, neutral 0, non-translation 25."""
    kind, weight = category.lower().rstrip("!"), _SEVERITIES.get(severity.lower())
    if kind in ("non-translation", "non translation"):
        return non_translation
    if weight is None:
        raise PrismError(f"unknown severity {severity!r}; known: {', '.join(_SEVERITIES)}")
    if kind.startswith("fluency/punctuation") and severity.lower() == "minor":
        return _PUNCTUATION
    return weight


def score_errors(errors: Iterable[Error], non_translation: float = NON_TRANSLATION) -> float:
    """Negated sum of the penalties, added in the order of the errors: published counts depend on the last bits."""
    total = 0.0
    for error in errors:
        total += penalty(error.category, error.severity, non_translation)
    return -total


def score_from_errors(judgments: Judgments, non_translation: float = NON_TRANSLATION) -> Judgments:
    """Replace the scores of ratings with error lists by those of the weights above."""
    ratings = judgments.ratings
    scores = ratings.score.copy()
    for row, errors in enumerate(ratings.errors):
        if errors is not None:
            try:
                scores[row] = score_errors(errors, non_translation)
            except PrismError as error:
                system, segment = judgments.systems[ratings.system[row]], judgments.segments[ratings.segment[row]]
                raise PrismError(
                    f"{judgments.place}, segment {segment} of {system}: {error}; "
                    "use the file's own scores with `given_scores=`"
                ) from error
    return replace(judgments, ratings=replace(ratings, score=scores), system_scores=None)
