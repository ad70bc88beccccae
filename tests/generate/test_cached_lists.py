"""Cached n-best lists: made once, and never wrong or in the way."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from made import make_model

from prism_mt._core.cache import Store
from prism_mt.engines.factory import EngineConfig
from prism_mt.generate.cached import StoredLists
from prism_mt.generate.generator import Generator, Hypothesis, Route
from prism_mt.generate.options import SearchConfig
from prism_mt.models.directory import ModelDirectory, write_model

ROUTE = Route("en", "en")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return write_model(make_model(max_positions=64), tmp_path_factory.mktemp("lists") / "made")


def generator(model: ModelDirectory, **options: Any) -> Generator:
    search = SearchConfig(max_length=8, n=2, **options)
    return Generator(model, EngineConfig(engine="torch", device="cpu", threads=1), search)


def watch(made: Generator, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note what is searched."""
    searched: list[str] = []
    search = made.search

    def noting(texts: Any, *rest: Any) -> Any:
        searched.extend(texts)
        return search(texts, *rest)

    monkeypatch.setattr(made, "search", noting)
    return searched


def test_lists_are_made_once(model: ModelDirectory, monkeypatch: Any, tmp_path: Path) -> None:
    made, path = generator(model), tmp_path / "nbest.sqlite"
    searched = watch(made, monkeypatch)
    first = StoredLists(made, ROUTE, Store("nbest", path)).lists({"Hello": "a", "world": "b", "": "c"})
    assert first[""] == [Hypothesis("", 0.0)] * 2
    again = StoredLists(made, ROUTE, Store("nbest", path)).lists({"world": "b", "Hello": "a"})
    assert again == {key: first[key] for key in ("world", "Hello")}
    assert searched == ["Hello", "world", ""]
    streamed = StoredLists(made, ROUTE, Store("nbest", path)).stream(iter(["world", "a", "world"]), str)
    assert list(streamed)[::2] == [first["world"]] * 2
    assert searched[3:] == ["a"]


@pytest.mark.parametrize("change", [{"method": "diverse", "beam": 4, "groups": 2}, {"length_penalty": 0.5}])
def test_other_options_have_other_lists(
    model: ModelDirectory, change: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    path = tmp_path / "nbest.sqlite"
    StoredLists(generator(model), ROUTE, Store("nbest", path)).lists({"Hello": "a"})
    other = generator(model, **change)
    searched = watch(other, monkeypatch)
    StoredLists(other, ROUTE, Store("nbest", path)).lists({"Hello": "a"})
    StoredLists(other, Route(None, "de"), Store("nbest", path)).lists({"Hello": "a"})
    assert searched == ["Hello", "Hello"]


def damage_bytes(path: Path, key: bytes) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE entries SET value = x'00'")


def no_json(path: Path, key: bytes) -> None:
    """A value with the right checksum that no list was written to."""
    Store("nbest", path).put([(key, b'[["text", "no number"]]')])


def nested(path: Path, key: bytes) -> None:
    Store("nbest", path).put([(key, b"[" * 100_000)])


@pytest.mark.parametrize("damage", [damage_bytes, no_json, nested])
def test_a_damaged_list_is_made_again(model: ModelDirectory, damage: Any, tmp_path: Path, caplog: Any) -> None:
    made, path = generator(model), tmp_path / "nbest.sqlite"
    wanted = StoredLists(made, ROUTE, Store("nbest", path)).lists({"Hello": "a"})
    caplog.clear()
    with sqlite3.connect(path) as database:
        [(key,)] = database.execute("SELECT key FROM entries").fetchall()
    damage(path, key)
    assert StoredLists(made, ROUTE, Store("nbest", path)).lists({"Hello": "a"}) == wanted
    assert caplog.text == ""


def test_a_cache_that_cannot_be_written_does_not_stop_the_search(
    model: ModelDirectory, tmp_path: Path, caplog: Any
) -> None:
    (tmp_path / "file").write_text("")
    lists = StoredLists(generator(model), ROUTE, Store("nbest", tmp_path / "file" / "nbest.sqlite"))
    assert len(lists.lists({"Hello": "a", "world": "b"})) == 2
    assert caplog.text.count("cannot use the nbest cache") == 1
