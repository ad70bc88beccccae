"""The user's cache of computed results (token scores, n-best lists, …), one SQLite file for each kind.

A broken cache costs time, never a result: every entry has a checksum, a damaged entry counts as a miss, and a file
that cannot be used is ignored after one warning.
"""

import contextlib
import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, get_args

from prism_mt import __version__
from prism_mt._core.environment import cache_folder, make_cache_folder
from prism_mt._core.errors import PrismError

StoreName = Literal["scores", "encodings", "nbest", "studies"]
STORES: tuple[StoreName, ...] = get_args(StoreName)
DEFAULT_LIMITS: dict[StoreName, int] = {
    "scores": 4 << 30,
    "encodings": 32 << 30,
    "nbest": 4 << 30,
    "studies": 1 << 30,
}
"""Bytes. 4 GiB hold about ten million segments scored in both directions; a text's vectors can take 160 kB."""

Result = TypeVar("Result")

_LOG = logging.getLogger("prism_mt")
_PATIENCE = 30.0
"""Seconds to wait for another process to finish writing."""
_CHECKSUM = 8
_TABLE = (
    "CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL)"
)
_warned: set[Path] = set()
"""Files whose failure has been reported, so that several stores on one file warn only once."""


class Keys:
    """Keys of entries that share a scope: everything that a result depends on apart from its input.

    The package version is part of every scope, so an update never returns results of older code.
    """

    def __init__(self, *scope: str) -> None:
        self._scope = hashlib.blake2b(repr((__version__, *scope)).encode(), digest_size=16)

    def key(self, *parts: bytes) -> bytes:
        """Return the key of one input; the same bytes split differently into parts yield a different key."""
        digest = self._scope.copy()
        for part in parts:
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
        return digest.digest()


class Store:
    """Values by key in one file, shared by any number of threads and processes on one machine.

    When the file exceeds its limit, the oldest entries are dropped, by order of insertion rather than by clock.
    """

    def __init__(self, name: StoreName, path: Path | None = None, limit: int | None = None) -> None:
        self.name = name
        self.path = path or store_path(name)
        self._limit = size_limit(name) if limit is None else limit
        self._database: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._usable = True

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of the keys that are present and undamaged."""

        def read(database: sqlite3.Connection) -> dict[bytes, bytes]:
            found: dict[bytes, bytes] = {}
            for start in range(0, len(keys), 500):
                some = keys[start : start + 500]
                marks = ",".join("?" * len(some))
                found.update(database.execute(f"SELECT key, value FROM entries WHERE key IN ({marks})", some))
            return found

        found = self._attempt(read) or {}
        return {key: value[_CHECKSUM:] for key, value in found.items() if _is_whole(key, value)}

    def put(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Add values in one transaction; once this returns, they survive a crash or power failure."""
        rows = [(key, _checksum(key, value) + value) for key, value in items]

        def write(database: sqlite3.Connection) -> None:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT OR REPLACE INTO entries (key, value) VALUES (?, ?)", rows)
            database.execute("COMMIT")
            if _used_bytes(database) > self._limit:
                _shrink(database, self._limit * 9 // 10)

        if rows:
            self._attempt(write)

    def _attempt(self, work: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """Run `work` on the file; after the first error of any kind, warn and stop using the file."""
        with self._lock:
            if not self._usable:
                return None
            try:
                return work(self._connection())
            except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # the last: SQLite quotes damaged names
                self._usable = False
                self._close()
                if self.path.absolute() not in _warned:
                    _warned.add(self.path.absolute())
                    _LOG.warning("%s", _advice(self.name, self.path, error))
                return None

    def _close(self) -> None:
        """Give up the connection: its locks would make every other store on the file wait."""
        with contextlib.suppress(sqlite3.Error):
            if self._database is not None and self._process == os.getpid():
                self._database.close()
        self._database = None

    def _connection(self) -> sqlite3.Connection:
        """Return the open connection; a forked process must not use its parent's."""
        if self._database is None or self._process != os.getpid():
            self._database, self._process = _create(self.path), os.getpid()
        return self._database


class StoreInfo(NamedTuple):
    """The state of one store."""

    name: StoreName
    entries: int
    size: int
    """Bytes on disk."""
    limit: int


class Freed(NamedTuple):
    """What clearing or pruning a store removed."""

    entries: int
    size: int


def store_path(name: StoreName) -> Path:
    """Return the path of a store in the user's cache directory."""
    return cache_folder() / f"{name}.sqlite"


def store_info(name: StoreName) -> StoreInfo | None:
    """Count the entries of a store; None if it has no file."""
    path = store_path(name)
    if not path.exists():
        return None
    with _open(path) as database:
        return StoreInfo(name, _count(database), _size(path), size_limit(name))


def prune_store(name: StoreName, limit: int | None = None) -> Freed | None:
    """Drop the oldest entries until at most `limit` bytes are in use; None if the store has no file."""
    path = store_path(name)
    if not path.exists():
        return None
    before = _size(path)
    with _open(path) as database:
        dropped = _shrink(database, size_limit(name) if limit is None else limit) if _has_table(database) else 0
        if dropped:
            _compact(database)
    return Freed(dropped, max(0, before - _size(path)))


def clear_store(name: StoreName) -> Freed | None:
    """Drop all entries of a store; None if it has no file.

    Other processes may be using the file, so it is emptied rather than removed, unless it is damaged.
    """
    path = store_path(name)
    if not path.exists():
        return None
    before, dropped = _size(path), 0
    _warned.discard(path.absolute())
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as database:
            if not _has_table(database):
                raise sqlite3.DatabaseError("no table")
            dropped = database.execute("DELETE FROM entries").rowcount
            _compact(database)
    except sqlite3.OperationalError as error:
        raise PrismError(f"cannot clear {path}: {error}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        _remove(path)
    return Freed(dropped, max(0, before - _size(path)))


def size_limit(name: StoreName) -> int:
    """Return the maximum size of a store in bytes: `PRISM_CACHE_LIMIT` (such as 500M or 20G), or its default."""
    text = os.environ.get("PRISM_CACHE_LIMIT")
    return parse_size(text) if text else DEFAULT_LIMITS[name]


def parse_size(text: str) -> int:
    """Parse a size with an optional suffix K, M, G or T (powers of 1024)."""
    digits = text.strip().upper().removesuffix("B").removesuffix("I")
    power = "KMGT".find(digits[-1:]) + 1 if digits[-1:] else 0
    try:
        size = float(digits[:-1] if power else digits) * 1024**power
    except (ValueError, OverflowError):
        size = -1.0
    if not 0 <= size < float("inf"):
        raise PrismError(f"{text!r} is not a size: write a number of bytes such as 500M or 20G")
    return int(size)


def _create(path: Path) -> sqlite3.Connection:
    """Open a file, creating it and its directory if necessary."""
    make_cache_folder(path.parent)
    database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    # SQLite itself does not wait while another process creates the same file.
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            for command in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", _TABLE):
                database.execute(command)
            return database
        except (sqlite3.Error, UnicodeDecodeError) as error:
            locked = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
            if not locked or time.monotonic() > deadline:
                database.close()
                raise
            time.sleep(0.05)


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing file; an error becomes one sentence."""
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as database:
            yield database
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise PrismError(f"cannot use {path} ({error}): run `prism cache clear`") from error


def _has_table(database: sqlite3.Connection) -> bool:
    """Check for the table: a killed process can leave a file without one."""
    return database.execute("SELECT 1 FROM sqlite_master WHERE name = 'entries'").fetchone() is not None


def _count(database: sqlite3.Connection) -> int:
    return int(database.execute("SELECT count(*) FROM entries").fetchone()[0]) if _has_table(database) else 0


def _shrink(database: sqlite3.Connection, limit: int) -> int:
    """Drop the oldest entries until at most `limit` bytes are in use, and return how many were dropped."""
    dropped = 0
    while _used_bytes(database) > limit:
        first, last = database.execute("SELECT min(id), max(id) FROM entries").fetchone()
        if first is None:
            break
        part = max(1, (last - first + 1) // 8)
        dropped += database.execute("DELETE FROM entries WHERE id < ?", (first + part,)).rowcount
    return dropped


def _used_bytes(database: sqlite3.Connection) -> int:
    """Count the bytes in use; pages freed by pruning are reused before the file grows."""
    pages, free, size = (
        int(database.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _compact(database: sqlite3.Connection) -> None:
    database.execute("VACUUM")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _files(path: Path) -> list[Path]:
    """The database and the files that SQLite keeps beside it."""
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]


def _size(path: Path) -> int:
    total = 0
    for file in _files(path):
        with contextlib.suppress(FileNotFoundError):
            total += file.stat().st_size
    return total


def _remove(path: Path) -> None:
    try:
        for file in _files(path):
            file.unlink(missing_ok=True)
    except OSError as error:
        raise PrismError(f"cannot remove {path}: {error.strerror}") from error


def _advice(name: str, path: Path, error: Exception) -> str:
    """Describe what went wrong with a file and what to do about it."""
    cause = (getattr(error, "strerror", None) or str(error)) if isinstance(error, OSError) else str(error)
    damaged = isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError)
    damaged = damaged and not isinstance(error, sqlite3.OperationalError)
    remedy = f"`prism cache clear {name}` creates a new one" if damaged else "set PRISM_CACHE to another folder"
    return f"cannot use the {name} cache {path} ({cause}); continuing without it: {remedy}"


def _checksum(key: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(key + value, digest_size=_CHECKSUM).digest()


def _is_whole(key: object, value: object) -> bool:
    """Check the types, too: in a damaged table a column can come back as text or a number."""
    return (
        isinstance(key, bytes)
        and isinstance(value, bytes)
        and value[:_CHECKSUM] == _checksum(key, value[_CHECKSUM:])
    )
