"""Limits of the cache, and how it is pruned and cleared."""

from pathlib import Path
from typing import Any

import pytest

from prism_mt._core.cache import (
    STORES,
    Store,
    clear_store,
    parse_size,
    prune_store,
    size_limit,
    store_info,
    store_path,
)
from prism_mt._core.errors import PrismError

KEYS = [number.to_bytes(16, "big") for number in range(4000)]


def test_the_oldest_entries_go_first() -> None:
    limit = 200_000
    store = Store("scores", limit=limit)
    for start in range(0, 4000, 50):
        store.put((key, key * 10) for key in KEYS[start : start + 50])
    found = store.get(KEYS)
    kept = [key in found for key in KEYS]
    assert kept == sorted(kept)  # only the first are gone
    assert 400 < sum(kept) < 1200  # 200 kB at about 230 bytes each
    assert found[KEYS[-1]] == KEYS[-1] * 10
    assert store.path.stat().st_size < 1.2 * limit


def test_nothing_fits() -> None:
    store = Store("nbest", limit=0)
    store.put([(b"k" * 16, b"value")])
    assert store.get([b"k" * 16]) == {}


def test_info_prune_and_clear() -> None:
    assert (store_info("scores"), prune_store("scores"), clear_store("scores")) == (None, None, None)
    store = Store("encodings")
    store.put((key, bytes(10_000)) for key in KEYS[:16])
    info = store_info("encodings")
    assert info is not None
    assert info[:2] == ("encodings", 16)
    assert info.size > 160_000
    pruned = prune_store("encodings", 60_000)
    assert pruned is not None
    assert pruned.size > 80_000
    left = store.get(KEYS[:16])
    assert len(left) == 16 - pruned.entries
    assert list(left) == KEYS[pruned.entries : 16]
    cleared = clear_store("encodings")
    assert cleared is not None
    assert cleared.entries == len(left)
    assert store.get(KEYS[:16]) == {}
    store.put([(b"k", b"v")])  # a process that has the file open goes on with it
    assert Store("encodings").get([b"k"]) == {b"k": b"v"}


@pytest.mark.parametrize("content", [b"", b"x" * 5000])
def test_what_is_no_database_is_removed(home: Path, content: bytes) -> None:
    home.mkdir()
    store_path("scores").write_bytes(content)
    if content:
        with pytest.raises(PrismError, match="run `prism cache clear`"):
            store_info("scores")
    freed = clear_store("scores")
    assert freed is not None
    assert freed.size == len(content)
    assert not store_path("scores").exists()


def test_a_failure_is_told_again_after_the_file_was_cleared(home: Path, caplog: Any) -> None:
    home.mkdir()
    for count in (1, 2):
        store_path("scores").write_bytes(b"x" * 5000)
        Store("scores").get([b"k"])
        assert len(caplog.messages) == count
        clear_store("scores")


@pytest.mark.parametrize(
    ("text", "size"),
    [("1000", 1000), ("2K", 2048), ("1.5M", 3 << 19), ("20G", 20 << 30), ("1 TiB", 1 << 40), ("5gb", 5 << 30)],
)
def test_sizes(text: str, size: int, monkeypatch: Any) -> None:
    assert parse_size(text) == size
    monkeypatch.setenv("PRISM_CACHE_LIMIT", text)
    assert [size_limit(name) for name in STORES] == [size] * len(STORES)


@pytest.mark.parametrize("text", ["", "much", "G", "1.2.3M", "nan", "inf", "-1G"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(PrismError, match="is not a size"):
        parse_size(text)
