"""Tables of systems that are compared with one another."""

from collections.abc import Sequence

from prism_mt.evaluation.buckets import Buckets
from prism_mt.evaluation.compare import SIGNIFICANT, Agreement, Comparison, Significance
from prism_mt.metrics.scores import MetricScores
from prism_mt.report.table import Column, Table, Value, number

_TESTS = {"bootstrap": "paired bootstrap", "randomization": "paired approximate randomization"}


def digits(scores: MetricScores) -> int:
    """Decimals that suit a metric: percentages get fewer than log-probabilities and shares."""
    return 2 if scores.system_scores.min() >= 0 and scores.system_scores.max() >= 10 else 4


def ranking_table(comparison: Comparison, baseline: int, options: Significance) -> Table:
    """Systems from best to worst, each with its interval and what became of it against the baseline."""
    scores = comparison.metric
    places = digits(scores)
    columns = (
        Column("rank", "d", "right"),
        Column("system"),
        number(scores.metric, places),
        number("95 % from", places),
        number("to", places),
        number(f"− {scores.systems[baseline]}", places),
        number("p"),
        Column("wins", "d", "right"),
        Column("ties", "d", "right"),
        Column("losses", "d", "right"),
    )
    rows: list[tuple[Value, ...]] = []
    bold = set()
    for place in comparison.order:
        own = comparison.intervals[place]
        head: tuple[Value, ...] = (
            comparison.ranks[place],
            scores.systems[place],
            float(comparison.metric.system_scores[place]),
            own.low,
            own.high,
        )
        if place == baseline:
            rows.append((*head, None, None, None, None, None))
            continue
        p = float(comparison.p[place, baseline])
        if p < SIGNIFICANT:
            bold.add((len(rows), 6))
        difference = float(comparison.metric.system_scores[place] - comparison.metric.system_scores[baseline])
        wins, losses = int(comparison.wins[place, baseline]), int(comparison.wins[baseline, place])
        rows.append((*head, difference, p, wins, comparison.ties(place, baseline), losses))
    notes = (scores.signature, guidance(comparison), _about(options))
    return Table(columns, tuple(rows), _caption(scores), frozenset(bold), notes)


def guidance(comparison: Comparison) -> str:
    """What a difference of some size means on this test set."""
    scores = comparison.metric
    count = scores.segments.shape[1]
    direction = "Lower" if scores.lower_is_better else "Higher"
    if len(scores.systems) < 2:
        return f"{direction} is better."
    return (
        f"{direction} is better. With these {count:,} segments a difference below about "
        f"{comparison.noticeable:.{digits(scores)}f} cannot be told from chance."
    )


def pairs_table(comparison: Comparison) -> Table:
    """p-values of every pair; significant ones stand out."""
    order, names = comparison.order, comparison.metric.systems
    columns = (Column("system"), *(number(names[place]) for place in order))
    rows = [(names[a], *(None if a == b else float(comparison.p[a, b]) for b in order)) for a in order]
    bold = {
        (r, c + 1) for r, a in enumerate(order) for c, b in enumerate(order) if comparison.p[a, b] < SIGNIFICANT
    }
    return Table(columns, tuple(rows), f"{comparison.metric.metric}: p of every pair", frozenset(bold))


def buckets_table(scores: MetricScores, buckets: Buckets) -> Table:
    """Scores on parts of the test set, which are not tested and so carry no mark."""
    places = digits(scores)
    columns = (
        Column(buckets.title),
        Column("segments", "d", "right"),
        *(number(name, places) for name in scores.systems),
    )
    rows: list[tuple[Value, ...]] = []
    for part in buckets.parts:
        rows.append((part.label, len(part.segments), *scores.on(part.segments).tolist()))
    return Table(columns, tuple(rows), f"{scores.metric} by {buckets.title}")


def agreement_table(found: Sequence[Agreement]) -> Table:
    """How much the metrics agree among themselves."""
    columns = (Column("metric"), Column("and"), number("tau-b of outputs"), number("Pearson of systems"))
    rows = tuple((one.first, one.second, one.segments, one.systems) for one in found)
    return Table(columns, rows, "Agreement between metrics")


def _caption(scores: MetricScores) -> str:
    systems = "1 system" if len(scores.systems) == 1 else f"{len(scores.systems)} systems"
    return f"{systems} by {scores.metric}, {scores.segments.shape[1]:,} segments"


def _about(options: Significance) -> str:
    return (
        f"* p < {SIGNIFICANT}, {_TESTS[options.test]}, {options.count:,} draws, seed {options.seed}; "
        "systems of one rank cannot be told apart"
    )


def verdict(comparison: Comparison) -> str:
    """Say which systems are better and which cannot be told apart."""
    names, metric = comparison.metric.systems, comparison.metric.metric
    if len(names) < 2:
        return f"{names[0]} has {float(comparison.metric.system_scores[0]):.4f} by {metric}."
    groups: dict[int, list[int]] = {}
    for place in comparison.order:
        groups.setdefault(comparison.ranks[place], []).append(place)
    ranked = list(groups.values())
    first = ranked[0]
    parts = []
    if len(first) > 1:
        closest = max(float(comparison.p[a, b]) for a in first for b in first if a != b)
        parts.append(f"{_and(names, first)} cannot be told apart (p = {closest:.3f})")
    better = _and(names, first) if len(first) == 1 else "both" if len(first) == 2 else "all of them"
    rest = [place for group in ranked[1:] for place in group]
    if rest:
        verb = "is" if len(first) == 1 else "are"
        parts.append(f"{better} {verb} better than {_and(names, rest)}")
    return f"By {metric}: {'; '.join(parts)}."


def _and(names: Sequence[str], places: Sequence[int]) -> str:
    words = [names[place] for place in places]
    if len(words) > 6:
        return f"{', '.join(words[:5])} and {len(words) - 5} others"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
