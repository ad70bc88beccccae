"""Limit the number of rows per language pair or language."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Cell, Copies, Corpus, check_names
from prism_mt.corpus.steps.quota import Drawn, Quota


class Cap(Drawn):
    """Keeps a limited number of rows per pair and language, at random or those with the best margins."""

    kind = "cap"
    counts = ("pair", "language")

    @dataclass(frozen=True)
    class Config:
        """Settings of the step; a limit of 0 means none."""

        pair: int = option("maximum number of rows per language pair; 0: no limit", 0)
        language: int = option("maximum number of rows per language; 0: no limit", 0)
        groups: list[str] = option("count and cap only rows of these groups; empty: all", [])
        pairs: list[str] = option("count and cap only these language pairs; empty: all", [])
        by: Literal["random", "margin"] = option("keep rows at random, or those with the best margins", "random")

    config: Config

    def check(self) -> None:
        """Check that groups are known, and that margins are compared within a pair."""
        check_names(self.config.groups, self.context.groups, "the group")
        languages = [code for pair in self.config.pairs for code in pair.split("-")]
        check_names(languages, self.context.languages, "the language")
        if min(self.config.pair, self.config.language) < 0:
            raise PrismError("a limit of the cap step must not be negative")
        if self.config.by == "margin" and self.config.groups:
            raise PrismError("a cap by margin is per language pair over all groups: leave out groups")

    @property
    def _pairs(self) -> set[str]:
        """The pairs as rows name them, with languages in alphabetical order."""
        return {"-".join(sorted(pair.split("-"))) for pair in self.config.pairs}

    def prepare(self, corpus: Corpus) -> None:
        """Compute how many rows of each cell may stay."""
        sizes = corpus.sizes()
        capped = {cell: size for cell, size in sizes.items() if self._concerns(cell)}
        wanted = dict(sizes) | capped_sizes(capped, self.config.pair, self.config.language)
        if self.config.by == "margin":
            self._prepare_margins(corpus, {cell: wanted[cell] for cell in capped})
        self.quotas = {cell: Quota(size, wanted[cell]) for cell, size in sizes.items()}

    def keys(self, rows: list[Row]) -> npt.NDArray[Any]:
        """The margin of each row, or a random number."""
        if self.config.by == "random":
            return super().keys(rows)
        return np.array([np.nan if row.margin is None else row.margin for row in rows], dtype=np.float32)

    def decide(self, keys: npt.NDArray[Any], cells: Sequence[tuple[Cell, int]]) -> Copies:
        """Return 1 for rows within the limits."""
        if self.config.by == "random":
            return super().decide(keys, cells)
        copies, start = np.ones(len(keys), dtype=np.int64), 0
        for (_, pair), length in cells:
            if pair in self._best:
                copies[start : start + length] = self._best[pair].take(keys[start : start + length])
            start += length
        return copies

    def _concerns(self, cell: Cell) -> bool:
        group, pair = self.context.groups[cell[0]], cell[1]
        return (not self.config.groups or group in self.config.groups) and (
            not self.config.pairs or pair in self._pairs
        )

    def _prepare_margins(self, corpus: Corpus, wanted: dict[Cell, int]) -> None:
        """Find each pair's margin threshold: that of the last row to stay."""
        margins = {pair: array("f") for _, pair in wanted}
        for row in corpus.rows():
            if row.pair in margins:
                if row.margin is None:
                    raise PrismError(f"a cap by margin needs margins, and {row.pair} has rows without one")
                margins[row.pair].append(row.margin)
        self._best = {
            pair: _Best(np.array(found, dtype=np.float32), sum(n for cell, n in wanted.items() if cell[1] == pair))
            for pair, found in margins.items()
        }


class _Best:
    """Takes the rows with the largest margins; among equal ones at the limit, the first ones."""

    def __init__(self, margins: npt.NDArray[np.float32], wanted: int) -> None:
        self._limit = np.float32(np.inf) if wanted == 0 else np.partition(margins, -wanted)[-wanted]
        self._ties = wanted - int((margins > self._limit).sum())

    def take(self, margins: npt.NDArray[np.float32]) -> Copies:
        """Return 1 for the rows that stay."""
        above = margins > self._limit
        equal = margins == self._limit
        equal &= np.cumsum(equal) <= self._ties
        self._ties -= int(equal.sum())
        copies: Copies = (above | equal).astype(np.int64)
        return copies


def capped_sizes(sizes: dict[Cell, int], pair_limit: int, language_limit: int) -> dict[Cell, int]:
    """Compute the rows of each cell under the limits; cells share a limit in proportion to their size."""
    pairs: dict[str, float] = {}
    for (_, pair), size in sizes.items():
        pairs[pair] = pairs.get(pair, 0.0) + size
    factors = {pair: min(1.0, pair_limit / total) if pair_limit else 1.0 for pair, total in pairs.items()}
    if language_limit:
        languages: dict[str, float] = {}
        for pair, total in pairs.items():
            for language in set(pair.split("-")):
                languages[language] = languages.get(language, 0.0) + total * factors[pair]
        for pair in factors:
            factors[pair] *= min(1.0, *(language_limit / languages[language] for language in pair.split("-")))
    return _rounded(sizes, factors)


def _rounded(sizes: dict[Cell, int], factors: dict[str, float]) -> dict[Cell, int]:
    """Round so that the cells of a pair add up to the pair's limit, instead of losing one row per cell."""
    before: dict[str, int] = {}
    rounded = {}
    for cell, size in sizes.items():
        start, factor = before.get(cell[1], 0), factors[cell[1]]
        before[cell[1]] = start + size
        # The tolerance keeps 100,000 / 250,000 of 250,000 from becoming 99,999.
        rounded[cell] = int((start + size) * factor + 1e-6) - int(start * factor + 1e-6)
    return rounded
