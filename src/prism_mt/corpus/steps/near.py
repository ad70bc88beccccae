"""Near duplicates: rows that share most of their text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt.corpus.hashing import HashSet, hash64
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Cell, Context, Copies, Ordered

_SHINGLE = 5


class NearDuplicates(Ordered):
    """Drops a row that nearly equals an earlier one of its language pair, by MinHash over character 5-grams.

    The signature of a row is split into bands; rows that agree in a whole band count as near duplicates. With the
    defaults, two rows that share 95 % of their 5-grams are found 99 times in 100, with 80 % 52 times, with 50 % twice.
    """

    kind = "near-duplicates"

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        bands: int = option("bands per signature; more bands require less similarity", 4)
        band_size: int = option("values per band; more values require more similarity", 8)

    config: Config

    def __init__(self, config: Config, context: Context) -> None:
        super().__init__(config, context)
        self._seen = HashSet()

    def check(self) -> None:
        """Check that a signature has at least one value."""
        if min(self.config.bands, self.config.band_size) < 1:
            raise PrismError("bands and band_size of the near-duplicates step must be above 0")

    def keys(self, rows: list[Row]) -> npt.NDArray[Any]:
        """One hash per band; the minimum hashes of a pair are the minima over its two sides."""
        texts = {text: place for place, text in enumerate(dict.fromkeys(t for row in rows for t in row[4:6]))}
        size = self.config.bands * self.config.band_size
        # Odd factors yield different permutations of the 64-bit numbers; they must never change.
        factors = np.array([hash64(f"factor {i}") | 1 for i in range(size)], dtype=np.uint64)
        minimums = np.array([_minimums(text, factors) for text in texts], dtype=np.uint64).reshape(-1, size)
        sides = np.array([[texts[row.text1], texts[row.text2]] for row in rows], dtype=np.int64).reshape(-1, 2)
        signatures = np.minimum(minimums[sides[:, 0]], minimums[sides[:, 1]])
        pairs = np.array([hash64(row.pair) for row in rows], dtype=np.uint64)
        keys = pairs[:, None] ^ np.arange(self.config.bands, dtype=np.uint64)
        for values in np.moveaxis(signatures.reshape(len(rows), self.config.bands, -1), 2, 0):
            keys = _mix(keys, values)
        return keys

    def decide(self, keys: npt.NDArray[Any], cells: Sequence[tuple[Cell, int]]) -> Copies:
        """Return 0 for a row that agrees in a band with a row that was kept."""
        found = self._seen.contains(keys.reshape(-1)).reshape(keys.shape)
        known: list[bool] = np.any(found, axis=1).tolist()
        copies = np.zeros(len(keys), dtype=np.int64)
        fresh: set[int] = set()
        for place, (old, bands) in enumerate(zip(known, keys.tolist(), strict=True)):
            if not old and fresh.isdisjoint(bands):
                fresh.update(bands)
                copies[place] = 1
        self._seen.add(np.fromiter(fresh, dtype=np.uint64, count=len(fresh)))
        return copies


def _letters(text: str) -> str:
    """The text without what near duplicates mostly differ in: case, digits and punctuation."""
    letters = (character if character.isalpha() else " " for character in text.casefold())
    return " ".join("".join(letters).split())


def _minimums(text: str, factors: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """For each factor, the smallest of the multiplied hashes of the text's character 5-grams."""
    letters = _letters(text).ljust(_SHINGLE)
    codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    count = len(codes) - _SHINGLE + 1
    shingles = np.zeros(count, dtype=np.uint64)
    for offset in range(_SHINGLE):
        shingles = _mix(shingles, codes[offset : offset + count])
    minimums: npt.NDArray[np.uint64] = (np.unique(shingles)[:, None] * factors[None, :]).min(axis=0)
    return minimums


def _mix(hashes: npt.NDArray[np.uint64], values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Combine hashes with values; numbers wrap around at 64 bits."""
    mixed = (hashes ^ values) * np.uint64(0x9E3779B97F4A7C15)
    # Multiplication only carries upward: without this the low bits would never mix.
    return mixed ^ (mixed >> np.uint64(29))
