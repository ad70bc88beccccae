"""The cache of scores: what it remembers, and that nothing that happens to it changes a score."""

import itertools
import multiprocessing
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import SENTENCES, make_model

from prism_mt._core.errors import PrismError
from prism_mt.engines import cache
from prism_mt.engines.base import Pair, TokenScores
from prism_mt.engines.cache import CachedEngine, ScoreStore, parse_size, size_limit
from prism_mt.engines.factory import EngineOptions, open_engine
from prism_mt.engines.scheduler import score_pairs
from prism_mt.models.directory import ModelDirectory, write_model


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return write_model(make_model(), tmp_path_factory.mktemp("cache") / "made")


@pytest.fixture(scope="module")
def pairs(directory: ModelDirectory) -> list[Pair]:
    encoded = [tuple(directory.source.encode(text)) for text in SENTENCES]
    return [Pair((4, *a, 2), (2, 5, *b, 2)) for a, b in itertools.pairwise(encoded)]


@pytest.fixture(scope="module")
def wanted(directory: ModelDirectory, pairs: list[Pair]) -> list[TokenScores]:
    return list(score_pairs(open_engine(directory, OPTIONS), pairs))


OPTIONS = EngineOptions(device="cpu", threads=1)


def engine(directory: ModelDirectory, path: Path, options: EngineOptions = OPTIONS, **limits: int) -> CachedEngine:
    return CachedEngine(directory, options, ScoreStore(path, **limits))


def same(found: list[TokenScores], wanted: list[TokenScores]) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_a_second_run_loads_no_model(
    directory: ModelDirectory, pairs: list[Pair], wanted: list[TokenScores], tmp_path: Path, monkeypatch: Any
) -> None:
    first = list(score_pairs(engine(directory, tmp_path / "c.sqlite"), pairs))
    same(first, wanted)

    def load(*_: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(cache, "open_engine", load)
    second = list(score_pairs(engine(directory, tmp_path / "c.sqlite"), [*pairs[::-1], *pairs]))
    for a, b in zip(second, [*first[::-1], *first], strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(AssertionError):
        list(score_pairs(engine(directory, tmp_path / "c.sqlite"), [Pair((4, 9, 2), (2, 5, 9, 2))]))


@pytest.mark.parametrize(
    "options",
    [
        EngineOptions(device="cpu", temperature=1.1),
        EngineOptions(device="cpu", quantization="int8"),
        EngineOptions(engine="torch", device="cpu"),
    ],
)
def test_what_changes_a_score_changes_the_key(
    directory: ModelDirectory, pairs: list[Pair], tmp_path: Path, options: EngineOptions, monkeypatch: Any
) -> None:
    list(score_pairs(engine(directory, tmp_path / "c.sqlite"), pairs))
    assert all(tokens is not None for tokens in engine(directory, tmp_path / "c.sqlite").remembered(pairs))
    assert engine(directory, tmp_path / "c.sqlite", options).remembered(pairs) == [None] * len(pairs)
    other = write_model(make_model(seed=1), tmp_path / "other")
    assert engine(other, tmp_path / "c.sqlite").remembered(pairs) == [None] * len(pairs)
    moved = [Pair(source + target[:1], target[1:]) for source, target in pairs]  # the same ids, cut elsewhere
    assert engine(directory, tmp_path / "c.sqlite").remembered(moved) == [None] * len(pairs)
    monkeypatch.setattr(cache, "__version__", "0.0.0")
    assert engine(directory, tmp_path / "c.sqlite").remembered(pairs) == [None] * len(pairs)


def test_every_batch_is_kept_when_it_is_done(directory: ModelDirectory, pairs: list[Pair], tmp_path: Path) -> None:
    cached = engine(directory, tmp_path / "c.sqlite")
    for pair in pairs[:3]:
        cached.submit([pair])()
        # Another connection sees it at once.
        assert engine(directory, tmp_path / "c.sqlite").remembered([pair])[0] is not None


def spoil_values(path: Path) -> None:
    """One bit of every score, everything else intact."""
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT id, value FROM scores").fetchall()
        spoiled = [(bytes([*value[:-1], value[-1] ^ 1]), id) for id, value in rows]
        database.executemany("UPDATE scores SET value = ? WHERE id = ?", spoiled)


def swap_values(path: Path) -> None:
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT id, value FROM scores ORDER BY id").fetchall()
        turned = [(value, id) for (id, _), (_, value) in zip(rows, rows[1:] + rows[:1], strict=True)]
        database.executemany("UPDATE scores SET value = ? WHERE id = ?", turned)


def all_in_one_file(path: Path) -> None:
    """Nothing left beside the file from which SQLite could restore it."""
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def overwrite(path: Path) -> None:
    all_in_one_file(path)
    path.write_bytes(b"this is no database" * 500)


def cut_off(path: Path) -> None:
    all_in_one_file(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def wrong_table(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE scores")
        database.execute("CREATE TABLE scores (something TEXT)")


def wrong_types(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE scores SET value = 7")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (spoil_values, None),
        (swap_values, None),
        (wrong_types, None),
        (overwrite, "`prism cache clear` makes a new one"),
        (cut_off, "going on without it"),
        (wrong_table, "going on without it"),
    ],
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


@pytest.fixture
def no_folder(tmp_path: Path) -> Path:
    """A place where nobody, not even the superuser, can make a file."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "c.sqlite"


def test_a_folder_that_cannot_be_written(
    directory: ModelDirectory, pairs: list[Pair], wanted: list[TokenScores], no_folder: Path, caplog: Any
) -> None:
    same(list(score_pairs(engine(directory, no_folder), pairs)), wanted)
    [message] = caplog.messages
    assert str(no_folder) in message
    assert "PRISM_CACHE names another folder" in message


def test_a_full_disk(
    directory: ModelDirectory, pairs: list[Pair], wanted: list[TokenScores], tmp_path: Path, caplog: Any
) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    cached = engine(directory, tmp_path / "c.sqlite")
    cached.remembered(pairs)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))  # fails as a full disk does
    try:
        found = list(score_pairs(cached, pairs))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    same(found, wanted)
    [message] = caplog.messages
    assert "going on without it" in message


def test_a_locked_cache_is_not_waited_for_without_end(
    directory: ModelDirectory,
    pairs: list[Pair],
    wanted: list[TokenScores],
    tmp_path: Path,
    caplog: Any,
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(cache, "_PATIENCE", 0.1)
    path = tmp_path / "c.sqlite"
    cached = engine(directory, path)
    cached.remembered(pairs)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    same(list(score_pairs(cached, pairs)), wanted)
    assert "locked" in caplog.text
    other.close()


def test_the_oldest_entries_go_first(tmp_path: Path) -> None:
    limit = 200_000
    store = ScoreStore(tmp_path / "c.sqlite", limit)
    keys = [number.to_bytes(16, "big") for number in range(4000)]
    for start in range(0, len(keys), 50):
        store.put((key, key * 10) for key in keys[start : start + 50])
    found = store.get(keys)
    kept = [key in found for key in keys]
    assert kept == sorted(kept)  # only the first are gone
    assert 400 < sum(kept) < 1200  # 200 kB at about 230 bytes each
    assert found[keys[-1]] == keys[-1] * 10
    assert (tmp_path / "c.sqlite").stat().st_size < 1.2 * limit


def test_nothing_fits(tmp_path: Path) -> None:
    store = ScoreStore(tmp_path / "c.sqlite", 0)
    store.put([(b"k" * 16, b"value")])
    assert store.get([b"k" * 16]) == {}


def write_many(path: Path, seed: int) -> None:
    store = ScoreStore(path)
    for number in range(seed, 400, 2):
        key = (number // 2).to_bytes(16, "big")
        store.put([(key, key * 3)])


def test_two_processes_make_and_fill_one_cache(tmp_path: Path, caplog: Any) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(tmp_path / "new" / "c.sqlite", seed)) for seed in (0, 1)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    keys = [number.to_bytes(16, "big") for number in range(200)]
    assert ScoreStore(tmp_path / "new" / "c.sqlite").get(keys) == {key: key * 3 for key in keys}
    shutil.rmtree(tmp_path / "new")


@pytest.mark.parametrize(
    ("text", "size"),
    [("1000", 1000), ("2K", 2048), ("1.5M", 3 << 19), ("20G", 20 << 30), ("1 TiB", 1 << 40), ("5gb", 5 << 30)],
)
def test_sizes(text: str, size: int, monkeypatch: Any) -> None:
    assert parse_size(text) == size
    monkeypatch.setenv("PRISM_CACHE_LIMIT", text)
    assert size_limit() == size


@pytest.mark.parametrize("text", ["", "much", "G", "1.2.3M", "nan", "inf"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(PrismError, match="is not a size"):
        parse_size(text)
