"""Cached scores: what changes the key, and that nothing that happens to the file changes a score."""

import itertools
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import SENTENCES, make_model

from prism_mt._core import cache
from prism_mt._core.cache import Store
from prism_mt.engines.base import Engine, Pair, TokenScores
from prism_mt.engines.cached import CachedEngine
from prism_mt.engines.factory import EngineConfig, open_engine
from prism_mt.engines.scheduler import score_pairs
from prism_mt.models.directory import ModelDirectory, write_model

CONFIG = EngineConfig(engine="ct2", device="cpu", threads=1)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return write_model(make_model(), tmp_path_factory.mktemp("cache") / "made")


@pytest.fixture(scope="module")
def pairs(directory: ModelDirectory) -> list[Pair]:
    encoded = [tuple(directory.source.encode(text)) for text in SENTENCES]
    return [Pair((4, *a, 2), (2, 5, *b, 2)) for a, b in itertools.pairwise(encoded)]


@pytest.fixture(scope="module")
def wanted(directory: ModelDirectory, pairs: list[Pair]) -> list[TokenScores]:
    return list(score_pairs(open_engine(directory, CONFIG), pairs))


def engine(
    directory: ModelDirectory, path: Path, config: EngineConfig = CONFIG, temperature: float = 1.0
) -> CachedEngine:
    def load() -> Engine:
        return open_engine(directory, config, temperature)

    return CachedEngine(directory, config, temperature, load, Store("scores", path))


def same(found: list[TokenScores], wanted: list[TokenScores]) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_a_second_run_loads_no_model(
    directory: ModelDirectory, pairs: list[Pair], wanted: list[TokenScores], tmp_path: Path, monkeypatch: Any
) -> None:
    first = list(score_pairs(engine(directory, tmp_path / "c.sqlite"), pairs))
    same(first, wanted)

    def load(*_: object) -> Engine:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(sys.modules[__name__], "open_engine", load)
    second = list(score_pairs(engine(directory, tmp_path / "c.sqlite"), [*pairs[::-1], *pairs]))
    for a, b in zip(second, [*first[::-1], *first], strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(AssertionError):
        list(score_pairs(engine(directory, tmp_path / "c.sqlite"), [Pair((4, 9, 2), (2, 5, 9, 2))]))


@pytest.mark.parametrize(
    ("config", "temperature"),
    [
        (CONFIG, 1.1),
        (replace(CONFIG, precision="int8"), 1.0),
        (replace(CONFIG, engine="torch"), 1.0),
    ],
)
def test_what_changes_a_score_changes_the_key(
    directory: ModelDirectory,
    pairs: list[Pair],
    tmp_path: Path,
    config: EngineConfig,
    temperature: float,
    monkeypatch: Any,
) -> None:
    list(score_pairs(engine(directory, tmp_path / "c.sqlite"), pairs))
    assert all(tokens is not None for tokens in engine(directory, tmp_path / "c.sqlite").remembered(pairs))
    assert engine(directory, tmp_path / "c.sqlite", config, temperature).remembered(pairs) == [None] * len(pairs)
    other = write_model(make_model(seed=1), tmp_path / "other")
    assert engine(other, tmp_path / "c.sqlite").remembered(pairs) == [None] * len(pairs)
    moved = [Pair(source + target[:1], target[1:]) for source, target in pairs]  # the same ids, cut elsewhere
    assert engine(directory, tmp_path / "c.sqlite").remembered(moved) == [None] * len(pairs)
    monkeypatch.setattr(cache, "__version__", "0.0.0")
    assert engine(directory, tmp_path / "c.sqlite").remembered(pairs) == [None] * len(pairs)


def test_every_batch_is_kept_when_it_is_done(directory: ModelDirectory, pairs: list[Pair], tmp_path: Path) -> None:
    remembering = engine(directory, tmp_path / "c.sqlite")
    for pair in pairs[:3]:
        remembering.submit([pair])()
        # Another connection sees it at once.
        assert engine(directory, tmp_path / "c.sqlite").remembered([pair])[0] is not None


def spoil_values(path: Path) -> None:
    """One bit of every score, everything else intact."""
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT id, value FROM entries").fetchall()
        spoiled = [(bytes([*value[:-1], value[-1] ^ 1]), id) for id, value in rows]
        database.executemany("UPDATE entries SET value = ? WHERE id = ?", spoiled)


def overwrite(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.write_bytes(b"this is no database" * 500)


@pytest.mark.parametrize(
    ("damage", "message"),
    [(spoil_values, None), (overwrite, "`prism cache clear scores` creates a new one")],
)
def test_damage_never_changes_a_score(
    directory: ModelDirectory,
    pairs: list[Pair],
    wanted: list[TokenScores],
    tmp_path: Path,
    damage: Any,
    message: str | None,
    caplog: Any,
) -> None:
    path = tmp_path / "c.sqlite"
    list(score_pairs(engine(directory, path), pairs))
    damage(path)
    same(list(score_pairs(engine(directory, path), pairs)), wanted)
    assert len(caplog.messages) == (message is not None)
    assert message is None or message in caplog.text
    if message is None:  # what was damaged has been scored again and replaced
        assert all(tokens is not None for tokens in engine(directory, path).remembered(pairs))
