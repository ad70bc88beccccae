import pytest

from prism_mt.metrics.spans.units import find_units, matching_pieces, piece_spans


@pytest.mark.parametrize(
    ("text", "pieces", "words"),
    [
        ("Hello, world!", ["▁Hel", "lo", ",", "▁world", "!"], ["Hel", "lo", ",", "world", "!"]),
        ("a  ﬁsh", ["▁a", "▁fi", "sh"], ["a", "ﬁ", "sh"]),  # normalized: two spaces, a ligature
        ("北京 ok", ["▁", "北京", "▁ok"], ["", "北京", "ok"]),
        ("x", [], []),
    ],
)
def test_pieces_find_their_characters(text: str, pieces: list[str], words: list[str]) -> None:
    assert [text[start:end] for start, end in piece_spans(text, pieces)] == words


def test_units_are_words_or_pieces() -> None:
    found = find_units("“Hel lo”, re-do it.", ["▁“", "Hel", "▁lo", "”,", "▁re", "-", "do", "▁it", "."], "en")
    assert [unit.pieces for unit in found] == [(1,), (2,), (4, 5, 6), (7,)]
    assert [("“Hel lo”, re-do it."[unit.start : unit.end]) for unit in found] == ["Hel", "lo", "re-do", "it"]
    found = find_units("我在北京。", ["▁我", "在", "北京", "。"], "zh")
    assert [unit.pieces for unit in found] == [(0,), (1,), (2,)]


def test_pieces_of_two_vocabularies() -> None:
    text = "Hello, big world"
    ours = piece_spans(text, ["▁Hel", "lo", ",", "▁", "big", "▁world"])
    others = piece_spans(text, ["▁Hello", ",", "▁b", "ig", "▁wor", "ld"])
    assert matching_pieces(ours, others) == [(0, 1), (0, 1), (1, 2), (2, 3), (2, 4), (4, 6)]
    assert matching_pieces(ours, []) == [(0, 1)] * 6
