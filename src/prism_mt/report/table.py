"""One table for all commands: typed values in, text, TSV, JSON, LaTeX or Markdown out."""

import io
import json
import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Value = str | int | float | None
Align = Literal["left", "right", "center"]
Format = Literal["text", "tsv", "json", "latex", "markdown"]

MISSING = "—"
# Wide enough that rich never breaks a line when the output is a file or a pipe.
_UNLIMITED = 100_000
# Stands in for a space after a number: rich would cut off an ordinary one.
_PAD = "\ue000"


@dataclass(frozen=True)
class Column:
    """A column's title and how its numbers are printed (a format specification such as `.3f`)."""

    title: str
    number: str = ""
    align: Align = "left"


def number(title: str, digits: int = 3) -> Column:
    """A right-aligned column of numbers with so many decimals."""
    return Column(title, f".{digits}f", "right")


@dataclass(frozen=True)
class Table:
    """Rows of values under columns; `bold` holds the (row, column) positions of the values to stand out.

    None and NaN are missing values: a dash for readers, empty in TSV, null in JSON. `notes` are printed below.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    caption: str = ""
    bold: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} values under {len(self.columns)} columns: {row}")


def is_missing(value: Value) -> bool:
    """Whether a value is None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def format_value(value: Value, column: Column) -> str:
    """The value as a reader sees it; numbers in the column's format, text as it is."""
    if value is None or is_missing(value):
        return MISSING
    if isinstance(value, str) or not column.number:
        return str(value)
    text = format(value, column.number)
    # A tiny negative number must not be printed as "-0.000".
    return text.lstrip("-") if text.startswith("-") and float(text.rstrip("%") or 0) == 0 else text


def render(table: Table, format: Format = "text", width: int | None = None) -> str:
    """The table as a string that ends in a newline; `width` (characters) is used by `text` only."""
    if format == "text":
        return to_text(table, width)
    return _RENDERERS[format](table)


def render_all(tables: Sequence[Table], format: Format = "text", width: int | None = None) -> str:
    """Several tables in one document: a JSON list, otherwise one below the other."""
    if format == "json":
        return json.dumps([as_dict(table) for table in tables], ensure_ascii=False, indent=1) + "\n"
    return "\n".join(render(table, format, width) for table in tables)


def to_text(table: Table, width: int | None = None) -> str:
    """For a terminal: bold values carry a star, so that they stand out in a pipe, too."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    rich_table = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    starred = {column for _, column in table.bold}
    for index, column in enumerate(table.columns):
        # The title makes room for the star, so that numbers stay below it.
        title = _printable(column.title) + (_PAD if index in starred and column.align == "right" else "")
        rich_table.add_column(Text(title), justify=column.align, overflow="fold")
    for r, row in enumerate(table.rows):
        cells = []
        for c, value in enumerate(row):
            text = _printable(format_value(value, table.columns[c]))
            if c in starred:
                text += "*" if (r, c) in table.bold else _PAD
            cells.append(Text(text))
        rich_table.add_row(*cells)
    buffer = io.StringIO()
    console = Console(file=buffer, width=width or _UNLIMITED, color_system=None, legacy_windows=False)
    console.print(rich_table)
    lines = [line.replace(_PAD, " ").rstrip() for line in buffer.getvalue().split("\n")[:-1]]
    caption = [_printable(table.caption), ""] if table.caption else []
    return "\n".join([*caption, *lines, *map(_printable, table.notes)]) + "\n"


def to_tsv(table: Table) -> str:
    """For programs: all digits, a header line, a caption as a comment."""

    def plain(value: Value) -> str:
        return "" if is_missing(value) else _printable(str(value))

    caption = [f"# {_printable(table.caption)}"] if table.caption else []
    header = "\t".join(_printable(column.title) for column in table.columns)
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
    """Language pairs, or test sets where several have the same one."""
    pairs = [result.pair for result in results]
    return pairs if len(set(pairs)) == len(pairs) else [result.place for result in results]


def unique(titles: Sequence[str]) -> list[str]:
    """Titles as keys: what comes again gets a number."""
    found: list[str] = []
    for title in titles:
        key, number = title, 1
        while key in found:
            number += 1
            key = f"{title} ({number})"
        found.append(key)
    return found


def as_dict(table: Table) -> dict[str, object]:
    """The table as JSON values: rows are objects with the columns' titles as keys."""
    titles = unique([column.title for column in table.columns])
    return {
        "caption": table.caption,
        "columns": titles,
        "rows": [
            {title: None if is_missing(value) else value for title, value in zip(titles, row, strict=True)}
            for row in table.rows
        ],
        "bold": [{"row": r, "column": titles[c]} for r, c in sorted(table.bold)],
        "notes": list(table.notes),
    }


def to_json(table: Table) -> str:
    """One JSON object."""
    return json.dumps(as_dict(table), ensure_ascii=False, indent=1) + "\n"


def to_latex(table: Table) -> str:
    """A `table` environment with booktabs rules; all text is escaped."""
    letters = "".join(column.align[0] for column in table.columns)
    lines = ["\\begin{table}", "\\centering", f"\\begin{{tabular}}{{{letters}}}", "\\toprule"]
    lines.append(" & ".join(escape_latex(column.title) for column in table.columns) + " \\\\")
    lines.append("\\midrule")
    for r, row in enumerate(table.rows):
        cells = [_latex_cell(value, table.columns[c], (r, c) in table.bold) for c, value in enumerate(row)]
        lines.append(" & ".join(cells) + " \\\\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    caption = ". ".join(text for text in (table.caption, *table.notes) if text)
    if caption:
        lines.append(f"\\caption{{{escape_latex(caption)}}}")
    return "\n".join([*lines, "\\end{table}"]) + "\n"


def to_markdown(table: Table) -> str:
    """A table of GitHub's Markdown."""
    rules = {"left": ":---", "right": "---:", "center": ":---:"}
    lines = [f"**{_escape_markdown(table.caption)}**", ""] if table.caption else []
    lines.append("| " + " | ".join(_escape_markdown(column.title) for column in table.columns) + " |")
    lines.append("| " + " | ".join(rules[column.align] for column in table.columns) + " |")
    for r, row in enumerate(table.rows):
        cells = [_escape_markdown(format_value(value, table.columns[c])) for c, value in enumerate(row)]
        cells = [f"**{cell}**" if (r, c) in table.bold else cell for c, cell in enumerate(cells)]
        lines.append("| " + " | ".join(cells) + " |")
    notes = [line for note in table.notes for line in ("", _escape_markdown(note))]
    return "\n".join([*lines, *notes]) + "\n"


_LATEX = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    MISSING: "---",
    **{character: f"\\{character}" for character in "{}$&#_%"},
}


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(character, character) for character in _printable(text))


def _latex_cell(value: Value, column: Column, bold: bool) -> str:
    text = escape_latex(format_value(value, column))
    if isinstance(value, int | float) and text.startswith("-") and not is_missing(value):
        text = f"${text}$" if not bold else f"$\\mathbf{{{text}}}$"
    elif bold:
        text = f"\\textbf{{{text}}}"
    return text


def _escape_markdown(text: str) -> str:
    escaped = "".join(f"\\{character}" if character in "\\`*_|<>[]" else character for character in text)
    return _printable(escaped)


def _printable(text: str) -> str:
    """Text in one line: line breaks and tabs become spaces, other control characters a mark."""
    spaced = " ".join(text.splitlines()).replace("\t", " ")
    return "".join("�" if unicodedata.category(character) == "Cc" else character for character in spaced)


_RENDERERS: dict[Format, Callable[[Table], str]] = {
    "text": to_text,
    "tsv": to_tsv,
    "json": to_json,
    "latex": to_latex,
    "markdown": to_markdown,
}
