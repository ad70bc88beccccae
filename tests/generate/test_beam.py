"""Beam search on a model whose probabilities are written down: diverse groups and the copy penalty by hand."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from written import END, START, TINY, A, B, C, Written

from prism_mt.generate.base import Found, Symbols
from prism_mt.generate.beam import beam_search
from prism_mt.generate.options import SearchConfig

# Probabilities of END, A, B, C after what has been generated.
PROBABILITIES: dict[tuple[int, ...], tuple[float, float, float, float]] = {
    (): (TINY, 0.5, 0.3, 0.2),
    (A,): (TINY, 0.1, 0.6, 0.3),
    (B,): (TINY, 0.25, 0.3, 0.45),
    (C,): (TINY, 0.2, 0.4, 0.4),
    (A, B): (0.9, 0.04, 0.03, 0.03),
    (A, C): (0.7, 0.1, 0.1, 0.1),
    (B, B): (0.5, 0.2, 0.2, 0.1),
    (B, C): (0.8, 0.1, 0.05, 0.05),
    (B, A): (0.6, 0.2, 0.1, 0.1),
    (C, A): (0.8, 0.1, 0.06, 0.04),
}


def search(
    limits: Sequence[int] = (8,), forbidden: Sequence[int] = (START,), length_penalty: float = 0.0, **options: Any
) -> list[list[Found]]:
    prefixes = torch.tensor([[START]] * len(limits))
    config = SearchConfig(length_penalty=length_penalty, **options)
    return beam_search(Written(PROBABILITIES), prefixes, limits, Symbols(END, forbidden), config)


def assert_finds(found: Sequence[Found], expected: Sequence[tuple[tuple[int, ...], float]]) -> None:
    assert [one.pieces for one in found] == [pieces for pieces, _ in expected]
    assert [one.score for one in found] == pytest.approx([score for _, score in expected], abs=1e-6)


def test_greedy_search_takes_the_best_of_each_step() -> None:
    [found] = search(beam=1)
    assert_finds(found, [((A, B), math.log(0.5 * 0.6 * 0.9))])


def test_a_beam_of_two() -> None:
    # Step 1: A .5, B .3. Step 2: AB .30, AC .15 (BC has .135). Step 3: AB ends with .27, AC with .105; the others
    # (ABA .012) are below both.
    [found] = search(beam=2, length_penalty=1.0)
    assert_finds(found, [((A, B), math.log(0.27) / 3), ((A, C), math.log(0.105) / 3)])


def test_diverse_groups_by_hand() -> None:
    # Two groups of one beam, strength 1: the two best candidates of group 1 cost 1 each, whatever it goes on with.
    # Step 1: group 1 has A (.5) and B (.3) and takes A. Group 2: A is ln .5 - 1 = -1.69, B ln .3 - 1 = -2.20,
    #   C ln .2 = -1.61, so it takes C; if only A cost, it would take B (-1.20).
    # Step 2: group 1 has AB (.6) and AC (.3) and takes B. Group 2, after C: A ln .2 = -1.61, B and C
    #   ln .4 - 1 = -1.92, so it takes A.
    # Step 3: group 1 has the end (.9) and A (.04), and ends. Group 2: the end is ln .8 - 1 = -1.22, all others are
    #   below -2.8: it ends, and has paid for that.
    [found] = search(method="diverse", beam=2, groups=2, strength=1.0)
    assert_finds(found, [((A, B), math.log(0.5 * 0.6 * 0.9)), ((C, A), math.log(0.2 * 0.2 * 0.8) - 1.0)])


def test_a_cost_that_is_paid_stays_in_the_score() -> None:
    # Strength 0.4. Step 1: A is ln .5 - 0.4 = -1.09 for group 2, still above B's and C's -1.60: it takes A and pays.
    # Step 2: B is ln .6 - 0.4 = -0.91 after A, C ln .3 - 0.4 = -1.60: it takes B and has paid again.
    # Step 3: it ends like group 1 and pays a third time, 1.2 below it in all.
    [found] = search(method="diverse", beam=2, groups=2, strength=0.4)
    best = math.log(0.5 * 0.6 * 0.9)
    assert_finds(found, [((A, B), best), ((A, B), best - 1.2)])


def test_a_token_costs_as_often_as_earlier_groups_have_it() -> None:
    # Groups of two beams, four candidates, strength 0.2.
    # Step 1: only A, B and C are possible, and each costs group 2 0.2: A -0.89, B -1.40, C -1.81. Both take A and B.
    # Step 2: group 1 has AB .30, AC .15, BC .135, BB .09: B and C cost 0.4, A nothing. Group 2:
    #   AB -0.89 + ln .6 - 0.4 = -1.80, AC -0.89 + ln .3 - 0.4 = -2.50, BC -2.60, BA -2.79. Both go on with AB and AC.
    # Step 3: both beams of group 1 end, which costs 0.4; those of group 2 end as well, 0.2 + 0.4 + 0.4 below.
    [found] = search(method="diverse", beam=4, groups=2, strength=0.2)
    expected = [
        ((A, B), math.log(0.27)),
        ((A, C), math.log(0.105)),
        ((A, B), math.log(0.27) - 1.0),
        ((A, C), math.log(0.105) - 1.0),
    ]
    assert_finds(found, expected)


@pytest.mark.parametrize(("beams", "groups"), [(4, 2), (6, 3), (4, 4)])
def test_without_strength_groups_are_independent(beams: int, groups: int) -> None:
    [alone] = search(beam=beams // groups)
    [found] = search(method="diverse", beam=beams, groups=groups, strength=0.0)
    assert found == [one for one in alone for _ in range(groups)]


def test_the_limit_cuts_off() -> None:
    short, long = search(beam=2, limits=(2, 8))
    assert_finds(short, [((A, B), math.log(0.3)), ((A, C), math.log(0.15))])
    assert not any(one.complete for one in short)
    assert_finds(long, [((A, B), math.log(0.27)), ((A, C), math.log(0.105))])
    assert all(one.complete for one in long)


def test_what_is_forbidden_gives_its_probability_to_the_others() -> None:
    [found] = search(beam=1, forbidden=(START, A))
    # B .3 / .5 against C .2 / .5; after B: C .45 / .75; after BC: END .8 / .9
    assert_finds(found, [((B, C), math.log(0.6 * 0.6 * 0.8 / 0.9))])


def test_a_group_that_has_found_all_is_left_out() -> None:
    # Group 1 takes A and ends. Group 2 takes C, since A and B cost 1, and needs two steps more, for which it pays
    # nothing.
    probabilities = {
        (): (TINY, 0.4, 0.35, 0.25),
        (A,): (0.9, 0.1, TINY, TINY),
        (C,): (TINY, TINY, 0.9, 0.1),
        (C, B): (TINY, 0.8, 0.1, 0.1),
        (C, B, A): (0.7, 0.1, 0.1, 0.1),
    }
    rows: list[int] = []

    class Counting(Written):
        def step(self, tokens: Tensor) -> Tensor:
            rows.append(len(tokens))
            return super().step(tokens)

    config = SearchConfig(method="diverse", beam=2, groups=2, strength=1.0, length_penalty=0.0)
    symbols = Symbols(END, [START])
    [found] = beam_search(Counting(probabilities), torch.tensor([[START]]), (8,), symbols, config)
    assert_finds(found, [((A,), math.log(0.4 * 0.9)), ((C, B, A), math.log(0.25 * 0.9 * 0.8 * 0.7))])
    assert rows == [1, 2, 1, 1]
