"""The result of a comparison in a sentence."""

from collections.abc import Sequence

from prism_mt.evaluation.compare import SIGNIFICANT, Comparison
from prism_mt.report.table import format_p

_MOST_NAMES = 6


def verdict(comparison: Comparison) -> str:
    """Say which systems are better and which are not significantly different; only what a test has shown."""
    names, metric = comparison.metric.systems, comparison.metric.metric
    if len(names) < 2:
        score = float(comparison.metric.system_scores[0])
        return f"By {metric}: {names[0]} has {score:.4g}; there is no other system to compare it with."
    best, *others = comparison.order
    level = [place for place in others if not _differs(comparison, best, place)]
    behind = [place for place in others if place not in level]
    clear = [place for place in behind if all(_differs(comparison, place, one) for one in level)]
    unclear = [place for place in behind if place not in clear]
    parts = []
    if level:
        parts.append(_level(comparison, best, level))
    if clear:
        parts.append(_better(comparison, [best, *level], clear))
    if unclear:
        parts.append(_unclear(comparison, best, level, unclear))
    return f"By {metric}: {'; '.join(parts)}."


def join(words: Sequence[str]) -> str:
    """Enumerate words as in a sentence; of many, only the first are named."""
    if len(words) > _MOST_NAMES:
        return f"{', '.join(words[: _MOST_NAMES - 1])} and {len(words) - _MOST_NAMES + 1} others"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _differs(comparison: Comparison, first: int, second: int) -> bool:
    return bool(comparison.p[first, second] < SIGNIFICANT)


def _level(comparison: Comparison, best: int, level: Sequence[int]) -> str:
    """Name the systems that the best one is not significantly better than."""
    group = [best, *level]
    pairs = [(a, b) for a in group for b in group if a < b]
    if any(_differs(comparison, a, b) for a, b in pairs):
        told = _p(min(comparison.p[best, place] for place in level), "≥")
        return f"{_names(comparison, level)} cannot be told from {_names(comparison, [best])} ({told})"
    told = _p(min(comparison.p[a, b] for a, b in pairs), "=" if len(pairs) == 1 else "≥")
    return f"{_names(comparison, group)} cannot be told apart ({told})"


def _better(comparison: Comparison, group: Sequence[int], clear: Sequence[int]) -> str:
    who = _names(comparison, group) if len(group) == 1 else "both" if len(group) == 2 else "all of them"
    highest = max(comparison.p[a, b] for a in group for b in clear)
    told = _p(highest, "=" if len(group) * len(clear) == 1 else "≤")
    return f"{who} {'is' if len(group) == 1 else 'are'} better than {_names(comparison, clear)} ({told})"


def _unclear(comparison: Comparison, best: int, level: Sequence[int], unclear: Sequence[int]) -> str:
    """Name what is worse than the best system, but not worse than all that are level with it."""
    from_whom = _names(comparison, level) if len(level) == 1 else "all of these"
    verb = "is" if len(unclear) == 1 else "are"
    return (
        f"{_names(comparison, unclear)} {verb} worse than {_names(comparison, [best])}, "
        f"but cannot be told from {from_whom}"
    )


def _p(value: float, sign: str) -> str:
    written = format_p(float(value))
    return f"p < {written[1:]}" if written.startswith("<") else f"p {sign} {written}"


def _names(comparison: Comparison, places: Sequence[int]) -> str:
    return join([comparison.metric.systems[place] for place in places])
