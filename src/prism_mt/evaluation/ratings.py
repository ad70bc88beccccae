"""Individual ratings: a table of who rated which output, with the errors marked."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from prism_mt.stats.arrays import Index, Mask, Matrix, Vector

ALL_RATERS = "all"
"""The rater of scores that are averages or have no rater."""
# Means of the same numbers added in another order must stay equal: human ties matter.
_DECIMALS = 9


@dataclass(frozen=True)
class Error:
    """An error marked by a rater, with its span in the output or in the source if known."""

    category: str
    severity: str
    span: tuple[int, int] | None = None
    """Character offsets of the start and the end (exclusive)."""
    in_source: bool = False


Errors = tuple[Error, ...]


@dataclass(frozen=True, eq=False)
class Ratings:
    """One row per rating: who rated which output, and how; higher scores are better."""

    raters: tuple[str, ...]
    rater: Index
    system: Index
    segment: Index
    score: Vector
    errors: tuple[Errors | None, ...] = ()
    """Error lists of the ratings; None for a rating without one; empty if no rating has one."""

    def __post_init__(self) -> None:
        columns = (self.rater, self.system, self.segment, self.score)
        if any(column.shape != (len(self.score),) for column in columns):
            raise ValueError(f"columns of ratings differ in length: {[len(column) for column in columns]}")
        if self.errors and len(self.errors) != len(self.score):
            raise ValueError(f"{len(self.errors)} lists of errors for {len(self.score)} ratings")

    def __len__(self) -> int:
        return len(self.score)

    @classmethod
    def from_matrix(cls, scores: Matrix) -> "Ratings":
        """Treat averaged scores (systems × segments, NaN if missing) as the ratings of one rater."""
        # Segment by segment, the usual order of files.
        segment, system = np.nonzero(~np.isnan(scores.T))
        rater = np.zeros(len(segment), dtype=np.int64)
        return cls((ALL_RATERS,), rater, system, segment, scores[system, segment])

    @property
    def has_errors(self) -> bool:
        """Whether every rating has a list of errors, which may be empty."""
        return bool(self.errors) and all(errors is not None for errors in self.errors)

    def rows(self) -> Iterator[tuple[int, int, int, float]]:
        """Rater, system, segment and score of every rating, in the order of the data."""
        columns = (self.rater, self.system, self.segment, self.score)
        return zip(*(column.tolist() for column in columns), strict=True)

    def average(self, systems: int, segments: int) -> Matrix:
        """Average over raters, systems × segments; NaN for outputs that nobody rated."""
        cell = self.system * segments + self.segment
        count = np.bincount(cell, minlength=systems * segments)
        total = np.bincount(cell, weights=self.score, minlength=systems * segments)
        means: Matrix = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
        several = count > 1
        means[several] = np.round(means[several], _DECIMALS)
        return means.reshape(systems, segments)

    def marked(self, systems: int, segments: int) -> Mask:
        """Outputs (systems × segments) in which some rater marked an error."""
        found = np.zeros((systems, segments), dtype=np.bool_)
        for system, segment, errors in zip(self.system, self.segment, self.errors, strict=True):
            if errors:
                found[system, segment] = True
        return found

    def select(self, systems: Index, segments: Index) -> "Ratings":
        """Keep ratings by the new indices of systems and segments; -1 drops one."""
        system, segment = systems[self.system], segments[self.segment]
        kept = (system >= 0) & (segment >= 0)
        errors = tuple(own for own, keep in zip(self.errors, kept, strict=True) if keep) if self.errors else ()
        return replace(
            self,
            rater=self.rater[kept],
            system=system[kept],
            segment=segment[kept],
            score=self.score[kept],
            errors=errors,
        )
