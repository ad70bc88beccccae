"""A random share of the rows, to try a configuration on less."""

from dataclasses import dataclass

from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt.corpus.hashing import fraction
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Filter


class Share(Filter):
    """Keeps a random share of the lines of every source; the pairs of a multi-parallel line stay together."""

    kind = "share"

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        share: float = option("share of the lines to keep")

    config: Config

    def check(self) -> None:
        """Check that the share is between 0 and 1."""
        if not 0 < self.config.share <= 1:
            raise PrismError("share of the share step must be above 0 and at most 1")

    def apply(self, rows: list[Row]) -> list[Row]:
        """Return the rows of the lines that are kept."""
        seed, share = self.context.seed, self.config.share
        return [row for row in rows if fraction(seed, self.kind, row.source, row.line) < share]
