"""Token scores that are kept on disk: what was scored once is looked up, and a killed run goes on where it stopped.

Whatever goes wrong with the file costs time, never a score: every entry carries a checksum, and a cache that cannot
be used is left alone after one warning.
"""

import hashlib
import logging
import os
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from prism_mt import __version__
from prism_mt._core.environment import cache_folder
from prism_mt._core.errors import PrismError
from prism_mt._core.textstore import prepare
from prism_mt.engines.base import Engine, Pair, Pending, TokenScores
from prism_mt.engines.factory import EngineOptions, open_engine
from prism_mt.models.directory import ModelDirectory

DEFAULT_LIMIT = 4 << 30
"""Bytes; about ten million segments scored in both directions."""

Result = TypeVar("Result")

_LOG = logging.getLogger("prism_mt")
_PATIENCE = 30.0
"""Seconds to wait for another process that is writing."""
_CHECKSUM = 8
_TABLE = (
    "CREATE TABLE IF NOT EXISTS scores (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL)"
)


def size_limit() -> int:
    """Bytes that the cache may take: `PRISM_CACHE_LIMIT` (such as 500M or 20G), or 4 GiB."""
    text = os.environ.get("PRISM_CACHE_LIMIT")
    return parse_size(text) if text else DEFAULT_LIMIT


def parse_size(text: str) -> int:
    """Bytes from a number with K, M, G or T behind it, in powers of 1024."""
    digits = text.strip().upper().removesuffix("B").removesuffix("I")
    power = "KMGT".find(digits[-1:]) + 1 if digits[-1:] else 0
    try:
        size = float(digits[:-1] if power else digits) * 1024**power
    except (ValueError, OverflowError):
        size = -1.0
    if not 0 <= size < float("inf"):
        raise PrismError(f"{text!r} is not a size: write a number of bytes such as 500M or 20G")
    return int(size)


class ScoreStore:
    """An SQLite file of values by key, shared by any number of processes of one machine.

    Entries that were added first are dropped first when the file grows beyond the limit; no clock is asked.
    """

    def __init__(self, path: Path | None = None, limit: int | None = None) -> None:
        self.path = path or cache_folder() / "scores.sqlite"
        self._limit = size_limit() if limit is None else limit
        self._database: sqlite3.Connection | None = None
        self._broken = False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are known and undamaged."""

        def read(database: sqlite3.Connection) -> dict[bytes, bytes]:
            found: dict[bytes, bytes] = {}
            for start in range(0, len(keys), 500):
                some = keys[start : start + 500]
                marks = ",".join("?" * len(some))
                found.update(database.execute(f"SELECT key, value FROM scores WHERE key IN ({marks})", some))
            return found

        found = self._attempt(read) or {}
        return {key: value[_CHECKSUM:] for key, value in found.items() if _is_whole(key, value)}

    def put(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Add values in one transaction; when this returns, they outlive the process and the machine's power."""
        rows = [(key, _checksum(key, value) + value) for key, value in items]

        def write(database: sqlite3.Connection) -> None:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT OR REPLACE INTO scores (key, value) VALUES (?, ?)", rows)
            database.execute("COMMIT")
            if used_bytes(database) > self._limit:
                shrink(database, self._limit * 9 // 10)

        self._attempt(write)

    def _attempt(self, work: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """Do something with the file; the first error of any kind is told and ends the use of the cache."""
        if self._broken:
            return None
        try:
            self._database = self._database or connect(self.path)
            return work(self._database)
        except (sqlite3.Error, OSError) as error:
            self._broken = True
            _LOG.warning("%s", advice(self.path, error))
            return None


def connect(path: Path) -> sqlite3.Connection:
    """Open or make a cache file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    prepare(database, "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", _TABLE)
    return database


def shrink(database: sqlite3.Connection, limit: int, table: str = "scores") -> int:
    """Drop the oldest entries until at most `limit` bytes are in use; returns how many were dropped."""
    dropped = 0
    while used_bytes(database) > limit:
        first, last = database.execute(f"SELECT min(rowid), max(rowid) FROM {table}").fetchone()
        if first is None:
            break
        part = max(1, (last - first + 1) // 8)
        dropped += database.execute(f"DELETE FROM {table} WHERE rowid < ?", (first + part,)).rowcount
    return dropped


def advice(path: Path, error: Exception) -> str:
    """What went wrong with a cache file, and what to do."""
    cause = (getattr(error, "strerror", None) or str(error)) if isinstance(error, OSError) else str(error)
    damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
    remedy = "`prism cache clear` makes a new one" if damaged else "PRISM_CACHE names another folder"
    return f"cannot use the cache of scores {path} ({cause}); going on without it: {remedy}"


class CachedEngine:
    """An engine that remembers its scores. The model is loaded when there is something new to score."""

    def __init__(self, model: ModelDirectory, options: EngineOptions, store: ScoreStore | None = None) -> None:
        self.name: str = options.engine
        self.dtype: str = options.quantization
        self.temperature = options.temperature
        self._model = model
        self._options = options
        self._store = store or ScoreStore()
        self._scope = hashlib.blake2b(self._identity().encode(), digest_size=16)

    @cached_property
    def engine(self) -> Engine:
        """The engine behind the cache."""
        return open_engine(self._model, self._options)

    @property
    def parallel(self) -> int:
        """As the engine has it."""
        return self.engine.parallel

    @property
    def shares_sources(self) -> bool:
        """As the engine has it."""
        return self.engine.shares_sources

    @property
    def budget(self) -> int:
        """As the engine has it."""
        return self.engine.budget

    def remembered(self, pairs: Sequence[Pair]) -> list[TokenScores | None]:
        """The scores of every pair, or None where they are not known."""
        keys = [self._key(pair) for pair in pairs]
        found = self._store.get(keys)
        scores = [np.frombuffer(found[key], dtype="<f4") if key in found else None for key in keys]
        return [
            tokens if tokens is not None and len(tokens) == len(pair.target) - 1 else None
            for pair, tokens in zip(pairs, scores, strict=True)
        ]

    def submit(self, batch: Sequence[Pair]) -> Pending:
        """Start scoring a batch; its scores are kept as soon as they are there."""
        result = self.engine.submit(batch)

        def wait() -> list[TokenScores]:
            scores = result()
            self._store.put(
                (self._key(pair), tokens.astype("<f4").tobytes())
                for pair, tokens in zip(batch, scores, strict=True)
                if np.isfinite(tokens).all()
            )
            return scores

        return wait

    def _identity(self) -> str:
        """Everything but the pair that a score depends on. In float32 a device changes it by rounding only."""
        from prism_mt.engines.ct2_model import REVISION

        options = self._options
        device = "" if options.quantization == "float32" else _device_kind(options)
        values = (
            self._model.digest,
            options.engine,
            options.quantization,
            float(options.temperature).hex(),
            device,
            str(REVISION),
            __version__,
        )
        return "|".join(values)

    def _key(self, pair: Pair) -> bytes:
        scope = self._scope.copy()
        scope.update(len(pair.source).to_bytes(4, "little"))
        scope.update(array("i", pair.source).tobytes())
        scope.update(array("i", pair.target).tobytes())
        return scope.digest()


def _device_kind(options: EngineOptions) -> str:
    """Quantised products differ between kinds of devices by more than rounding."""
    from prism_mt.engines.ct2 import resolve_device

    if options.ray:
        return "cuda" if options.device == "cuda" else "cpu"
    return resolve_device(options.device.partition(":")[0])


def used_bytes(database: sqlite3.Connection) -> int:
    """Bytes in use; pages that pruning has freed are filled again before the file grows."""
    pages, free, size = (
        int(database.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _checksum(key: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(key + value, digest_size=_CHECKSUM).digest()


def _is_whole(key: bytes, value: object) -> bool:
    return isinstance(value, bytes) and value[:_CHECKSUM] == _checksum(key, value[_CHECKSUM:])
