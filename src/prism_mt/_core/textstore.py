"""What was computed from texts, kept by text: one SQLite file per way of computing it."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""


def prepare(database: sqlite3.Connection, *commands: str) -> None:
    """Commands that make a new file ready; SQLite does not wait by itself for another process that does so, too."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            for command in commands:
                database.execute(command)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@dataclass(frozen=True)
class TextStore:
    """A table of values by text. Errors are SQLite's own, or the operating system's: users differ in what to do."""

    path: Path
    table: str

    @contextmanager
    def open(self) -> Iterator["OpenStore"]:
        """The file, made when it is not there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as database:
            columns = "(text TEXT PRIMARY KEY, value NOT NULL)"
            prepare(database, "PRAGMA journal_mode=WAL", f"CREATE TABLE IF NOT EXISTS {self.table} {columns}")
            yield OpenStore(database, self.table)


@dataclass(frozen=True)
class OpenStore:
    """A store while its file is open."""

    database: sqlite3.Connection
    table: str

    def get(self, texts: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Those texts that are known, once each, with their values."""
        for text in dict.fromkeys(texts):
            row = self.database.execute(f"SELECT * FROM {self.table} WHERE text = ?", (text,)).fetchone()
            if row:
                yield row

    def put(self, rows: Iterable[tuple[str, bytes | str]]) -> None:
        """Add values in one transaction; when this returns, a killed process does not lose them."""
        with self.database:
            self.database.executemany(f"INSERT OR REPLACE INTO {self.table} VALUES (?, ?)", rows)
