"""Draw an exact number of rows from each cell, at random but reproducibly."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from prism_mt.corpus.hashing import hash64
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Cell, Copies, Ordered


class Quota:
    """Selection sampling: of `size` rows to come, `wanted` are taken, each subset with equal probability.

    A quota above the size takes every row as often as it fits and draws the remainder.
    """

    def __init__(self, size: int, wanted: int) -> None:
        self.every, self._wanted = divmod(wanted, size) if size else (0, 0)
        self._left = size

    def take(self, chances: npt.NDArray[np.float64]) -> Copies:
        """Return the copies of the next rows; each row has a random number in [0, 1)."""
        if self._wanted == 0 or self._wanted == self._left:
            drawn = int(self._wanted > 0)
            self._left -= len(chances)
            self._wanted -= drawn * len(chances)
            return np.full(len(chances), self.every + drawn, dtype=np.int64)
        copies = np.full(len(chances), self.every, dtype=np.int64)
        for place, chance in enumerate(chances.tolist()):
            if chance * self._left < self._wanted:
                copies[place] += 1
                self._wanted -= 1
            self._left -= 1
        return copies


class Drawn(Ordered):
    """An ordered step that fills a quota per cell; subclasses set `quotas` in `prepare`."""

    needs_corpus = True
    quotas: dict[Cell, Quota]

    def keys(self, rows: list[Row]) -> npt.NDArray[Any]:
        """A random number for each row, from the seed, its position and its texts."""
        seed = f"{self.context.seed}\t{self.kind}"
        chances = [hash64(f"{seed}\t{row.line}\t{row.text1}\t{row.text2}") / 2.0**64 for row in rows]
        return np.array(chances, dtype=np.float64)

    def decide(self, keys: npt.NDArray[Any], cells: Sequence[tuple[Cell, int]]) -> Copies:
        """Return copies according to the quota of each row's cell."""
        copies, start = [], 0
        for cell, length in cells:
            copies.append(self.quotas[cell].take(keys[start : start + length]))
            start += length
        return np.concatenate(copies) if copies else np.zeros(0, dtype=np.int64)


def spread(total: int, weights: dict[Cell, float], limits: dict[Cell, float]) -> dict[Cell, int]:
    """Distribute `total` by weight, none above its limit; what a full cell cannot take goes to the others."""
    shares: dict[Cell, float] = {}
    open_cells = dict(weights)
    left = float(total)
    while open_cells and left > 0:
        scale = left / sum(open_cells.values())
        full = [cell for cell, weight in open_cells.items() if weight * scale >= limits[cell]]
        if not full:
            shares |= {cell: weight * scale for cell, weight in open_cells.items()}
            break
        for cell in full:
            shares[cell] = limits[cell]
            left -= limits[cell]
            del open_cells[cell]
    # Rounding the running sum preserves the total.
    ends = list(itertools.accumulate(shares.get(cell, 0.0) for cell in weights))
    starts = [0.0, *ends[:-1]]
    return {cell: round(end) - round(start) for cell, start, end in zip(weights, starts, ends, strict=True)}
