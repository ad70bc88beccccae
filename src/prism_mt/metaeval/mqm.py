"""What an error costs in Multidimensional Quality Metrics with the weights of Freitag et al. (2021)."""

_SEVERITIES = {"major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0, "trivial": 0.1}
_NON_TRANSLATION = 25.0
_PUNCTUATION = 0.1


def penalty(category: str, severity: str, non_translation: float = _NON_TRANSLATION) -> float:
    """Penalty of one error: major 5, minor 1, minor punctuation 0.1, neutral 0, non-translation 25."""
    kind, weight = category.lower().rstrip("!"), _SEVERITIES.get(severity.lower())
    if kind in ("non-translation", "non translation"):
        return non_translation
    if weight is None:
        raise ValueError(f"unknown severity {severity!r}; known: {', '.join(_SEVERITIES)}")
    if kind.startswith("fluency/punctuation") and severity.lower() == "minor":
        return _PUNCTUATION
    return weight
