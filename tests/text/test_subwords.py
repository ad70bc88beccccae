from dataclasses import replace

import numpy as np
import pytest
from made import make_vocabulary

from prism_mt._core.errors import PrismError
from prism_mt.text.subwords import Vocabulary
from prism_mt.text.unigram import Specials, unigram_model


@pytest.fixture(scope="module")
def plain() -> Vocabulary:
    return make_vocabulary()


@pytest.fixture(scope="module")
def listed(plain: Vocabulary) -> Vocabulary:
    """The same pieces under other ids, without the last one."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *reversed([plain.piece(i) for i in range(9, len(plain))][:-1])]
    return Vocabulary(plain.sentencepiece, tuple(pieces))


def test_ids_are_sentencepieces_own_or_the_dictionarys(plain: Vocabulary, listed: Vocabulary) -> None:
    text = "Hello world! комитет, 今天."
    assert [plain.piece(i) for i in plain.encode(text)] == plain.processor.encode(text, out_type=str)
    known = [piece for piece in plain.processor.encode(text, out_type=str) if piece in listed.ids]
    assert [listed.piece(i) for i in listed.encode(text) if i != listed.unknown] == known
    assert len(listed) == len(plain) - 6


def test_decode_gives_the_text_back(plain: Vocabulary, listed: Vocabulary) -> None:
    text = "She bought three red apples."
    assert plain.decode(plain.encode(text)) == text
    assert listed.decode(listed.encode(text)) == text


def test_unknown_pieces(plain: Vocabulary, listed: Vocabulary) -> None:
    lost = plain.piece(len(plain) - 1)
    assert lost not in listed.ids
    assert listed.encode("ɸ")[-1] == listed.unknown == 3


def test_the_first_of_equal_pieces_wins(plain: Vocabulary) -> None:
    twice = Vocabulary(plain.sentencepiece, ("▁a", "▁b", "▁a"))
    assert twice.ids["▁a"] == 0


def test_white_space_in_a_piece_separates_words_of_a_dictionary(listed: Vocabulary) -> None:
    # SentencePiece keeps U+0085 as a piece of its own; a dictionary of words cannot have it.
    text = "Hello\x85world"
    assert listed.unknown in listed.encode(text)
    assert listed.unknown not in replace(listed, words=True).encode(text)


def test_a_damaged_model() -> None:
    with pytest.raises(PrismError, match="SentencePiece model is damaged"):
        Vocabulary(b"nonsense").encode("text")


def test_pieces_that_are_not_text() -> None:
    pieces = [b"<s>", b"<pad>", b"</s>", b"<unk>", "▁".encode(), b"\xff", b"a"]
    model = unigram_model(pieces, np.zeros(len(pieces), dtype=np.float32), Specials(0, 1, 2, 3))
    with pytest.raises(PrismError, match="a piece that is not UTF-8"):
        Vocabulary(model).piece(5)
    assert Vocabulary(model).piece(6) == "a"
