"""Keep the sentences of held-out files out of the training data."""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.corpus.hashing import Hashes, sentence_key
from prism_mt.corpus.readers import read_lines
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Filter


class Decontaminate(Filter):
    """Drops rows with a side that equals a held-out sentence, apart from case, spaces and punctuation."""

    kind = "decontaminate"

    def apply(self, rows: list[Row]) -> list[Row]:
        """Return the rows that share no sentence with the held-out files."""
        overlaps = load_held_out(self.context.heldout).overlaps(rows)
        return [row for row, held in zip(rows, overlaps, strict=True) if not held]


class HeldOut:
    """The sentences of held-out files, as sorted hashes."""

    def __init__(self, paths: Iterable[Path]) -> None:
        keys = [sentence_key(text) for path in paths for text in read_sentences(path)]
        self._keys: Hashes = np.unique(np.array(keys, dtype=np.uint64))

    def overlaps(self, rows: list[Row]) -> list[bool]:
        """Whether a side of each row is held out."""
        if not len(self._keys) or not rows:
            return [False] * len(rows)
        cache: dict[str, int] = {}
        keys = np.array([[_cached(cache, row.text1), _cached(cache, row.text2)] for row in rows], dtype=np.uint64)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found: list[bool] = (self._keys[places] == keys).any(axis=1).tolist()
        return found


@lru_cache(maxsize=1)
def load_held_out(paths: tuple[Path, ...]) -> HeldOut:
    """Read the sentences of these files, once per process."""
    return HeldOut(paths)


def _cached(cache: dict[str, int], text: str) -> int:
    key = cache.get(text)
    if key is None:
        key = cache[text] = sentence_key(text)
    return key


def read_sentences(path: Path) -> Iterator[str]:
    """Yield every text of a held-out file: the values of JSON lines, the columns of TSV, or whole lines."""
    kind = next((suffix for suffix in reversed(path.suffixes) if suffix not in (".gz", ".xz")), "")
    for number, line in enumerate(read_lines(path), 1):
        try:
            text = line.decode("utf-8")
            if kind == ".jsonl":
                found: dict[str, Any] = json.loads(text)
                yield from (v for k, v in found.items() if not k.startswith("_") and isinstance(v, str))
            else:
                # Language codes and other short columns are not sentences.
                yield from (column for column in text.split("\t") if len(column) > 3)
        except (ValueError, AttributeError) as error:
            raise PrismError(f"{path}, line {number}: not valid UTF-8 or JSON") from error
