"""Tables of systems that are compared with one another."""

from collections.abc import Sequence

import numpy as np

from prism_mt.evaluation.buckets import Buckets
from prism_mt.evaluation.compare import SIGNIFICANT, Agreement, Comparison, Measured, Significance
from prism_mt.report.table import Column, Table, Value, number

_TESTS = {"bootstrap": "paired bootstrap", "randomisation": "paired approximate randomisation"}


def digits(measured: Measured) -> int:
    """Decimals that suit a metric: percentages get fewer than log-probabilities and shares."""
    return 2 if measured.scores.min() >= 0 and measured.scores.max() >= 10 else 4


def ranking_table(comparison: Comparison, baseline: int, options: Significance) -> Table:
    """Systems from best to worst, each with its interval and what became of it against the baseline."""
    measured = comparison.measured
    places = digits(measured)
    columns = (
        Column("rank", "d", "right"),
        Column("system"),
        number(measured.metric, places),
        number("95 % from", places),
        number("to", places),
        number(f"− {measured.systems[baseline]}", places),
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
            measured.systems[place],
            float(comparison.scores[place]),
            own.low,
            own.high,
        )
        if place == baseline:
            rows.append((*head, None, None, None, None, None))
            continue
        p = float(comparison.p[place, baseline])
        if p < SIGNIFICANT:
            bold.add((len(rows), 6))
        difference = float(comparison.scores[place] - comparison.scores[baseline])
        wins, losses = int(comparison.wins[place, baseline]), int(comparison.wins[baseline, place])
        rows.append((*head, difference, p, wins, comparison.ties(place, baseline), losses))
    notes = (measured.signature, guidance(comparison), _about(options))
    return Table(columns, tuple(rows), _caption(measured), frozenset(bold), notes)


def guidance(comparison: Comparison) -> str:
    """What a difference of some size means on this test set."""
    measured = comparison.measured
    count = measured.segments.shape[1]
    direction = "Lower" if measured.lower_is_better else "Higher"
    if len(measured.systems) < 2:
        return f"{direction} is better."
    return (
        f"{direction} is better. With these {count:,} segments a difference below about "
        f"{comparison.noticeable:.{digits(measured)}f} cannot be told from chance."
    )


def pairs_table(comparison: Comparison) -> Table:
    """p-values of every pair; significant ones stand out."""
    order, names = comparison.order, comparison.measured.systems
    columns = (Column("system"), *(number(names[place]) for place in order))
    rows = [(names[a], *(None if a == b else float(comparison.p[a, b]) for b in order)) for a in order]
    bold = {
        (r, c + 1) for r, a in enumerate(order) for c, b in enumerate(order) if comparison.p[a, b] < SIGNIFICANT
    }
    return Table(columns, tuple(rows), f"{comparison.measured.metric}: p of every pair", frozenset(bold))


def buckets_table(measured: Measured, buckets: Buckets) -> Table:
    """Scores on parts of the test set, the best of each standing out."""
    places = digits(measured)
    columns = (
        Column(buckets.title),
        Column("segments", "d", "right"),
        *(number(name, places) for name in measured.systems),
    )
    rows: list[tuple[Value, ...]] = []
    bold = set()
    for part in buckets.parts:
        scores = measured.scores_on(part.segments)
        merits = measured.merits(scores)
        bold |= {(len(rows), place + 2) for place in np.flatnonzero(merits == merits.max()).tolist()}
        rows.append((part.label, len(part.segments), *scores.tolist()))
    return Table(columns, tuple(rows), f"{measured.metric} by {buckets.title}", frozenset(bold))


def agreement_table(found: Sequence[Agreement]) -> Table:
    """How much the metrics agree among themselves."""
    columns = (Column("metric"), Column("and"), number("tau-b of outputs"), number("Pearson of systems"))
    rows = tuple((one.first, one.second, one.segments, one.systems) for one in found)
    return Table(columns, rows, "Agreement between metrics")


def _caption(measured: Measured) -> str:
    return f"{len(measured.systems)} systems by {measured.metric}, {measured.segments.shape[1]:,} segments"


def _about(options: Significance) -> str:
    return (
        f"* p < {SIGNIFICANT}, {_TESTS[options.test]}, {options.count:,} draws, seed {options.seed}; "
        "systems of one rank cannot be told apart"
    )
