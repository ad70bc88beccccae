"""`prism cache`: what is kept on disk, and how to be rid of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from prism_mt.cli.options import Command, Group, option
from prism_mt.engines import cache
from prism_mt.errors import PrismError
from prism_mt.places import cache_folder
from prism_mt.report.table import Column, Format, Table, render


@dataclass
class InfoOptions:
    """Options of `prism cache info`."""

    format: Format = option("how to print it", "text")


@dataclass
class ClearOptions:
    """Options of `prism cache clear`: none."""


@dataclass
class PruneOptions:
    """Options of `prism cache prune`."""

    limit: str | None = option(
        "keep at most so many bytes, such as 500M or 2G (default: PRISM_CACHE_LIMIT, or 4G)", None, metavar="SIZE"
    )


def run_info(options: InfoOptions) -> None:
    """Print what is in the cache folder and how much room it takes."""
    folder = cache_folder()
    scores = cache.ScoreStore().path
    rows = [("folder", str(folder)), ("limit of scores", _bytes(cache.size_limit()))]
    if scores.exists():
        with _open(scores) as database:
            entries = int(database.execute("SELECT count(*) FROM scores").fetchone()[0])
        rows.append(("scores", f"{entries:,} texts given texts, {_bytes(_size(scores))}"))
    else:
        rows.append(("scores", "none"))
    for part in sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ():
        items = sum(1 for _ in part.iterdir())
        size = sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
        rows.append((part.name, f"{items:,} entries, {_bytes(size)}"))
    print(render(Table((Column("what"), Column("value")), tuple(rows)), options.format), end="")


def run_clear(options: ClearOptions) -> None:
    """Forget all scores; a damaged file is removed."""
    path = cache.ScoreStore().path
    if not path.exists():
        print("there are no scores in the cache")
        return
    before = _size(path)
    try:
        # Other processes may be using the file, so it is emptied rather than removed.
        with closing(cache.connect(path)) as database:
            database.execute("DELETE FROM scores")
            _compact(database)
    except sqlite3.OperationalError as error:
        raise PrismError(f"cannot clear {path}: {error}") from error
    except sqlite3.DatabaseError:
        _remove(path)
    print(f"freed {_bytes(before - _size(path))}")


def run_prune(options: PruneOptions) -> None:
    """Drop the oldest scores until the rest fits."""
    limit = cache.size_limit() if options.limit is None else cache.parse_size(options.limit)
    path = cache.ScoreStore().path
    if not path.exists():
        print("there are no scores in the cache")
        return
    before = _size(path)
    with _open(path) as database:
        dropped = cache.shrink(database, limit)
        if dropped:
            _compact(database)
    print(f"dropped {dropped:,} entries and freed {_bytes(max(0, before - _size(path)))}")


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(cache.connect(path)) as database:
            yield database
    except (sqlite3.Error, OSError) as error:
        remedy = (
            "name another folder with PRISM_CACHE" if isinstance(error, OSError) else "run `prism cache clear`"
        )
        raise PrismError(f"cannot use the cache of scores {path} ({error}): {remedy}") from error


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
    "The cache of scores: how large it is, and how to make it smaller.",
    (
        Command("info", "Show what is kept and how much room it takes.", InfoOptions, run_info),
        Command("clear", "Forget all scores.", ClearOptions, run_clear),
        Command("prune", "Drop the oldest scores until the rest fits.", PruneOptions, run_prune),
    ),
)
