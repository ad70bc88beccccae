"""Exact duplicates."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from prism_mt.corpus.hashing import HashSet, hash64
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Cell, Context, Copies, Ordered


class Deduplicate(Ordered):
    """Keeps the first of several rows with the same languages and texts."""

    kind = "deduplicate"

    def __init__(self, config: Any, context: Context) -> None:
        super().__init__(config, context)
        self._seen = HashSet()

    def keys(self, rows: list[Row]) -> npt.NDArray[Any]:
        """A hash of languages and texts."""
        return np.array([hash64("\t".join(row[2:6])) for row in rows], dtype=np.uint64)

    def decide(self, keys: npt.NDArray[Any], cells: Sequence[tuple[Cell, int]]) -> Copies:
        """Return 1 for the first row with a key, 0 for the others."""
        first = np.zeros(len(keys), dtype=bool)
        first[np.unique(keys, return_index=True)[1]] = True
        first &= ~self._seen.contains(keys)
        self._seen.add(keys[first])
        return first.astype(np.int64)
