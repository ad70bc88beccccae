"""Tables on a terminal: no number is ever broken, however narrow the terminal."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from textwrap import fill

from prism_mt._core.terminal import printable
from prism_mt.report.table import Column, Table, format_value

# Wide enough that rich never breaks a line if the output is a file or a pipe.
_UNLIMITED = 100_000
# Stands in for a space after a number: rich would strip an ordinary one.
_PAD = "\ue000"
_GAP, _NARROW_GAP = 3, 2
"""Gap between columns, with and without room to spare."""
_FOLDED = 12
"""Minimum width to which text is wrapped before a table is split into several."""


def to_text(table: Table, width: int | None = None) -> str:
    """Lay out a table; bold values carry the table's mark, so that they stand out in a pipe, too.

    If it is too wide, titles and texts are wrapped first; then the table is split into several, one below the other,
    each of which starts with the column that names the rows.
    """
    blocks = _blocks(table, width or _UNLIMITED)
    body = "\n\n".join("\n".join(_lines(block, width or _UNLIMITED)) for block in blocks)
    caption = [printable(table.caption), ""] if table.caption else []
    notes = [wrap_sentence(printable(note), width) for note in table.notes]
    return "\n".join([*caption, body, *notes, *map(printable, table.signatures)]) + "\n"


def wrap_sentence(text: str, width: int | None) -> str:
    """Break a sentence into lines, but not inside a statement such as `p < .05`."""
    if width is None:
        return text
    return fill(keep_statements(text, _PAD), width, break_long_words=False).replace(_PAD, " ")


def keep_statements(text: str, space: str) -> str:
    """Put another kind of space into statements such as `p < .05`, at which no line is broken."""
    return re.sub(r"\bp ([<=≤≥]) (?=[.\d])", rf"p{space}\1{space}", text)


def _blocks(table: Table, width: int) -> list[Table]:
    """Split a table into parts that fit; a single column that does not is left as it is."""
    least = _least(table)
    if _total(least) <= width:
        return [table]
    key = next((place for place, column in enumerate(table.columns) if column.align == "left"), 0)
    found: list[list[int]] = [[]]
    for place in range(len(table.columns)):
        columns = sorted({key, *found[-1], place})
        if found[-1] and _total([least[one] for one in columns]) > width:
            found.append([])
            columns = sorted({key, place})
        found[-1] = columns
    if found[-1] == [key] and len(found) > 1:  # the names alone say nothing
        found.pop()
    return [_take(table, places) for places in found]


def _take(table: Table, places: Sequence[int]) -> Table:
    bold = {(row, places.index(column)) for row, column in table.bold if column in places}
    rows = tuple(tuple(row[place] for place in places) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in places), rows=rows, bold=frozenset(bold))


def _lines(table: Table, width: int) -> list[str]:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    narrow = _total(_natural(table), _GAP) > width
    rich_table = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=narrow)
    titles, cells, widths = _titles(table), _cells(table), _widths(table, width)
    for column, title, own in zip(table.columns, titles, widths, strict=True):
        rich_table.add_column(Text(title), justify=column.align, overflow="fold", width=own)
    for row in cells:
        rich_table.add_row(*(Text(_break_names(cell, own)) for cell, own in zip(row, widths, strict=True)))
    buffer = io.StringIO()
    console = Console(file=buffer, width=_UNLIMITED, color_system=None, legacy_windows=False)
    console.print(rich_table)
    return [line.replace(_PAD, " ").rstrip() for line in buffer.getvalue().split("\n")[:-1]]


def _break_names(text: str, width: int) -> str:
    """Break a text that is too long at spaces, and inside a name after punctuation (rich would do so anywhere)."""
    from rich.cells import cell_len

    lines = [""]
    for piece in re.findall(r"[^\s\-,/_:|]*[\s\-,/_:|]?", text):
        if lines[-1] and cell_len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _titles(table: Table) -> list[str]:
    """Titles; one above marked numbers makes room for the mark, so that they stay aligned."""
    starred = {column for _, column in table.bold}
    return [
        printable(column.title) + (_PAD if place in starred and column.align == "right" else "")
        for place, column in enumerate(table.columns)
    ]


def _cells(table: Table) -> list[list[str]]:
    starred = {column for _, column in table.bold}
    return [
        [
            printable(format_value(value, table.columns[c]))
            + (table.mark if (r, c) in table.bold else _PAD if c in starred else "")
            for c, value in enumerate(row)
        ]
        for r, row in enumerate(table.rows)
    ]


def _widths(table: Table, width: int) -> list[int]:
    """Distribute the width: every column gets its minimum, the rest goes to those that need a little more."""
    widths, wanted = _least(table), _natural(table)
    left = width - _total(widths)
    order = sorted(range(len(widths)), key=lambda place: wanted[place] - widths[place])
    for index, place in enumerate(order):
        more = max(0, min(wanted[place] - widths[place], left // (len(order) - index)))
        widths[place] += more
        left -= more
    return widths


def _natural(table: Table) -> list[int]:
    from rich.cells import cell_len

    titles, cells = _titles(table), _cells(table)
    return [max(map(cell_len, (titles[place], *(row[place] for row in cells)))) for place in range(len(titles))]


def _least(table: Table) -> list[int]:
    """Minimum widths: numbers and the words of titles stay whole; text can be wrapped."""
    from rich.cells import cell_len

    natural, titles, cells = _natural(table), _titles(table), _cells(table)
    found = []
    for place, column in enumerate(table.columns):
        words = max(map(cell_len, titles[place].split() or [""]))
        if _is_text(column):
            found.append(min(natural[place], max(_FOLDED, min(words, 2 * _FOLDED))))
        else:
            found.append(max([words, *(cell_len(row[place]) for row in cells)]))
    return found


def _is_text(column: Column) -> bool:
    return not column.number


def _total(widths: Sequence[int], gap: int = _NARROW_GAP) -> int:
    return sum(widths) + gap * (len(widths) - 1)
