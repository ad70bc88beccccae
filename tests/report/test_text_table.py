"""Tables for a terminal."""

from prism_mt.report.table import Column, Table, number, p_value, render
from prism_mt.report.text_table import wrap_sentence

TABLE = Table(
    columns=(Column("metric"), number("tau", 3), number("n", 0)),
    rows=(("A_1 | x", 0.12345, 10), ("B", -0.2, None), ("C", float("nan"), 3)),
    caption="en-de: 50%",
    bold=frozenset({(0, 1)}),
    notes=("a note",),
    signatures=("metric|version:1",),
)
WIDE = Table(
    columns=(
        Column("rank", "d", "right"),
        Column("system"),
        *(number(f"column {i}", 4) for i in range(8)),
        p_value(),
    ),
    rows=tuple((i, f"a system with a long name {i}", *(-12.34567 - i,) * 8, 0.5) for i in range(3)),
    bold=frozenset({(1, 10)}),
)


def test_text_stars_the_bold_value_and_keeps_the_columns_aligned() -> None:
    lines = render(TABLE).splitlines()
    assert lines[0] == "en-de: 50%"
    assert [line for line in lines if line.startswith("A_1")] == ["A_1 | x    0.123*   10"]
    assert [line for line in lines if line.startswith("B")] == ["B         -0.200     —"]
    assert lines[-2:] == ["a note", "metric|version:1"]


def test_numbers_stay_whole_however_narrow_the_terminal_is() -> None:
    for width in (30, 60, 80, 100):
        text = render(WIDE, width=width)
        assert max(map(len, text.splitlines())) <= width
        for system in range(3):
            assert text.count(f"{-12.34567 - system:.4f}") == 8
        assert (text.count(".500*"), text.count(".500")) == (1, 3)


def test_titles_are_folded_before_a_table_is_cut() -> None:
    one, several = render(WIDE, width=120), render(WIDE, width=60)
    assert one.count("system") == 1 + 3  # a title, and a name per row
    assert several.count("─\n") > 1
    assert len(render(WIDE).splitlines()) == 5  # a pipe has room


def test_width_folds_long_text_without_losing_any() -> None:
    text = render(Table((Column("a"),), (("word " * 30,),)), "text", width=40)
    assert max(map(len, text.splitlines())) <= 40
    assert text.count("word") == 30


def test_names_are_broken_after_punctuation() -> None:
    names = (("sentinel-hyp-length", 1), ("a[lowercase=True,tokenize=x]", 3))
    lines = render(Table((Column("metric"), number("a number", 0)), names), width=28).splitlines()
    assert [line.split()[0] for line in lines[2:]] == [
        *("sentinel-hyp-", "length"),
        *("a[lowercase=True,", "tokenize=x]"),
    ]


def test_sentences_are_broken_but_not_statements_about_p() -> None:
    text = "C and A cannot be told apart (p = .051); both are better than B (p < .001)."
    for width in range(20, 80):
        broken = wrap_sentence(text, width)
        assert "p = .051" in broken
        assert "p < .001" in broken
        assert broken.replace("\n", " ") == text
    assert wrap_sentence(text, None) == text
