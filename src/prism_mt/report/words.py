"""Words, lengths and n-grams as tables and plots of the page."""

from dataclasses import dataclass

from markupsafe import Markup

from prism_mt.evaluation.words import DIFFERENCES, WordAnalysis
from prism_mt.report import svg
from prism_mt.report.table import Column, Table, Value, number


@dataclass(frozen=True)
class WordSection:
    """Word statistics on the page."""

    lengths: Table
    frequencies: Table
    frequency_plot: Markup | None


def word_section(words: WordAnalysis) -> WordSection:
    """Make the tables, and a plot where there is more than one bucket."""
    labels = [span(one.low, one.high) for one in words.frequencies]
    plot = None
    if len(labels) > 1:
        scores = [one.f1 for one in words.frequencies]
        plot = svg.profile(words.systems, scores, labels, "F1 of words by their frequency in the references")
    return WordSection(length_table(words), frequency_table(words), plot)


def length_table(words: WordAnalysis) -> Table:
    """Lengths of outputs relative to their references: the ratio, and numbers of segments by difference in words."""
    columns = [Column("system"), number("ratio")]
    columns += [Column(span(low, high), "d", "right") for low, high in DIFFERENCES]
    rows = tuple(
        (name, ratio, *counts)
        for name, ratio, counts in zip(words.systems, words.ratios, words.differences.tolist(), strict=True)
    )
    return Table(tuple(columns), rows, "Segments by words of the output minus words of the reference")


def frequency_table(words: WordAnalysis) -> Table:
    """F1 of words that occur so often in the references."""
    columns = (
        Column("occurrences"),
        Column("words", ",d", "right"),
        *(number(name) for name in words.systems),
    )
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (span(one.low, one.high), one.words, *one.f1) for one in words.frequencies
    )
    return Table(columns, rows, "F1 of words by their frequency in the references")


def span(low: int | None, high: int | None) -> str:
    """Write a range of whole numbers as a reader expects it."""
    if low == high:
        text = str(low)
    elif low is None:
        text = f"{high} or less"
    else:
        text = f"{low:,} or more" if high is None else f"{low} to {high}"
    return text.replace("-", "−")
