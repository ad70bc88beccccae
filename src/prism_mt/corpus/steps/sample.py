"""Temperature sampling: the mixture of groups, pairs and languages."""

import math
from dataclasses import dataclass

from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt.corpus.steps.base import Cell, Corpus, check_names
from prism_mt.corpus.steps.quota import Drawn, Quota, spread


class Sample(Drawn):
    """Draws a fixed number of rows: first a share for each group, then pairs in proportion to size ** (1 / T).

    A cell whose share exceeds its size is repeated, up to a limit.
    """

    kind = "sample"
    counts = ("total",)

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        total: int = option("rows to draw")
        temperature: float = option("draw pairs in proportion to size ** (1 / temperature)", 1.0)
        shares: dict[str, float] = option("relative share of each group; empty: all sources are one group", {})
        languages: dict[str, float] = option(
            "factor on every pair with a language, as in `zh = 3`; of two factors the one further from 1 counts",
            {},
        )
        max_repeat: float = option("maximum number of times a row may occur", 1.0)

    config: Config

    def check(self) -> None:
        """Check that languages are known and numbers are positive."""
        check_names(self.config.languages, self.context.languages, "the language")
        check_names(self.config.shares, self.context.groups, "the group")
        numbers = (self.config.total, self.config.temperature, self.config.max_repeat)
        if min(*numbers, *self.config.languages.values(), *self.config.shares.values()) <= 0:
            raise PrismError("all numbers of the sample step must be above 0")

    def prepare(self, corpus: Corpus) -> None:
        """Compute how many rows of each cell are wanted."""
        sizes = corpus.sizes()
        groups: dict[str, dict[Cell, int]] = {}
        for (source, pair), size in sizes.items():
            name = self.context.groups[source] if self.config.shares else ""
            groups.setdefault(name, {})[source, pair] = size
        shares = self._shares(groups)
        wanted: dict[Cell, int] = {}
        for name, cells in groups.items():
            total = round(self.config.total * shares[name])
            weights = {cell: self._weight(cell, size) for cell, size in self._pooled(cells).items()}
            limits = {cell: size * self.config.max_repeat for cell, size in cells.items()}
            wanted |= spread(total, weights, limits)
        self.quotas = {cell: Quota(size, wanted[cell]) for cell, size in sizes.items()}

    def _shares(self, groups: dict[str, dict[Cell, int]]) -> dict[str, float]:
        given = self.config.shares or {"": 1.0}
        if set(given) != set(groups):
            odd = ", ".join(sorted(set(given) ^ set(groups)))
            raise PrismError(f"the shares of the sample step and the groups of the sources differ: {odd}")
        return {name: share / sum(given.values()) for name, share in given.items()}

    def _pooled(self, cells: dict[Cell, int]) -> dict[Cell, float]:
        """Each cell's part of its pair's tempered size: the temperature applies to pairs, not files."""
        pairs: dict[str, int] = {}
        for (_, pair), size in cells.items():
            pairs[pair] = pairs.get(pair, 0) + size
        power = 1.0 / self.config.temperature
        return {cell: pairs[cell[1]] ** power * size / pairs[cell[1]] for cell, size in cells.items()}

    def _weight(self, cell: Cell, size: float) -> float:
        factors = [self.config.languages.get(language, 1.0) for language in cell[1].split("-")]
        return size * max(factors, key=lambda factor: abs(math.log(factor)))
