"""Byte-pair encoding as fastBPE applies it."""

from pathlib import Path

import pytest

from prism_mt.encoders.bpe import PairEncoding

CODES = "l o 9\nlo w</w> 8\ne r</w> 7\nlo w 6\nlow er</w> 5\n"


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("low", ("low",)),
        ("lower", ("lower",)),
        ("slow", ("s@@", "low")),
        ("lowlow", ("low@@", "low")),
        ("x", ("x",)),
        ("er", ("er",)),
        ("ere", ("e@@", "r@@", "e")),
    ],
)
def test_merges_in_the_order_of_the_codes(tmp_path: Path, word: str, pieces: tuple[str, ...]) -> None:
    (tmp_path / "codes").write_text(CODES, "utf-8")
    assert PairEncoding(tmp_path / "codes").split(word) == pieces


def test_pieces_outside_the_vocabulary_are_taken_apart(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text(CODES, "utf-8")
    assert PairEncoding(tmp_path / "codes", ["low@@", "er"]).split("lower") == ("low@@", "er")
    assert PairEncoding(tmp_path / "codes", ["lo@@", "w@@", "r"]).split("lower") == ("lo@@", "w@@", "e@@", "r")
