"""From texts to hypotheses: order, blanks, languages, errors, the store."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from hf_models import cached
from made import SENTENCES, make_model

from prism_mt._core.errors import PrismError
from prism_mt.engines.base import EngineName, OutOfMemory
from prism_mt.engines.factory import EngineConfig
from prism_mt.engines.scheduler import make_batches
from prism_mt.generate.base import Found, PendingSearch, Request, SearchWork, textless_ids
from prism_mt.generate.generator import Generator, Hypothesis, Route
from prism_mt.generate.options import SearchConfig
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.resolve import open_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return write_model(make_model(max_positions=64), tmp_path_factory.mktemp("generator") / "made")


def generator(model: ModelDirectory, engine: EngineName = "torch", **options: Any) -> Generator:
    config = EngineConfig(engine=engine, device="cpu", threads=1)
    return Generator(model, config, SearchConfig(max_length=8, **options))


NOTHING_LEFT = "\u200b\ufeff"
"""Characters that normalization takes away."""
TEXTS = [SENTENCES[0], "", SENTENCES[6], SENTENCES[0], " \t", "Hello", NOTHING_LEFT]


@pytest.mark.parametrize("engine", ["ct2", "torch"])
def test_order_duplicates_and_blanks(model: ModelDirectory, engine: EngineName, caplog: Any) -> None:
    made = generator(model, engine, n=2)
    route = made.route("English")
    assert route == Route(None, "en")
    with caplog.at_level(logging.WARNING):
        found = list(made.generate(TEXTS, route))
    assert [len(one) for one in found] == [2] * 7
    assert found[1] == found[4] == found[6] == [Hypothesis("", 0.0)] * 2
    assert found[0] == found[3] != found[2]
    assert all(one.text for place in (0, 2, 5) for one in found[place])
    assert "8 hypotheses were cut off at the maximum length" in caplog.text
    alone = [hypotheses for text in TEXTS for hypotheses in made.generate([text], route)]
    assert [[one.text for one in hypotheses] for hypotheses in alone] == [[one.text for one in h] for h in found]


def test_engines_agree(model: ModelDirectory) -> None:
    route = generator(model).route("de")
    [torch, ct2] = [list(generator(model, name, n=3).generate(SENTENCES, route)) for name in ("torch", "ct2")]
    for one, other in zip(torch, ct2, strict=True):
        assert [a.text for a in one] == [b.text for b in other]
        assert [a.score for a in one] == pytest.approx([b.score for b in other], abs=1e-4)


def test_a_long_text_is_named(model: ModelDirectory) -> None:
    made = generator(model)
    texts = ["a", "word " * 70]
    with pytest.raises(PrismError, match=r"in.txt, line 12 has \d+ pieces, and the model takes at most 64"):
        list(made.generate(texts, made.route("en"), lambda place: f"in.txt, line {place + 11}"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 6, "beam": 5}, "a beam of 5 cannot yield 6 hypotheses"),
        ({"method": "diverse", "beam": 10, "groups": 4}, "4 groups do not divide a beam of 10"),
        ({"n": 0}, "n must be between 1 and 100,000, not 0"),
        ({"beam": 0}, "beam must be between 1 and"),
        ({"method": "sample", "temperature": 0.0}, "temperature must be between 0.001 and 1000, not 0"),
        ({"method": "sample", "top_p": 1.5}, "top_p must be between 1e-09 and 1, not 1.5"),
        ({"method": "diverse", "strength": -1.0}, "strength must be between 0 and 1,000, not -1"),
        ({"max_length": 1}, "max_length must be between 3"),
        ({"length_penalty": 1000.0}, "length_penalty must be between -10 and 10, not 1000"),
        ({"length_penalty": float("nan")}, "length_penalty must be a finite number"),
        ({"method": "penalty", "penalty_scale": float("nan")}, "penalty_scale must be a finite number"),
        ({"method": "penalty", "penalty_power": 1000.0}, "penalty_power must be between -10 and 10"),
        ({"method": "sample", "temperature": float("inf")}, "temperature must be a finite number"),
        ({"method": "greedy"}, "method must be one of beam, diverse, sample, penalty, not 'greedy'"),
        ({"top_k": 3}, "`top_k=` is an option of the method sample, but the method is beam"),
        (
            {"method": "sample", "groups": 2},
            "`groups=` is an option of the method diverse, but the method is sample",
        ),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PrismError, match=message):
        SearchConfig(**options)


def test_what_a_model_or_engine_cannot_do(model: ModelDirectory) -> None:
    with pytest.raises(PrismError, match="the ct2 engine only has beam search"):
        generator(model, "ct2", method="diverse")
    with pytest.raises(PrismError, match="only beam search can run in a precision other than float32"):
        Generator(model, EngineConfig(precision="int8"), SearchConfig(method="diverse"))
    with pytest.raises(PrismError, match="a Ray cluster can score but not generate"):
        Generator(model, EngineConfig(ray="auto"), SearchConfig())
    with pytest.raises(PrismError, match="no CUDA device"):
        Generator(model, EngineConfig(device="cuda"), SearchConfig())
    with pytest.raises(PrismError, match="too large for the vocabulary"):
        generator(model, beam=1000)
    with pytest.raises(PrismError, match="does not support the language 'xx'"):
        generator(model).route("xx")
    marian = generator(open_model(str(cached("marian")[0])))
    with pytest.raises(PrismError, match="only writes en, not de"):
        marian.route("de", "de")
    with pytest.raises(PrismError, match="only reads de, not en"):
        marian.route("en", "en")
    with pytest.raises(PrismError, match="needs the source language: set `src_lang=`"):
        generator(open_model(str(cached("m2m100")[0]))).route("fr")


def test_defaults_by_method() -> None:
    assert SearchConfig(method="diverse").signature() == "diverse-b100-g10-s1-lp1"
    assert SearchConfig(n=7).signature() == "beam-b7-lp1"
    assert SearchConfig(method="sample", n=7, top_p=0.9).signature() == "sample-t1-k0-p0.9-gumbel0-lp1"
    assert SearchConfig(method="penalty").signature() == "penalty-b5-a0.006-e4-subtract-lp1"


def test_ids_without_text(model: ModelDirectory) -> None:
    assert textless_ids(model) == [0, 1, 3, *sorted(tag for tag in model.spec.languages.values() if tag)]


class Small:
    """A searcher that has memory for so many segments at once."""

    parallel, budget = 2, 10_000

    def __init__(self, capacity: int = 1000, one_limit: bool = False) -> None:
        self.capacity, self.one_limit = capacity, one_limit
        self.sizes: list[int] = []

    def submit(self, batch: Sequence[Request]) -> PendingSearch:
        def wait() -> list[list[Found]]:
            self.sizes.append(len(batch))
            if len(batch) > self.capacity:
                raise OutOfMemory
            return [[Found((9,), 0.0)] for _ in batch]

        return wait


@pytest.mark.parametrize(
    ("budget", "one_limit", "expected"),
    [(18, False, [[9, 9], [3, 2]]), (27, True, [[9], [9, 3, 2]]), (1, False, [[9], [9], [3], [2]])],
)
@pytest.mark.parametrize("width", [1, 7])
def test_batches(budget: int, one_limit: bool, expected: list[list[int]], width: int) -> None:
    requests = [Request((1,) * length, (2,), limit) for length, limit in [(3, 32), (9, 32), (9, 64), (2, 32)]]
    batches = make_batches(SearchWork(Small(one_limit=one_limit), width), requests, budget * width)
    assert [[len(requests[index].source) for index in batch] for batch in batches] == expected


def test_memory_that_runs_out_makes_smaller_batches(
    model: ModelDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, small = generator(model, beam=5), Small(capacity=2)
    monkeypatch.setattr(made, "searcher", lambda options: small)
    assert len(list(made.generate(SENTENCES[:5], made.route("en")))) == 5
    assert small.sizes[0] == 5
    assert max(small.sizes[-3:]) <= 2
    before = len(small.sizes)
    assert len(list(made.generate(SENTENCES[5:9], made.route("en")))) == 4
    assert max(small.sizes[before:]) <= 2  # the same run has learned how much fits
    small.capacity = 0
    with pytest.raises(PrismError, match="enough memory to search a sentence of"):
        list(made.generate(SENTENCES[:2], made.route("en")))
