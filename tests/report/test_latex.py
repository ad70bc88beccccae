"""Tables for papers, compiled where there is a LaTeX."""

import shutil
import subprocess
from pathlib import Path

import pytest

from prism_mt.report.latex import escape_latex, to_latex
from prism_mt.report.table import Column, Table, number, p_value

TABLE = Table(
    columns=(Column("system"), number("BLEU", 1), number("− A", 1), p_value()),
    rows=(("A_1 | x", 31.25, None, None), ("B", 28.0, -3.25, 0.0002), ("C", 30.0, -1.25, 0.0391)),
    caption="3 systems by BLEU, 50 % of the segments",
    bold=frozenset({(1, 3), (2, 1), (2, 3)}),
    notes=("* p < 0.05, paired bootstrap",),
    signatures=("bleu|tok:13a|100%",),
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("p < 0.05", "$p < 0.05$"),
        ("both are worse (p ≤ .041)", "both are worse ($p \\leq .041$)"),
        ("p = .10, x < 3", "$p = .10$, x \\textless{} 3"),
        ("p of every pair", "p of every pair"),
    ],
)
def test_p_values_are_formulas(text: str, written: str) -> None:
    assert escape_latex(text) == written


def test_a_table_to_paste() -> None:
    assert (
        to_latex(TABLE)
        == """% bleu|tok:13a|100%
\\begin{table}
\\centering
\\begin{tabular}{lrrr}
\\toprule
system & BLEU & $-$ A & p \\\\
\\midrule
A\\_1 \\textbar{} x & 31.2 & --- & --- \\\\
B & 28.0 & $-3.2$ & $\\mathbf{<.001}$ \\\\
C & \\textbf{30.0} & $-1.2$ & \\textbf{.039} \\\\
\\bottomrule
\\end{tabular}
\\caption{3 systems by BLEU, 50 \\% of the segments. Bold: $p < 0.05$, paired bootstrap.}
\\end{table}
"""
    )


def test_special_characters_are_all_escaped() -> None:
    assert escape_latex("\\{}$&#_%~^") == (
        "\\textbackslash{}\\{\\}\\$\\&\\#\\_\\%\\textasciitilde{}\\textasciicircum{}"
    )


def test_a_signature_cannot_leave_its_comment() -> None:
    lines = to_latex(Table((Column("a"),), (("b",),), signatures=("one\ntwo",))).splitlines()
    assert lines[0] == r"% one\ntwo"


WIDE = Table(
    columns=(
        Column("system"),
        *(number(title, 3) for title in ("prism-ref", "95 % from", "to", "− baseline", "p", "wins")),
    ),
    rows=(("A", *[-1.5] * 6), ("Ü–ï ≥ τ → ▁x · 5 %", *[0.5] * 6)),
    notes=("† {100 %} of $5 & more_than #3 ~ ^ \\ | < > × ± ≤ ≠ ∆ …",),
)


def test_a_wide_table_is_set_smaller() -> None:
    assert "\\small\n\\setlength{\\tabcolsep}{3pt}\n\\begin{tabular}" in to_latex(WIDE)
    assert "\\small" not in to_latex(TABLE)
    assert "\\small" not in to_latex(Table((Column("a"),), ()))


def test_long_headings_of_a_wide_table_have_two_lines() -> None:
    columns = (
        *(Column(f"column {n}") for n in range(8)),
        Column("tau-b in the segments", align="right"),
        Column("a_b c"),
    )
    written = to_latex(Table(columns, (tuple("x" for _ in columns),), "bleu: all"))
    assert "& column 7 & \\shortstack[r]{tau-b in\\\\the segments} & a\\_b c \\\\" in written
    assert "\\caption{bleu: all.}" in written
    assert "shortstack" not in to_latex(Table((Column("tau-b in the segments"),), (("x",),)))


def test_the_tables_compile(tmp_path: Path) -> None:
    if not shutil.which("pdflatex"):
        pytest.skip("no pdflatex on this machine")
    text = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    (tmp_path / "paper.tex").write_text(
        f"{text}{to_latex(TABLE)}{to_latex(WIDE)}\\end{{document}}\n", encoding="utf-8"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
    )
    log = (tmp_path / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, log[-3000:]
    assert "Overfull" not in log
    assert "Missing character" not in log
