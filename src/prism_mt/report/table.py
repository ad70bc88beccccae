"""Tables for all commands: typed values in, text, TSV, JSON, LaTeX or Markdown out."""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from prism_mt._core.terminal import printable

Value = str | int | float | None
Align = Literal["left", "right", "center"]
Format = Literal["text", "tsv", "json", "latex", "markdown"]

MISSING = "—"
_P = "p"
"""The format of p-values, before the least that is printed."""
_SMALL = 0.001
"""Smaller p-values are printed as less than this: more digits would be noise of the draws."""


@dataclass(frozen=True)
class Column:
    """A column's title and number format (a format specification such as `.3f`)."""

    title: str
    number: str = ""
    align: Align = "left"
    key: str = ""
    """In JSON, if other than the title."""


def number(title: str, digits: int = 3) -> Column:
    """A right-aligned column of numbers with this many decimals."""
    return Column(title, f".{digits}f", "right")


def p_value(title: str = "p", draws: int | None = None) -> Column:
    """A column of p-values, printed as papers do: .039, <.001; so few draws cannot show less than one of them."""
    return Column(title, f"{_P}{max(_SMALL, 1 / draws) if draws else _SMALL:.3f}", "right")


def keyed(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Give headings keys for programs: `p_value` for p, `all_tied` for "all tied". Not for titles that are data."""
    usual = {"p": "p_value", "low": "ci_low", "high": "ci_high"}
    return tuple(replace(one, key=one.key or usual.get(one.title) or _snake(one.title)) for one in columns)


def _snake(title: str) -> str:
    words = title.lower().replace("%", "percent").replace("×", "times").replace("/s", " per second")
    return re.sub(r"[^a-z0-9]+", "_", words).strip("_")


def format_p(value: float, least: float = _SMALL) -> str:
    """Write a p-value without its leading zero, and nothing below the least that makes sense."""
    return f"<{_short(least)}" if value < least else _short(value)


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


@dataclass(frozen=True)
class Table:
    """Rows of values under columns; `bold` holds the (row, column) positions of the values to emphasize.

    None and NaN are missing values: a dash for readers, empty in TSV, null in JSON. `notes` are printed below, as are
    `signatures`, which say how the numbers were computed and are not part of a caption.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    caption: str = ""
    bold: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    notes: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    mark: str = "*"
    """Follows bold values in text: `*` always means a significant difference; groups of the best have another mark."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} values under {len(self.columns)} columns: {row}")


def is_missing(value: Value) -> bool:
    """Whether a value is None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def format_value(value: Value, column: Column) -> str:
    """Format a value for readers; numbers in the column's format, text unchanged."""
    if value is None or is_missing(value):
        return MISSING
    if isinstance(value, str) or not column.number:
        return str(value)
    if column.number.startswith(_P):
        return format_p(value, float(column.number.removeprefix(_P)))
    text = format(value, column.number)
    # A tiny negative number must not be printed as "-0.000".
    return text.lstrip("-") if text.startswith("-") and float(text.rstrip("%") or 0) == 0 else text


def render(table: Table, format: Format = "text", width: int | None = None) -> str:
    """Render the table as a string that ends in a newline; only `text` uses `width` (characters)."""
    if format == "text":
        from prism_mt.report.text_table import to_text

        return to_text(table, width)
    if format == "latex":
        from prism_mt.report.latex import to_latex

        return to_latex(table)
    return {"tsv": to_tsv, "json": to_json, "markdown": to_markdown}[format](table)


def render_all(tables: Sequence[Table], format: Format = "text", width: int | None = None) -> str:
    """Render several tables in one document: a JSON list, otherwise one below the other."""
    if format == "json":
        return json.dumps([as_dict(table) for table in tables], ensure_ascii=False, indent=1) + "\n"
    return "\n".join(render(table, format, width) for table in tables)


def to_tsv(table: Table) -> str:
    """Render for programs: all digits, a header line, the caption as a comment."""

    def plain(value: Value) -> str:
        return "" if is_missing(value) else printable(str(value))

    caption = [f"# {printable(table.caption)}"] if table.caption else []
    header = "\t".join(printable(column.title) for column in table.columns)
    return "\n".join([*caption, header, *("\t".join(map(plain, row)) for row in table.rows)]) + "\n"


class Placed(Protocol):
    """A result on one test set."""

    @property
    def place(self) -> str:
        """Test set and language pair."""

    @property
    def pair(self) -> str:
        """The language pair."""


def titles(results: Sequence[Placed]) -> list[str]:
    """Language pairs, or test sets if several have the same pair."""
    pairs = [result.pair for result in results]
    return pairs if len(set(pairs)) == len(pairs) else [result.place for result in results]


def unique(titles: Sequence[str]) -> list[str]:
    """Titles as keys: repeated ones get a number."""
    found: list[str] = []
    for title in titles:
        key, number = title, 1
        while key in found:
            number += 1
            key = f"{title} ({number})"
        found.append(key)
    return found


def as_dict(table: Table) -> dict[str, object]:
    """The table as JSON values: rows are objects with the keys of the columns, or their titles."""
    keys = unique([column.key or column.title for column in table.columns])
    return {
        "caption": table.caption,
        "columns": keys,
        "rows": [
            {key: None if is_missing(value) else value for key, value in zip(keys, row, strict=True)}
            for row in table.rows
        ],
        "bold": [{"row": r, "column": keys[c]} for r, c in sorted(table.bold)],
        "notes": list(table.notes),
        "signatures": list(table.signatures),
    }


def to_json(table: Table) -> str:
    """One JSON object."""
    return json.dumps(as_dict(table), ensure_ascii=False, indent=1) + "\n"


def to_markdown(table: Table) -> str:
    """Render as GitHub Markdown."""
    rules = {"left": ":---", "right": "---:", "center": ":---:"}
    lines = [f"**{_escape_markdown(table.caption)}**", ""] if table.caption else []
    lines.append("| " + " | ".join(_escape_markdown(column.title) for column in table.columns) + " |")
    lines.append("| " + " | ".join(rules[column.align] for column in table.columns) + " |")
    for r, row in enumerate(table.rows):
        cells = [_escape_markdown(format_value(value, table.columns[c])) for c, value in enumerate(row)]
        cells = [f"**{cell}**" if (r, c) in table.bold else cell for c, cell in enumerate(cells)]
        lines.append("| " + " | ".join(cells) + " |")
    notes = [line for note in (*table.notes, *table.signatures) for line in ("", _escape_markdown(note))]
    return "\n".join([*lines, *notes]) + "\n"


def _escape_markdown(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\`*_|<>[]" else character for character in printable(text))
