"""Tables of system comparisons."""

import math
from collections.abc import Sequence

from prism_mt.evaluation.buckets import Buckets
from prism_mt.evaluation.compare import SIGNIFICANT, Agreement, Comparison, Significance
from prism_mt.metrics.scores import MetricScores
from prism_mt.report.table import Column, Table, Value, number, p_value
from prism_mt.report.verdict import join

_TESTS = {"bootstrap": "paired bootstrap", "randomization": "paired approximate randomization"}

RANKS = "A new rank starts with a system that is significantly worse than one of the rank above."


def digits(comparison: Comparison) -> int:
    """Number of meaningful decimals on this test set: two digits of a score's uncertainty."""
    spread = [own.high - own.low for own in comparison.intervals if own.high > own.low]
    if not spread:
        return 2 if comparison.metric.system_scores.max() >= 10 else 3
    return min(max(1 - math.floor(math.log10(max(spread) / 4)), 1), 4)


def ranking_table(comparison: Comparison, baseline: int, options: Significance) -> Table:
    """Systems from best to worst, each with its interval and its comparison with the baseline."""
    scores = comparison.metric
    places = digits(comparison)
    columns = (
        Column("rank", "d", "right"),
        Column("system"),
        number(scores.metric, places),
        number("95 % from", places),
        number("to", places),
        number(f"− {scores.systems[baseline]}", places),
        p_value(),
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
    notes = (guidance(comparison), RANKS, about(options)) if len(rows) > 1 else (guidance(comparison),)
    return Table(columns, tuple(rows), _caption(scores), frozenset(bold), notes, (scores.signature,))


def wide_table(comparisons: Sequence[Comparison], baseline: int, options: Significance) -> Table:
    """A row per system, with each metric's score, half of its interval, and p against the baseline."""
    first = comparisons[0]
    columns = [Column("system")]
    for one in comparisons:
        places = digits(one)
        columns += [number(one.metric.metric, places), number("±", places), p_value()]
    rows: list[tuple[Value, ...]] = []
    bold = set()
    for place in first.order:
        row: list[Value] = [first.metric.systems[place]]
        for one in comparisons:
            own = one.intervals[place]
            row += [float(one.metric.system_scores[place]), (own.high - own.low) / 2]
            p = float(one.p[place, baseline])
            if place != baseline and p < SIGNIFICANT:
                bold.add((len(rows), len(row)))
            row.append(None if place == baseline else p)
        rows.append(tuple(row))
    notes = (f"± is half of the 95 % interval, p is against {first.metric.systems[baseline]}", about(options))
    signatures = tuple(one.metric.signature for one in comparisons)
    return Table(
        tuple(columns), tuple(rows), _caption(first.metric, comparisons), frozenset(bold), notes, signatures
    )


def parts_table(comparison: Comparison) -> Table:
    """Components of a metric's scores, such as BLEU's precisions and brevity penalty."""
    scores = comparison.metric
    names = list(scores.parts[0])
    columns = [Column("system"), number(scores.metric, digits(comparison))]
    columns += [_part_column(name, scores.parts[0][name]) for name in names]
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (
            scores.systems[place],
            float(scores.system_scores[place]),
            *(scores.parts[place][name] for name in names),
        )
        for place in comparison.order
    )
    return Table(tuple(columns), rows, f"Parts of {scores.metric}")


def _part_column(name: str, value: float) -> Column:
    if name.startswith("precision_"):
        return number(f"{name.removeprefix('precision_')}-gram", 1)
    title = name.replace("_", " ").replace("brevity penalty", "BP").replace("length ratio", "ratio")
    return Column(title, ",.0f", "right") if float(value).is_integer() and value > 1 else number(title)


def guidance(comparison: Comparison) -> str:
    """What a difference of some size means on this test set."""
    scores = comparison.metric
    count = scores.segments.shape[1]
    direction = "Lower" if scores.lower_is_better else "Higher"
    if len(scores.systems) < 2:
        return f"{direction} is better."
    return (
        f"{direction} is better. With these {count:,} segments a difference below about "
        f"{comparison.noticeable:.{digits(comparison)}f} cannot be told from chance."
    )


def pairs_table(comparison: Comparison) -> Table:
    """p-values of every pair; significant ones are marked."""
    order, names = comparison.order, comparison.metric.systems
    columns = (Column("system"), *(p_value(names[place]) for place in order))
    rows = [(names[a], *(None if a == b else float(comparison.p[a, b]) for b in order)) for a in order]
    bold = {
        (r, c + 1) for r, a in enumerate(order) for c, b in enumerate(order) if comparison.p[a, b] < SIGNIFICANT
    }
    caption = f"{comparison.metric.metric}: p of every pair"
    return Table(columns, tuple(rows), caption, frozenset(bold), (f"* p < {SIGNIFICANT}",))


def buckets_table(comparison: Comparison, buckets: Buckets) -> Table:
    """Scores on parts of the test set, which are not tested and so not marked."""
    scores, places = comparison.metric, digits(comparison)
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
    """Agreement between metrics."""
    columns = (Column("metric"), Column("and"), number("tau-b of outputs"), number("Pearson of systems"))
    rows = tuple((one.first, one.second, one.segments, one.systems) for one in found)
    return Table(columns, rows, "Agreement between metrics")


def _caption(scores: MetricScores, all_metrics: Sequence[Comparison] = ()) -> str:
    systems = "1 system" if len(scores.systems) == 1 else f"{len(scores.systems)} systems"
    names = [one.metric.metric for one in all_metrics] or [scores.metric]
    return f"{systems} by {join(names)}, {scores.segments.shape[1]:,} segments"


def about(options: Significance) -> str:
    """Explain the mark in a table."""
    return f"* p < {SIGNIFICANT:g}, {_TESTS[options.test]}, {options.count:,} draws, seed {options.seed}"
