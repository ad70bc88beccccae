"""`prism cache`: what is kept on disk, and how to be rid of it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.arguments import Command, Group, option
from prism_mt._core.environment import cache_folder
from prism_mt._core.errors import PrismError
from prism_mt.engines import cache
from prism_mt.report.table import Column, Format, Table, render


@dataclass(frozen=True)
class Store:
    """One kind of results: which files have them, in which table, and what an entry is."""

    kind: str
    pattern: str
    table: str
    entries: str

    def files(self) -> list[Path]:
        """Those that are there, the one that was changed longest ago first."""
        return sorted(cache_folder().glob(self.pattern), key=lambda path: path.stat().st_mtime)


STORES = (
    Store("scores", "scores.sqlite", "scores", "texts given texts"),
    Store("encodings", "encodings/*.sqlite", "encodings", "texts as vectors"),
    Store("paraphrases", "paraphrases/*.sqlite", "lists", "texts paraphrased"),
)


@dataclass
class InfoOptions:
    """Options of `prism cache info`."""

    format: Format = option("how to print it", "text")


@dataclass
class ClearOptions:
    """Options of `prism cache clear`."""

    kinds: list[str] = option("scores, encodings, paraphrases (default: all of them)", [], positional=True)


@dataclass
class PruneOptions:
    """Options of `prism cache prune`."""

    kinds: list[str] = option("scores, encodings, paraphrases (default: all of them)", [], positional=True)
    limit: str | None = option(
        "keep at most so many bytes of each kind, such as 500M or 2G (default: PRISM_CACHE_LIMIT, or 4G)",
        None,
        metavar="SIZE",
    )


def run_info(options: InfoOptions) -> None:
    """Print what is in the cache folder and how much room it takes."""
    folder = cache_folder()
    rows = [("folder", str(folder)), ("limit of scores", _bytes(cache.size_limit()))]
    for store in STORES:
        count, files = 0, store.files()
        for path in files:
            with _open(path) as database:
                count += _entries(database, store.table)
        rows.append(
            (store.kind, f"{count:,} {store.entries}, {_bytes(sum(map(_size, files)))}" if files else "none")
        )
    others = [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    for part in sorted(path for path in others if path.name not in {store.kind for store in STORES}):
        items = sum(1 for _ in part.iterdir())
        size = sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
        rows.append((part.name, f"{items:,} entries, {_bytes(size)}"))
    print(render(Table((Column("what"), Column("value")), tuple(rows)), options.format), end="")


def run_clear(options: ClearOptions) -> None:
    """Forget results; damaged files are removed."""
    for store in _chosen(options.kinds):
        files = store.files()
        before = sum(map(_size, files))
        for path in files:
            _clear(path, store.table)
        _say(store, files, f"freed {_bytes(before - sum(map(_size, files)))}")


def run_prune(options: PruneOptions) -> None:
    """Drop the oldest results until the rest fits, beginning with the file that was changed longest ago."""
    limit = cache.size_limit() if options.limit is None else cache.parse_size(options.limit)
    for store in _chosen(options.kinds):
        files = store.files()
        before = sum(map(_size, files))
        dropped = _shrink(files, store.table, limit)
        freed = max(0, before - sum(map(_size, files)))
        _say(store, files, f"dropped {dropped:,} entries and freed {_bytes(freed)}")


def _chosen(kinds: list[str]) -> list[Store]:
    if unknown := set(kinds) - {store.kind for store in STORES}:
        known = ", ".join(store.kind for store in STORES)
        raise PrismError(f"nothing called {', '.join(sorted(unknown))} is kept; there are {known}")
    return [store for store in STORES if not kinds or store.kind in kinds]


def _say(store: Store, files: list[Path], done: str) -> None:
    print(f"{store.kind}: {done}" if files else f"there are no {store.kind} in the cache")


def _clear(path: Path, table: str) -> None:
    """Other processes may be using the file, so it is emptied rather than removed."""
    try:
        with closing(_connect(path)) as database:
            database.execute(f"DELETE FROM {table}")
            _compact(database)
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise PrismError(f"cannot clear {path}: {error}") from error
        _remove(path)
    except sqlite3.DatabaseError:
        _remove(path)


def _shrink(files: list[Path], table: str, limit: int) -> int:
    """How many entries were dropped so that all files together have at most `limit` bytes in use."""
    used = {}
    for path in files:
        with _open(path) as database:
            used[path] = cache.used_bytes(database)
    dropped = 0
    for path in files:
        excess = sum(used.values()) - limit
        if excess <= 0:
            break
        times = path.stat().st_atime_ns, path.stat().st_mtime_ns
        with _open(path) as database:
            dropped += cache.shrink(database, max(0, used[path] - excess), table)
            _compact(database)
            used[path] = cache.used_bytes(database)
        # What remains has not become newer: the next pruning begins with the same file.
        os.utime(path, ns=times)
    return dropped


def _entries(database: sqlite3.Connection, table: str) -> int:
    """How many there are; none in a file that a killed process has left without a table."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
        return 0
    return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=30, isolation_level=None)


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(_connect(path)) as database:
            yield database
    except (sqlite3.Error, OSError) as error:
        raise PrismError(f"cannot use {path} ({error}): run `prism cache clear`") from error


def _compact(database: sqlite3.Connection) -> None:
    database.execute("VACUUM")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _files(path: Path) -> list[Path]:
    """The file and what SQLite keeps beside it."""
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in _files(path) if file.exists())


def _remove(path: Path) -> None:
    try:
        for file in _files(path):
            file.unlink(missing_ok=True)
    except OSError as error:
        raise PrismError(f"cannot remove {path}: {error.strerror}") from error


def _bytes(size: int) -> str:
    """A size for people."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


COMMAND = Group(
    "cache",
    "What is kept of earlier runs: how large it is, and how to make it smaller.",
    (
        Command("info", "Show what is kept and how much room it takes.", InfoOptions, run_info),
        Command("clear", "Forget scores, encodings (vectors of texts) and paraphrases.", ClearOptions, run_clear),
        Command("prune", "Drop the oldest entries until the rest fits.", PruneOptions, run_prune),
    ),
)
