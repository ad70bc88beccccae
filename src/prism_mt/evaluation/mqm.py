"""What an error costs in Multidimensional Quality Metrics with the weights of Freitag et al. (2021)."""

from collections.abc import Mapping
from typing import Any

from prism_mt._core.errors import PrismError

_SEVERITIES = {"major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0, "trivial": 0.1}
NON_TRANSLATION = 25.0
_PUNCTUATION = 0.1


def penalty(category: str, severity: str, non_translation: float = NON_TRANSLATION) -> float:
    """Penalty of one error: major 5, minor 1, minor punctuation 0.1, neutral 0, non-translation 25."""
    kind, weight = category.lower().rstrip("!"), _SEVERITIES.get(severity.lower())
    if kind in ("non-translation", "non translation"):
        return non_translation
    if weight is None:
        raise ValueError(f"unknown severity {severity!r}; known: {', '.join(_SEVERITIES)}")
    if kind.startswith("fluency/punctuation") and severity.lower() == "minor":
        return _PUNCTUATION
    return weight


def score_errors(rating: Mapping[str, Any], where: str, non_translation: float = NON_TRANSLATION) -> float:
    """Minus the penalties of a rating's `errors`: [category, severity] each, or an object with these keys."""
    errors = rating.get("errors")
    if not isinstance(errors, list):
        raise PrismError(f"{where}: errors must be a list, not {errors!r:.60}")
    total = 0.0
    for error in errors:
        words = [error.get("category"), error.get("severity")] if isinstance(error, dict) else error
        if not isinstance(words, list) or len(words) != 2 or not all(isinstance(word, str) for word in words):
            raise PrismError(f"{where}: an error is [category, severity], not {error!r:.60}")
        try:
            total += penalty(words[0], words[1], non_translation)
        except ValueError as unknown:
            hint = ", or take the file's own scores with --given-scores" if "score" in rating else ""
            raise PrismError(f"{where}: {unknown}{hint}") from unknown
    return -total
