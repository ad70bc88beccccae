"""The cache: what it keeps, and that nothing that happens to a file gives a wrong value or a traceback."""

import multiprocessing
import os
import random
import sqlite3
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mt._core import cache
from prism_mt._core.cache import (
    STORES,
    Keys,
    Store,
    clear_store,
    store_info,
    store_path,
)
from prism_mt._core.errors import PrismError


def keys(count: int) -> list[bytes]:
    return [number.to_bytes(16, "big") for number in range(count)]


def filled(count: int = 50) -> Store:
    store = Store("scores")
    store.put((key, key * 3) for key in keys(count))
    return store


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.binary(min_size=1, max_size=20), st.binary(max_size=200), max_size=30))
def test_what_is_put_is_found_by_another_store(items: dict[bytes, bytes]) -> None:
    path = Path(os.environ["PRISM_CACHE"]) / f"{random.random()}.sqlite"
    Store("scores", path).put(items.items())
    assert Store("scores", path).get([*items, b"another key of more than twenty bytes"]) == items


def test_stores_are_separate_files(home: Path) -> None:
    for name in STORES:
        Store(name).put([(b"key", name.encode())])
    assert [Store(name).get([b"key"])[b"key"].decode() for name in STORES] == list(STORES)
    assert sorted(path.name for path in home.glob("*.sqlite")) == sorted(f"{name}.sqlite" for name in STORES)


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of POSIX")
def test_new_folders_are_private_and_old_ones_stay_as_they_are(home: Path, tmp_path: Path) -> None:
    before = stat.S_IMODE(tmp_path.stat().st_mode)
    Store("scores", home / "a" / "scores.sqlite").put([(b"k", b"v")])
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (home / "a", home)] == [0o700, 0o700]
    assert stat.S_IMODE(tmp_path.stat().st_mode) == before
    (tmp_path / "shared").mkdir(mode=0o755)
    mode = (tmp_path / "shared").stat().st_mode
    Store("scores", tmp_path / "shared" / "scores.sqlite").put([(b"k", b"v")])
    assert (tmp_path / "shared").stat().st_mode == mode


def test_scopes_and_parts_are_told_apart() -> None:
    scope = Keys("model", "float32")
    assert scope.key(b"ab", b"c") == Keys("model", "float32").key(b"ab", b"c")
    others = [
        scope.key(b"a", b"bc"),
        scope.key(b"abc"),
        Keys("modelfloat32").key(b"ab", b"c"),
        Keys("model", "float16").key(b"ab", b"c"),
    ]
    assert len({scope.key(b"ab", b"c"), *others}) == 5


def test_another_version_of_the_package_has_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Keys("model").key(b"a")
    monkeypatch.setattr(cache, "__version__", "0.0.0")
    assert Keys("model").key(b"a") != before


def change_values(path: Path, sql: str, *arguments: Any) -> None:
    with sqlite3.connect(path) as database:
        database.execute(sql, arguments)


def flip_a_bit(path: Path) -> None:
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT id, value FROM entries").fetchall()
        database.executemany(
            "UPDATE entries SET value = ? WHERE id = ?",
            [(bytes([*value[:-1], value[-1] ^ 1]), id) for id, value in rows],
        )


def swap_values(path: Path) -> None:
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT id, value FROM entries ORDER BY id").fetchall()
        turned = [(value, id) for (id, _), (_, value) in zip(rows, rows[1:] + rows[:1], strict=True)]
        database.executemany("UPDATE entries SET value = ? WHERE id = ?", turned)


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
        database.execute("DROP TABLE entries")
        database.execute("CREATE TABLE entries (something TEXT)")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (flip_a_bit, None),
        (swap_values, None),
        (lambda path: change_values(path, "UPDATE entries SET value = 7"), None),
        (lambda path: change_values(path, "UPDATE entries SET value = 'text'"), None),
        (lambda path: change_values(path, "UPDATE entries SET value = x''"), None),
        (lambda path: change_values(path, "UPDATE entries SET value = substr(value, 1, 12)"), None),
        (overwrite, "`prism cache clear scores` creates a new one"),
        (cut_off, "continuing without it"),
        (wrong_table, "continuing without it"),
    ],
)
def test_a_damaged_entry_is_unknown(damage: Any, message: str | None, caplog: Any) -> None:
    filled()
    damage(store_path("scores"))
    store = Store("scores")
    assert store.get(keys(50)) == {}
    store.put([(key, key * 3) for key in keys(2)])
    assert store.get(keys(2)) == ({} if message else {key: key * 3 for key in keys(2)})
    assert len(caplog.messages) == (message is not None)
    assert message is None or message in caplog.text


def test_random_bytes_anywhere_in_the_file(caplog: Any) -> None:
    filled(400)
    path = store_path("scores")
    all_in_one_file(path)
    whole, chance = path.read_bytes(), random.Random(1)
    for _ in range(60):
        data = bytearray(whole)
        start = chance.randrange(len(data))
        data[start : start + 200] = chance.randbytes(len(data[start : start + 200]))
        path.write_bytes(data)
        for file in path.parent.glob("*-wal"), path.parent.glob("*-shm"):
            for one in file:
                one.unlink(missing_ok=True)  # a connection that is closed meanwhile removes them, too
        found = Store("scores").get(keys(400))
        assert all(value == key * 3 for key, value in found.items())


def test_columns_of_other_types(home: Path) -> None:
    """A damaged schema returns keys as text; that is no entry, and not an error."""
    home.mkdir()
    with sqlite3.connect(store_path("scores")) as database:
        database.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, key, value)")
        database.execute("CREATE TABLE plain (key TEXT)")
    store = Store("scores")
    store._attempt(lambda database: database.execute("INSERT INTO entries (key, value) VALUES ('k', x'00')"))
    assert not cache._is_whole("k", b"\0" * 20)
    assert store.get([b"k"]) == {}


def test_a_name_that_sqlite_cannot_decode_is_damage(home: Path, caplog: Any) -> None:
    """SQLite quotes damaged names of its schema in errors, which Python then cannot decode."""
    filled(5)
    path = store_path("scores")
    all_in_one_file(path)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"id INTEGER PRIMARY KEY", b"id INTEGER \xff\xfe(,) KEY"))
    for file in (*path.parent.glob("*-wal"), *path.parent.glob("*-shm")):
        file.unlink(missing_ok=True)
    assert Store("scores").get(keys(5)) == {}
    assert "`prism cache clear scores` creates a new one" in caplog.text
    with pytest.raises(PrismError, match="prism cache clear"):
        store_info("scores")
    assert clear_store("scores") is not None
    assert filled(2).get(keys(2)) == {key: key * 3 for key in keys(2)}


def test_a_store_that_failed_holds_no_lock(home: Path) -> None:
    """Others on the file must not wait for a store that has given up."""
    store = filled(3)
    assert store._attempt(lambda database: database.execute("BEGIN EXCLUSIVE").execute("nonsense")) is None
    with sqlite3.connect(store_path("scores"), timeout=0) as database:
        database.execute("DELETE FROM entries")


def test_several_stores_on_one_file_warn_once(tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "file").write_text("")  # not even the superuser can make a folder in a file
    for _ in range(3):
        store = Store("encodings", tmp_path / "file" / "encodings.sqlite")
        store.put([(b"k", b"v")])
        assert store.get([b"k"]) == {}
    [message] = caplog.messages
    assert "cannot use the encodings cache" in message
    assert "set PRISM_CACHE to another folder" in message


def test_a_full_disk(caplog: Any) -> None:
    resource = pytest.importorskip("resource")
    store = filled(2)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))  # fails as a full disk does
    try:
        store.put((key, key * 1000) for key in keys(20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    [message] = caplog.messages
    assert "continuing without it" in message
    assert Store("scores").get(keys(20)) == {key: key * 3 for key in keys(2)}


def test_a_locked_file_is_not_waited_for_without_end(caplog: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(cache, "_PATIENCE", 0.1)
    store = filled(1)
    with sqlite3.connect(store.path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        store.put([(b"k", b"v")])
        assert "locked" in caplog.text
        other.execute("ROLLBACK")


def write_many(path: Path, seed: int) -> None:
    store = Store("scores", path)
    for number in range(seed, 400, 2):
        key = (number // 2).to_bytes(16, "big")
        store.put([(key, key * 3)])


def test_two_processes_make_and_fill_one_file(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    path = tmp_path / "new" / "c.sqlite"
    writers = [context.Process(target=write_many, args=(path, seed)) for seed in (0, 1)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert Store("scores", path).get(keys(200)) == {key: key * 3 for key in keys(200)}


def test_threads_share_a_store(caplog: Any) -> None:
    store = Store("scores")
    threads = [
        threading.Thread(target=lambda part=part: store.put((key, key) for key in keys(80)[part::4]))
        for part in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get(keys(80)) == {key: key for key in keys(80)}
    assert caplog.messages == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_opens_the_file_itself() -> None:
    store = filled(5)
    child = multiprocessing.get_context("fork").Process(target=lambda: store.put([(b"child", b"value")]))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert store.get([b"child", *keys(5)]) == {b"child": b"value", **{key: key * 3 for key in keys(5)}}
