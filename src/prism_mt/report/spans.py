"""Tables of how well error spans and error-free probabilities agree with known errors."""

from collections.abc import Sequence

from prism_mt.evaluation.error_free import ErrorFreeResult
from prism_mt.evaluation.spans import SpanResult
from prism_mt.report.table import Column, Table, Value, keyed, number
from prism_mt.text.perturb import KINDS


def spans_table(results: Sequence[SpanResult], metric: str, what: str) -> Table:
    """Return a row per language or test set: F-scores, and those of chance."""
    rows: list[tuple[Value, ...]] = [
        (
            one.name,
            one.texts,
            one.scores.partial,
            one.scores.random,
            one.scores.partial / one.scores.random if one.scores.random else None,
            one.scores.characters,
            one.scores.exact,
            one.critical,
        )
        for one in results
    ]
    columns = (
        Column(what),
        Column("outputs", ",", "right"),
        number("F partial"),
        number("F random"),
        number("ratio", 1),
        number("F characters"),
        number("F exact"),
        number("critical as major", 2),
    )
    return Table(keyed(columns), tuple(rows), f"Error spans of {metric}")


def kinds_table(results: Sequence[SpanResult], metric: str) -> Table:
    """Return a row per kind of mistake: how many are marked as major, and the languages where the fewest are."""
    rows: list[tuple[Value, ...]] = []
    for kind in KINDS:
        shares = {one.name: sum(own) / len(own) for one in results if (own := one.major.get(kind))}
        every = [found for one in results for found in one.major.get(kind, ())]
        worst = sorted(shares, key=lambda name: shares[name])[:3]
        if every:
            lowest = ", ".join(f"{name} {shares[name]:.2f}" for name in worst)
            rows.append((kind, len(every), sum(every) / len(every), lowest))
    columns = (Column("kind"), Column("mistakes", ",", "right"), number("marked as major", 2), Column("lowest"))
    notes = ("word order is a minor error, and should not be marked as a major one",)
    return Table(keyed(columns), tuple(rows), f"Mistakes that {metric} marks as major errors", notes=notes)


def error_free_tables(results: Sequence[ErrorFreeResult], metric: str) -> list[Table]:
    """Return Brier scores and accuracies next to simple baselines, then predicted next to observed rates."""
    rows: list[tuple[Value, ...]] = [
        (
            one.name,
            one.outputs,
            one.base_rate,
            one.brier,
            one.base_brier,
            one.shifted_brier,
            one.score_brier,
            100 * one.gain,
            100 * one.shifted_gain,
            one.accuracy,
            one.base_accuracy,
            one.score_accuracy,
            100 * one.caught,
            100 * one.caught_by_score,
        )
        for one in results
    ]
    columns = (
        Column("test set"),
        Column("outputs", ",", "right"),
        number("error-free"),
        number("Brier"),
        number("Brier base rate"),
        number("Brier shifted"),
        number("Brier threshold"),
        number("gain %", 1),
        number("gain shifted %", 1),
        number("accuracy"),
        number("accuracy base rate"),
        number("accuracy threshold"),
        number("errors in worst 30 %", 1),
        number("by score", 1),
    )
    notes = (
        "shifted: all log-odds moved by one constant so that the mean prediction is the base rate; accuracy, too",
        f"threshold: the best one on the score of {metric}, chosen on these very outputs",
    )
    bins: list[tuple[Value, ...]] = [
        (one.name, part.predicted, part.observed, part.outputs) for one in results for part in one.bins
    ]
    reliability = (Column("test set"), number("predicted"), number("observed"), Column("outputs", ",", "right"))
    return [
        Table(keyed(columns), tuple(rows), f"Error-free segments by {metric}", notes=notes),
        Table(
            keyed(reliability),
            tuple(bins),
            "Reliability: mean prediction, and share of raters who marked no error",
        ),
    ]
