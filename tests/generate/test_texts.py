"""`translate` and `paraphrase` in Python: what they take, what they give, and n-best lists of distinct texts."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import SENTENCES, make_model

from prism_mt._core.errors import PrismError
from prism_mt.engines.config import EngineConfig
from prism_mt.generate.base import Found, PendingSearch, Request
from prism_mt.generate.generator import Generator, Hypothesis
from prism_mt.generate.options import SearchConfig
from prism_mt.generate.texts import open_translator, paraphrase, translate
from prism_mt.models.directory import ModelDirectory, write_model

CPU = EngineConfig(device="cpu", threads=1)
SHORT = SearchConfig(max_length=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(make_model(max_positions=64), tmp_path_factory.mktemp("texts") / "made").folder)


@pytest.mark.parametrize(
    "kind",
    [list, tuple, iter, np.array, lambda texts: dict.fromkeys(texts), lambda texts: (text for text in texts)],
)
def test_any_iterable_of_texts(folder: str, kind: Any) -> None:
    texts = SENTENCES[:3]
    wanted = translate(texts, to="de", model=folder, search=SHORT, config=CPU)
    assert len(wanted) == 3
    assert translate(kind(texts), to="de", model=folder, search=SHORT, config=CPU) == wanted


def test_a_series_of_texts(folder: str) -> None:
    pandas = pytest.importorskip("pandas")
    texts = pandas.Series(SENTENCES[:2], index=[7, 3])
    wanted = translate(SENTENCES[:2], to="de", model=folder, search=SHORT, config=CPU)
    assert translate(texts, to="de", model=folder, search=SHORT, config=CPU) == wanted


def test_lists_with_scores(folder: str) -> None:
    found = paraphrase(SENTENCES[:2], lang="en", n=4, model=folder, config=CPU)
    assert [len(one) for one in found] == [4, 4]
    for hypotheses in found:
        assert all(isinstance(one, Hypothesis) for one in hypotheses)
        assert sorted((one.score for one in hypotheses), reverse=True) == [one.score for one in hypotheses]
    best = paraphrase(SENTENCES[:2], lang="en", model=folder, search=None, config=CPU)
    assert all(isinstance(text, str) for text in best)
    assert translate([], to="de", model=folder) == []


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "texts must be a list or another iterable of str, not str"),
        (7, "texts must be a list or another iterable of str, not int"),
        (["a", None], "text 2 is of type NoneType, not str"),
        ([b"a"], "text 1 is of type bytes, not str"),
        (["a", "b\ud800"], "text 2: character 2 is a lone surrogate"),
        (["a", "word " * 70], r"text 2 has \d+ pieces, and the model takes at most 64"),
    ],
)
def test_mistakes(folder: str, texts: Any, message: str) -> None:
    with pytest.raises(PrismError, match=message):
        translate(texts, to="de", model=folder, search=SHORT, config=CPU)


def test_mistakes_in_options(folder: str) -> None:
    with pytest.raises(PrismError, match="set `src_lang=` to en and `to=` to de"):
        open_translator(to="en-de")
    with pytest.raises(PrismError, match="`src_lang=` is one language.* and `to=` to de"):
        open_translator(to="de", src_lang="en-de")
    with pytest.raises(PrismError, match="`lang=` is one language"):
        paraphrase(["a"], lang="en-de")
    with pytest.raises(PrismError, match="does not support the language 'xx'"):
        translate(["a"], to="xx", model=folder)
    with pytest.raises(PrismError, match="n must be between 1 and"):
        translate(["a"], to="de", n=0, model=folder)
    with pytest.raises(PrismError, match="cannot yield 9 hypotheses: set a larger `beam=`"):
        translate(["a"], to="de", n=9, model=folder, search=SearchConfig(beam=5))


@pytest.mark.parametrize("method", ["beam", "penalty", "diverse"])
def test_lists_hold_distinct_texts(folder: str, method: Any) -> None:
    # The pieces of this vocabulary often make one text in several ways.
    search = SearchConfig(method=method, max_length=12)
    for hypotheses in translate(SENTENCES, to="de", n=20, model=folder, search=search, config=CPU):
        assert len({one.text for one in hypotheses}) == len(hypotheses) == 20


class Spelling:
    """A searcher that finds as many hypotheses as it has beams, two ways to spell each text."""

    parallel, budget, one_limit = 1, 1000, False

    def __init__(self, model: ModelDirectory, beams: int, asked: list[int]) -> None:
        processor = model.target.processor
        whole = [index for index in range(len(model.target)) if len(processor.id_to_piece(index)) == 3]
        self._spellings: list[tuple[int, ...]] = []
        for index in whole:
            piece = processor.id_to_piece(index)
            parts = tuple(processor.piece_to_id(letter) for letter in piece)
            if piece.startswith("\u2581") and 3 not in parts:
                self._spellings += [(index,), parts]
        self._beams, self._asked = beams, asked

    def submit(self, batch: Iterable[Request]) -> PendingSearch:
        self._asked.append(self._beams)
        found = [Found(pieces, -0.1 * place) for place, pieces in enumerate(self._spellings[: self._beams])]
        return lambda: [found for _ in batch]


@pytest.mark.parametrize(
    ("n", "beam", "searched", "given"),
    [
        (3, None, [5], 3),  # five beams make three texts
        (4, None, [5, 10], 4),
        (6, None, [6, 12], 6),
        (6, 6, [6], 3),  # the user's own beam is left as it is
    ],
)
def test_a_search_with_too_few_texts_is_widened(
    folder: str, n: int, beam: int | None, searched: list[int], given: int, monkeypatch: Any, caplog: Any
) -> None:
    generator = Generator(ModelDirectory(Path(folder)), CPU, SearchConfig(n=n, beam=beam))
    asked: list[int] = []
    monkeypatch.setattr(generator, "searcher", lambda options: Spelling(generator.model, options.beams, asked))
    [found] = generator.generate(["Hello"], generator.route("de"))
    assert asked == searched
    assert len({one.text for one in found}) == len(found) == given
    assert [one.score for one in found] == pytest.approx([-0.2 * place for place in range(given)])
    assert ("1 input has fewer than 6 different hypotheses" in caplog.text) == (given < n)


def test_samples_are_as_drawn(folder: str) -> None:
    search = SearchConfig(method="sample", top_k=1, max_length=8)
    [found] = translate(SENTENCES[:1], to="de", n=5, model=folder, search=search, config=CPU)
    assert len(found) == 5
    assert len(set(found)) == 1


def test_results_are_cached_unless_told_otherwise(folder: str, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path))
    search = SearchConfig(max_length=5)
    uncached = EngineConfig(device="cpu", cache=False)
    wanted = list(open_translator(to="de", model=folder, search=search, config=uncached).nbest(["Hello"]))
    assert not (tmp_path / "nbest.sqlite").exists()
    assert list(open_translator(to="de", model=folder, search=search, config=CPU).nbest(["Hello"])) == wanted
    monkeypatch.setattr(Generator, "_run", lambda *_: pytest.fail("searched again"))
    assert list(open_translator(to="de", model=folder, search=search, config=CPU).nbest(["Hello"])) == wanted


def test_a_model_that_was_made_to_score_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = make_model()
    rough = dataclasses.replace(model, spec=dataclasses.replace(model.spec, rough=True))
    for name, made, warnings in (("plain", model, 0), ("rough", rough, 1)):
        caplog.clear()
        folder = write_model(made, tmp_path / name).folder
        assert len(translate(["Hello"], to="de", model=str(folder), search=SHORT, config=CPU)) == 1
        assert len([one for one in caplog.messages if "was made to score" in one]) == warnings
