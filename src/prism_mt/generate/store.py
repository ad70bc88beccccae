"""Generated lists that are kept: the same text is searched once per model and options, and a killed run goes on."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from prism_mt.errors import PrismError
from prism_mt.generate.generator import Generator, Hypothesis, Route
from prism_mt.places import cache_folder


class StoredLists:
    """Hypotheses for texts of one route, from the user's cache where they are known."""

    def __init__(self, generator: Generator, route: Route) -> None:
        self._generator = generator
        self._route = route
        options = generator.options
        key = json.dumps([options.signature(), options.n, list(route)])
        name = f"{generator.model.digest[:24]}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.sqlite"
        self.path = cache_folder() / "paraphrases" / name

    def lists(self, texts: Mapping[str, str]) -> dict[str, list[Hypothesis]]:
        """The hypotheses of every text; those that are not known yet are generated and kept, one by one.

        `texts` says for each what a message should call it.
        """
        with _database(self.path) as database:
            known = {}
            for text in texts:
                row = database.execute("SELECT list FROM lists WHERE text = ?", (text,)).fetchone()
                if row:
                    known[text] = [Hypothesis(*one) for one in json.loads(row[0])]
            missing = [text for text in texts if text not in known]
            made = self._generator.generate(missing, self._route, lambda place: texts[missing[place]])
            for text, found in zip(missing, made, strict=True):
                known[text] = found
                packed = json.dumps([list(one) for one in found], ensure_ascii=False)
                with database:
                    database.execute("INSERT OR REPLACE INTO lists VALUES (?, ?)", (text, packed))
        return known


@contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    """The store at this path, made when it is not there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=60)) as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("CREATE TABLE IF NOT EXISTS lists (text TEXT PRIMARY KEY, list TEXT NOT NULL)")
            yield database
    except (sqlite3.Error, OSError) as error:
        raise PrismError(f"cannot use the stored paraphrases in {path} ({error}): delete that file") from error
