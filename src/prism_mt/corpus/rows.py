"""Sentence pairs on their way through the preparation."""

from collections.abc import Iterable
from typing import NamedTuple


class Row(NamedTuple):
    """A sentence pair; languages are in alphabetical order, so that each pair exists once."""

    source: int
    """Index of the source file in the configuration."""
    line: int
    lang1: str
    lang2: str
    text1: str
    text2: str
    margin: float | None = None

    @property
    def pair(self) -> str:
        """The language pair, as in `de-en`."""
        return f"{self.lang1}-{self.lang2}"


class Reject(NamedTuple):
    """A rejected line, and why."""

    file: str
    line: int
    reason: str


def oriented(
    source: int, line: int, side1: tuple[str, str], side2: tuple[str, str], margin: float | None = None
) -> Row:
    """Make a row from two (language, text) sides in any order; two sides in one language are ordered by text."""
    first, second = sorted((side1, side2))
    return Row(source, line, first[0], second[0], first[1], second[1], margin)


def by_cell(rows: Iterable[Row]) -> dict[tuple[int, str], list[Row]]:
    """Group rows by source and language pair, in order of first appearance."""
    cells: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        cells.setdefault((row.source, row.pair), []).append(row)
    return cells
