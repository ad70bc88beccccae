"""The result of a comparison in a sentence or two."""

from collections.abc import Sequence

from prism_mt.evaluation.compare import SIGNIFICANT, Comparison
from prism_mt.report.table import format_p

_MOST_NAMES = 6


def verdict(comparison: Comparison) -> str:
    """Tell every significant difference, and that the others are not; only what a test has shown."""
    names, metric = comparison.metric.systems, comparison.metric.metric
    if len(names) < 2:
        score = float(comparison.metric.system_scores[0])
        return f"By {metric}: {names[0]} has {score:.4g}; there is no other system to compare it with."
    groups = _groups(comparison)
    if groups is None:
        told = _relations(comparison)
    elif len(groups) == 1:
        told = _level(comparison, groups[0])
    elif len(groups) == 2:
        told = _two_groups(comparison, *groups)
    else:
        told = _ladder(comparison, groups)
    return f"By {metric}: {told}."


def join(words: Sequence[str]) -> str:
    """Enumerate words as in a sentence; of many, only the first are named."""
    if len(words) > _MOST_NAMES:
        return f"{', '.join(words[: _MOST_NAMES - 1])} and {len(words) - _MOST_NAMES + 1} others"
    return _enumerate(words)


def _enumerate(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _differs(comparison: Comparison, first: int, second: int) -> bool:
    return bool(comparison.p[first, second] < SIGNIFICANT)


def _groups(comparison: Comparison) -> list[list[int]] | None:
    """Split the order so that systems differ exactly if they are in different groups; None if that is impossible."""
    groups: list[list[int]] = []
    for place in comparison.order:
        if groups and not _differs(comparison, groups[-1][0], place):
            groups[-1].append(place)
        else:
            groups.append([place])
    group_of = {place: index for index, group in enumerate(groups) for place in group}
    pairs = _pairs(comparison.order)
    fits = all(_differs(comparison, a, b) == (group_of[a] != group_of[b]) for a, b in pairs)
    return groups if fits else None


def _level(comparison: Comparison, group: Sequence[int]) -> str:
    return f"{_names(comparison, group)} cannot be told apart ({_lowest(comparison, _pairs(group))})"


def _two_groups(comparison: Comparison, first: Sequence[int], second: Sequence[int]) -> str:
    told = _p(comparison, [(a, b) for a in first for b in second])
    if len(first) == 1:
        text = f"{_names(comparison, first)} is better than {_names(comparison, second)} ({told})"
    else:
        who = "both" if len(first) == 2 else "all of them"
        text = f"{_level(comparison, first)}; {who} are better than {_names(comparison, second)} ({told})"
    if len(second) == 1:
        return text
    return f"{text}, which cannot be told apart ({_lowest(comparison, _pairs(second))})"


def _ladder(comparison: Comparison, groups: Sequence[Sequence[int]]) -> str:
    """Three groups or more, each better than all that follow."""
    pairs = [(a, b) for a, b in _pairs(comparison.order) if _differs(comparison, a, b)]
    told = _p(comparison, pairs)
    tied = [pair for group in groups for pair in _pairs(group)]
    if not tied:
        listed = ", ".join(_names(comparison, group) for group in groups)
        return f"from best to worst, each system is better than all after it ({told}): {listed}"
    listed = "; ".join(_names(comparison, group) for group in groups)
    return (
        f"from best to worst, each group is better than all after it ({told}): {listed}. "
        f"Systems of one group cannot be told apart ({_lowest(comparison, tied)})"
    )


def _relations(comparison: Comparison) -> str:
    """Name what each system is better than; systems that are better than the same ones share a clause."""
    order = comparison.order
    beaten: dict[tuple[int, ...], list[int]] = {}
    for index, place in enumerate(order):
        below = tuple(other for other in order[index + 1 :] if _differs(comparison, place, other))
        beaten.setdefault(below, []).append(place)
    clauses = []
    for below, group in beaten.items():
        if below:
            verb = "is" if len(group) == 1 else "are"
            told = _p(comparison, [(a, b) for a in group for b in below])
            clauses.append(f"{_names(comparison, group)} {verb} better than {_beaten(comparison, below)} ({told})")
    tied = [(a, b) for a, b in _pairs(order) if not _differs(comparison, a, b)]
    text = f"{'; '.join(clauses)}; no other two systems can be told apart ({_lowest(comparison, tied)})"
    if len(order) <= _MOST_NAMES:
        return text
    return f"from best to worst: {', '.join(comparison.metric.systems[place] for place in order)}. {text}"


def _beaten(comparison: Comparison, below: Sequence[int]) -> str:
    """Name systems; where there are many, the lowest ones as "all after" another, which the stated order explains."""
    order = comparison.order
    if len(order) <= _MOST_NAMES:
        return _names(comparison, below)
    tail = 0
    while tail < len(below) and below[-tail - 1] == order[-tail - 1]:
        tail += 1
    if tail < 3:
        return _names(comparison, below)
    named = [comparison.metric.systems[place] for place in below[: len(below) - tail + 1]]
    return _enumerate([*named, "all after it"])


def _pairs(places: Sequence[int]) -> list[tuple[int, int]]:
    return [(a, b) for index, a in enumerate(places) for b in places[index + 1 :]]


def _p(comparison: Comparison, pairs: Sequence[tuple[int, int]]) -> str:
    """The highest p-value of pairs that differ."""
    return _format(max(comparison.p[a, b] for a, b in pairs), "=" if len(pairs) == 1 else "≤")


def _lowest(comparison: Comparison, pairs: Sequence[tuple[int, int]]) -> str:
    """The lowest p-value of pairs that do not differ."""
    return _format(min(comparison.p[a, b] for a, b in pairs), "=" if len(pairs) == 1 else "≥")


def _format(value: float, sign: str) -> str:
    written = format_p(float(value))
    return f"p < {written[1:]}" if written.startswith("<") else f"p {sign} {written}"


def _names(comparison: Comparison, places: Sequence[int]) -> str:
    return _enumerate([comparison.metric.systems[place] for place in places])
