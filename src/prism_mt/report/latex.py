"""Tables for papers: LaTeX with booktabs, ready to be pasted."""

import re

from prism_mt._core.terminal import printable
from prism_mt.report.table import MISSING, Column, Table, Value, format_value, is_missing

_SPECIAL = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    MISSING: "---",
    "–": "--",
    "−": "$-$",
    "×": "$\\times$",
    "±": "$\\pm$",
    "≤": "$\\leq$",
    "≥": "$\\geq$",
    "≠": "$\\neq$",
    "∆": "$\\Delta$",
    "τ": "$\\tau$",
    "→": "$\\rightarrow$",
    "·": "$\\cdot$",
    "▁": "\\_",
    "…": "\\dots{}",
    "\u00a0": "~",
    **{character: f"\\{character}" for character in "{}$&#_%"},
}
_RELATIONS = {"\\textless{}": "<", "\\textgreater{}": ">", "$\\leq$": "\\leq", "$\\geq$": "\\geq"}
_STATEMENT = re.compile(rf"\bp (=|{'|'.join(map(re.escape, _RELATIONS))}) (\d*\.\d+)")
_WIDE = 68
"""Characters in a line of a table that is wider than the text of an article in ten points."""
_LONG = 12
"""Characters of a title that may stand in two lines of a wide table."""


def to_latex(table: Table) -> str:
    """A `table` environment with booktabs rules; all text is escaped.

    The caption explains the mark. Signatures are comments above: they are for readers of the source.
    """
    letters = "".join(column.align[0] for column in table.columns)
    lines = [f"% {printable(signature)}" for signature in table.signatures]
    lines += ["\\begin{table}", "\\centering"]
    wide = _characters(table) > _WIDE
    if wide:
        lines += ["\\small", "\\setlength{\\tabcolsep}{3pt}"]
    lines += [f"\\begin{{tabular}}{{{letters}}}", "\\toprule"]
    lines += [" & ".join(_title(column, wide) for column in table.columns) + " \\\\", "\\midrule"]
    for r, row in enumerate(table.rows):
        cells = [_cell(value, table.columns[c], (r, c) in table.bold) for c, value in enumerate(row)]
        lines.append(" & ".join(cells) + " \\\\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    caption = " ".join(_sentence(text) for text in (table.caption, *table.notes) if text)
    if caption:
        lines.append(f"\\caption{{{caption}}}")
    return "\n".join([*lines, "\\end{table}"]) + "\n"


def escape_latex(text: str) -> str:
    """Escape text for LaTeX; statements such as `p < .05` are formulas."""
    escaped = "".join(_SPECIAL.get(character, character) for character in printable(text))
    return _STATEMENT.sub(lambda found: f"$p {_RELATIONS.get(found[1], found[1])} {found[2]}$", escaped)


def _title(column: Column, wide: bool) -> str:
    """A title; where room is short, a long one of several words stands in two lines."""
    words = column.title.split()
    if not wide or len(words) < 2 or len(column.title) < _LONG:
        return escape_latex(column.title)
    cut = min(
        range(1, len(words)), key=lambda place: max(len(" ".join(words[:place])), len(" ".join(words[place:])))
    )
    first, second = (escape_latex(" ".join(part)) for part in (words[:cut], words[cut:]))
    return f"\\shortstack[{column.align[0]}]{{{first}\\\\{second}}}"


def _characters(table: Table) -> int:
    """Width of a line in characters; two and a bit fit between columns."""
    columns = zip(*([*map(format_value, row, table.columns)] for row in table.rows), strict=True)
    cells = list(columns) or [()] * len(table.columns)
    return sum(
        2 + max(map(len, (column.title, *texts))) for column, texts in zip(table.columns, cells, strict=True)
    )


def _sentence(text: str) -> str:
    if text.startswith(("* ", "† ")):  # the mark of a number on a terminal; here it is bold
        text = f"Bold: {text[2:]}"
    if not text.split()[0].endswith(":"):  # such as "bleu:", a name
        text = text[:1].upper() + text[1:]
    written = escape_latex(text)
    return written if written.endswith((".", "!", "?")) else f"{written}."


def _cell(value: Value, column: Column, bold: bool) -> str:
    text = format_value(value, column)
    if isinstance(value, int | float) and text[:1] in "-<" and not is_missing(value):
        # A hyphen is not a minus sign, and < only works in math mode.
        return f"$\\mathbf{{{text}}}$" if bold else f"${text}$"
    text = escape_latex(text)
    return f"\\textbf{{{text}}}" if bold else text
