"""The copy penalty by hand: which pieces cost how much, in both forms, and that a search obeys it."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from written import Written

from prism_mt.generate.base import Symbols
from prism_mt.generate.beam import beam_search
from prism_mt.generate.copy_penalty import Copying, CopyPenalty, CopyTable, History, begins_word
from prism_mt.generate.options import SearchConfig
from prism_mt.text.subwords import Vocabulary

PIECES = ("</s>", "▁the", "▁cat", "▁ca", "t", "s", "▁Cat", "▁sat", "▁dog", "猫", "猫咪", "坐", "▁", "▁THE")
END, THE, CAT, CA, T, S, BIG_CAT, SAT, DOG, MAO, MAOMI, ZUO, SPACE, BIG_THE = range(len(PIECES))
VOCABULARY = Vocabulary(b"", PIECES)


def penalty(**options: Any) -> CopyPenalty:
    return CopyPenalty(VOCABULARY, VOCABULARY, SearchConfig(method="penalty", **options))


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("▁the", True),
        ("t", False),
        ("▁", True),
        ("", False),
        ("猫咪", True),
        ("こ", True),
        (".", False),
        ("ก", True),
    ],
)
def test_where_words_begin(piece: str, expected: bool) -> None:
    assert begins_word(piece) is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # "the cats": the second word is ▁cats, which ▁cat, ▁ca, ▁Cat and ▁ start; "t" and "s" start no word.
        (
            [THE, CA, T, S],
            {(): [THE, CAT, CA, BIG_CAT, SPACE, BIG_THE], ("▁the",): [CAT, CA, BIG_CAT, SPACE]},
        ),
        ([SAT], {(): [SAT, SPACE]}),
        # Without spaces every piece is a word.
        ([MAOMI, ZUO], {(): [MAO, MAOMI, ZUO], ("猫咪",): [ZUO]}),
        ([], {}),
    ],
)
def test_which_pieces_start_the_words_of_an_input(source: list[int], expected: CopyTable) -> None:
    assert penalty().table(source) == expected


def test_contexts_have_at_most_three_words() -> None:
    table = penalty().table([THE, CAT, SAT, DOG, THE])
    assert max(map(len, table)) == 3
    assert table["▁cat", "▁sat", "▁dog"] == [THE, SPACE, BIG_THE]
    assert table[("▁the",)] == [CAT, CA, BIG_CAT, SPACE]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], ()),
        ([BIG_THE, CA, T], ("▁the", "▁cat")),
        ([THE, CAT, SAT, DOG, S], ("▁cat", "▁sat", "▁dogs")),
        ([T, THE], ("t", "▁the")),
    ],
)
def test_words_of_a_hypothesis(tokens: Sequence[int], expected: History) -> None:
    history: History = ()
    for token in tokens:
        history = penalty().extend(history, token)
    assert history == expected


PROBABILITY = 0.1
A, POWER = 0.006, 4.0


def apply(form: str, history: History) -> list[float]:
    """Penalized log-probabilities where all pieces have probability 0.1 and the input is "the cat sat"."""
    made = penalty(penalty_form=form)
    scores = torch.full((1, len(PIECES)), math.log(PROBABILITY), dtype=torch.float64)
    scores[0, DOG] = float("-inf")
    result: list[float] = made.apply(scores, [made.table([THE, CAT, SAT])], [history])[0].tolist()
    return result


def test_subtracting_by_hand() -> None:
    # After "the cat": ▁sat starts a word of the input (n = 1: 0.006), of its bigram "cat sat" (n = 2: 0.006 · 16) and
    # of its trigram (n = 3: 0.006 · 81); ▁cat, ▁the only a word; ▁ starts every word and so costs as much as ▁sat.
    scores = apply("subtract", ("▁the", "▁cat"))
    log = math.log(0.1)
    assert scores[SAT] == pytest.approx(log - 0.006 * (1 + 16 + 81))
    assert scores[SPACE] == pytest.approx(log - 0.006 * (1 + 16 + 81))
    assert scores[CAT] == scores[BIG_CAT] == scores[THE] == pytest.approx(log - 0.006)
    assert scores[END] == scores[T] == scores[MAO] == pytest.approx(log)
    assert scores[DOG] == float("-inf")
    # After other words only single words cost.
    assert apply("subtract", ("▁the", "▁dog"))[SAT] == pytest.approx(log - 0.006)


def test_averaging_by_hand() -> None:
    scores = apply("average", ("▁the", "▁cat"))
    assert scores[SAT] == pytest.approx(math.log((0.1 + math.exp(-0.588)) / 2))
    assert scores[THE] == pytest.approx(math.log((0.1 + math.exp(-0.006)) / 2))
    assert scores[END] == pytest.approx(math.log((0.1 + 1) / 2))
    assert scores[DOG] == float("-inf")  # what is impossible stays so


@pytest.mark.parametrize(("scale", "expected"), [(0.0, (THE, CAT)), (1.0, (SAT, DOG))])
def test_a_search_avoids_its_input(scale: float, expected: tuple[int, ...]) -> None:
    def row(**values: float) -> list[float]:
        names = {"THE": THE, "CAT": CAT, "SAT": SAT, "DOG": DOG, "END": END}
        table = [1e-9] * (len(PIECES) - 1)  # Written adds one more
        for name, value in values.items():
            table[names[name]] = value
        return table

    # The input is "the cat". With scale 1 "the" costs 1: ln .6 - 1 is below ln .3.
    stepper = Written(
        {
            (): row(THE=0.6, SAT=0.3),
            (THE,): row(CAT=0.9, DOG=0.1),
            (SAT,): row(CAT=0.6, DOG=0.4),
            (THE, CAT): row(END=0.9),
            (SAT, DOG): row(END=0.9),
        }
    )
    made = penalty(penalty_scale=scale)
    config = SearchConfig(method="penalty", beam=1, length_penalty=0.0)
    copying = Copying(made, [made.table([THE, CAT])])
    [[found]] = beam_search(stepper, torch.tensor([[DOG]]), [6], Symbols(END, []), config, copying)
    assert found.pieces == expected
    assert found.complete
