"""Beam search on a model whose probabilities are written down: diverse groups and the copy penalty by hand."""

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from written import END, START, TINY, A, B, C, Written

from prism_mt.generate.base import Found
from prism_mt.generate.beam import BeamRules, beam_search

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
}


def search(rules: BeamRules, limits: Sequence[int] = (8,)) -> list[list[Found]]:
    prefixes = torch.tensor([[START]] * len(limits))
    return beam_search(Written(PROBABILITIES), prefixes, limits, rules)


def assert_finds(found: Sequence[Found], expected: Sequence[tuple[tuple[int, ...], float]]) -> None:
    assert [one.pieces for one in found] == [pieces for pieces, _ in expected]
    assert [one.score for one in found] == pytest.approx([score for _, score in expected], abs=1e-6)


def test_greedy_search_takes_the_best_of_each_step() -> None:
    [found] = search(BeamRules(END, [START], beams=1, length_penalty=0.0))
    assert_finds(found, [((A, B), math.log(0.5 * 0.6 * 0.9))])


def test_a_beam_of_two() -> None:
    # Step 1: A .5, B .3. Step 2: AB .30, AC .15 (BC has .135). Step 3: AB ends with .27, AC with .105; the others
    # (ABA .012) are below both.
    [found] = search(BeamRules(END, [START], beams=2, length_penalty=1.0))
    assert_finds(found, [((A, B), math.log(0.27) / 3), ((A, C), math.log(0.105) / 3)])


def test_diverse_groups_by_hand() -> None:
    # Two groups of one beam, strength 1: a token costs 1 where group 1 has just taken it.
    # Step 1: group 1 takes A (ln .5 = -0.69). Group 2: A is -0.69 - 1 = -1.69, B ln .3 = -1.20, so it takes B.
    # Step 2: group 1 takes B (.6) after A. Group 2, after B: C ln .45 = -0.80, B ln .3 - 1, so it takes C.
    # Step 3: both end, and what ends has no cost.
    [found] = search(BeamRules(END, [START], beams=2, groups=2, strength=1.0, length_penalty=0.0))
    assert_finds(found, [((A, B), math.log(0.5 * 0.6 * 0.9)), ((B, C), math.log(0.3 * 0.45 * 0.8))])


def test_a_cost_that_is_paid_stays_in_the_score() -> None:
    # Strength 0.4. Step 1: A is ln .5 - 0.4 = -1.09 for group 2, still above B's -1.20: it takes A and has paid.
    # Step 2: B is ln .6 - 0.4 = -0.91 after A, C ln .3 = -1.20: it takes B and has paid again.
    # Step 3: it ends like group 1, 0.8 below it.
    [found] = search(BeamRules(END, [START], beams=2, groups=2, strength=0.4, length_penalty=0.0))
    best = math.log(0.5 * 0.6 * 0.9)
    assert_finds(found, [((A, B), best), ((A, B), best - 0.8)])


def test_every_beam_of_an_earlier_group_costs() -> None:
    # Groups of two beams. Step 1: group 1 takes A and B. Group 2 pays 0.2 for each: A -0.89, B -1.40, C -1.61.
    # Step 2: group 1 has AB .30 and AC .15, so B and C cost 0.2 once each, A nothing. Group 2: AB
    # ln .3 = -1.20 - 0.4 = -1.60; AC -1.90 - 0.4 = -2.30; AA ln .05 = -3.00 - 0.2; BC ln .135 = -2.00 - 0.4 = -2.40.
    [found] = search(BeamRules(END, [START], beams=4, groups=2, strength=0.2, length_penalty=0.0))
    expected = [
        ((A, B), math.log(0.27)),
        ((A, B), math.log(0.27) - 0.4),
        ((A, C), math.log(0.105)),
        ((A, C), math.log(0.105) - 0.4),
    ]
    assert_finds(found, expected)


@pytest.mark.parametrize(("beams", "groups"), [(4, 2), (6, 3), (4, 4)])
def test_without_strength_groups_are_independent(beams: int, groups: int) -> None:
    [alone] = search(BeamRules(END, [START], beams // groups))
    [found] = search(BeamRules(END, [START], beams, groups, strength=0.0))
    assert found == [one for one in alone for _ in range(groups)]


def test_the_limit_cuts_off() -> None:
    short, long = search(BeamRules(END, [START], beams=2, length_penalty=0.0), limits=(2, 8))
    assert_finds(short, [((A, B), math.log(0.3)), ((A, C), math.log(0.15))])
    assert not any(one.complete for one in short)
    assert_finds(long, [((A, B), math.log(0.27)), ((A, C), math.log(0.105))])
    assert all(one.complete for one in long)


def test_what_is_forbidden_gives_its_probability_to_the_others() -> None:
    [found] = search(BeamRules(END, [START, A], beams=1, length_penalty=0.0))
    # B .3 / .5 against C .2 / .5; after B: C .45 / .75; after BC: END .8 / .9
    assert_finds(found, [((B, C), math.log(0.6 * 0.6 * 0.8 / 0.9))])


def test_a_group_that_has_found_all_is_left_out() -> None:
    # Group 1 takes A and ends. Group 2 takes B, since A costs 1, and needs two steps more, in which it pays nothing.
    probabilities = {
        (): (TINY, 0.6, 0.4, TINY),
        (A,): (0.9, 0.1, TINY, TINY),
        (B,): (TINY, TINY, 0.1, 0.9),
        (B, C): (TINY, 0.8, 0.1, 0.1),
        (B, C, A): (0.7, 0.1, 0.1, 0.1),
    }
    rows: list[int] = []

    class Counting(Written):
        def step(self, tokens: Tensor) -> Tensor:
            rows.append(len(tokens))
            return super().step(tokens)

    rules = BeamRules(END, [START], beams=2, groups=2, strength=1.0, length_penalty=0.0)
    [found] = beam_search(Counting(probabilities), torch.tensor([[START]]), (8,), rules)
    assert_finds(found, [((A,), math.log(0.6 * 0.9)), ((B, C, A), math.log(0.4 * 0.9 * 0.8 * 0.7))])
    assert rows == [1, 2, 1, 1]
