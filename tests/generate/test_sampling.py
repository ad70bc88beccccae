"""Sampling: frequencies, temperature, cuts, seeds."""

from collections import Counter
from typing import Any

import pytest
import torch
from written import END, START, A, B, C, Written

from prism_mt.engines.factory import EngineConfig
from prism_mt.generate.base import Found, Request, Symbols
from prism_mt.generate.generator import Generator
from prism_mt.generate.options import SearchConfig
from prism_mt.generate.sampling import gumbel, sample, stream
from prism_mt.models.resolve import open_model

ONE_TOKEN: dict[tuple[int, ...], tuple[float, ...]] = {(token,): (1.0, 0.0, 0.0, 0.0) for token in (A, B, C)}
ONE_TOKEN[()] = (1e-9, 0.5, 0.3, 0.2)
COUNT = 4000
ENGLISH = [
    "The council has decided to build a new bridge over the river next year.",
    "She bought three apples and a loaf of bread at the market this morning.",
    "Nobody knows exactly how many people were injured in the accident.",
    "It rained.",
    "Scientists have found a way to store energy for several months without any loss.",
    "According to the report, prices rose by four percent in the first half of the year.",
]


def draw(count: int = COUNT, source: tuple[int, ...] = (1,), **options: Any) -> list[Found]:
    search = SearchConfig(method="sample", n=count, **options)
    [found] = sample(
        Written(ONE_TOKEN), torch.tensor([[START]]), [Request(source, (START,), 6)], Symbols(END, [START]), search
    )
    return found


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {A: 0.5, B: 0.3, C: 0.2}),
        # p² normalized: .25, .09, .04 of .38
        ({"temperature": 0.5}, {A: 0.25 / 0.38, B: 0.09 / 0.38, C: 0.04 / 0.38}),
        ({"top_k": 2}, {A: 0.625, B: 0.375}),
        ({"top_p": 0.75}, {A: 0.625, B: 0.375}),  # A and B together have .8, A alone has .5
        ({"top_p": 0.5}, {A: 1.0}),
        ({"top_k": 1, "top_p": 0.9}, {A: 1.0}),
    ],
)
def test_frequencies(options: dict[str, Any], expected: dict[int, float]) -> None:
    counts = Counter(one.pieces for one in draw(**options))
    assert set(counts) == {(token,) for token in expected}
    for token, share in expected.items():
        # Four standard deviations of a share are 0.032 here at most.
        assert counts[(token,)] / COUNT == pytest.approx(share, abs=0.032)


def test_scores_are_the_models_own() -> None:
    scores = {one.pieces: one.score for one in draw(50, temperature=3.0, length_penalty=0.0)}
    expected = {(A,): -0.6931, (B,): -1.2040, (C,): -1.6094}
    assert scores == pytest.approx(expected, abs=1e-4)


def test_seeds_sentences_and_numbers() -> None:
    assert draw(20, seed=1) == draw(20, seed=1)
    assert draw(20, seed=1)[:7] == draw(7, seed=1)
    assert draw(20, seed=1) != draw(20, seed=2)
    assert draw(20, seed=1, source=(5,)) != draw(20, seed=1)
    request = Request((1, 2), (START,), 4)
    first, second = (gumbel(stream(request._replace(limit=limit), 0, 0), 5) for limit in (4, 9))
    assert first.tolist() == second.tolist()


def test_noise_is_gumbels() -> None:
    drawn = gumbel(stream(Request((1,), (START,), 4), 0, 0), 100_000)
    # Mean .5772, standard deviation 1.2825; four standard errors.
    assert drawn.mean() == pytest.approx(0.5772, abs=0.017)
    assert drawn.std() == pytest.approx(1.2825, abs=0.02)


def test_samples_of_a_real_vocabulary_do_not_depend_on_the_batch() -> None:
    engine, search = EngineConfig(engine="torch", device="cpu"), SearchConfig(method="sample", n=32, max_length=24)
    generator = Generator(open_model("mini"), engine, search)
    route = generator.route("de")
    together = list(generator.generate(ENGLISH, route))
    alone = [found for text in ENGLISH for found in generator.generate([text], route)]
    assert [[one.text for one in found] for found in together] == [[one.text for one in found] for found in alone]


def test_the_limit_cuts_off() -> None:
    search, symbols = SearchConfig(method="sample", n=3), Symbols(END, [START, END])
    [found] = sample(Written({}), torch.tensor([[START]]), [Request((1,), (START,), 4)], symbols, search)
    assert [len(one.pieces) for one in found] == [4, 4, 4]
    assert not any(one.complete for one in found)
