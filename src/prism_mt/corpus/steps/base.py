"""Base classes of steps: filters of independent rows, and ordered decisions that depend on earlier rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from prism_mt._core.errors import PrismError
from prism_mt.corpus.rows import Row

Cell = tuple[int, str]
"""A source index and a language pair: the unit of caps and shares."""
Copies = npt.NDArray[np.int64]
"""Number of copies of each row that go on; 0 drops it."""


@dataclass(frozen=True)
class Context:
    """What every step may know about the whole preparation."""

    seed: int
    languages: tuple[str, ...]
    groups: tuple[str, ...]
    """Group names of the sources, by index."""
    root: Path
    heldout: tuple[Path, ...] = ()


class Corpus(Protocol):
    """All rows that reach a step, for steps that must see them before deciding."""

    directory: Path
    """Directory where a step may save what it has learned for a resumed run."""

    def sizes(self) -> Mapping[Cell, int]:
        """Rows by source and language pair."""
        ...

    def rows(self) -> Iterator[Row]:
        """Every row, in order."""
        ...


class Step(ABC):
    """One step; the class defines its kind, the nested Config its settings."""

    kind: ClassVar[str]
    needs_corpus: ClassVar[bool] = False
    """Whether `prepare` must be called with everything that reaches the step."""

    counts: ClassVar[tuple[str, ...]] = ()
    """Settings that count rows: they shrink when a configuration is scaled down."""
    vocabularies: ClassVar[tuple[str, ...]] = ()
    """Settings that are sizes of vocabularies."""

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

    def __init__(self, config: Any, context: Context) -> None:
        self.config = config
        self.context = context

    def check(self) -> None:  # noqa: B027 (most steps have nothing to check)
        """Fail before the first row is read if a setting or a missing package makes the step impossible."""

    def prepare(self, corpus: Corpus) -> None:  # noqa: B027 (most steps have nothing to prepare)
        """Learn from the corpus what the step needs; called only if `needs_corpus`."""


def check_names(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Fail if a setting names something that the corpus does not have."""
    strange = sorted(set(given) - set(known))
    if strange:
        raise PrismError(
            f"{what} {', '.join(strange)} of a step is not in the corpus: it has {', '.join(sorted(set(known)))}"
        )


class Filter(Step):
    """A step that processes each chunk on its own, so that chunks can run in any order."""

    @abstractmethod
    def apply(self, rows: list[Row]) -> list[Row]:
        """Return the rows to keep, possibly changed."""


class Ordered(Step):
    """A step whose decision about a row depends on the rows before it.

    The workers compute the keys; the decisions are made in one place, in order. A resumed run repeats them from the
    stored keys, so they must depend on the keys and cells alone.
    """

    @abstractmethod
    def keys(self, rows: list[Row]) -> npt.NDArray[Any]:
        """Return one entry per row with everything the decision needs to know about its text."""

    @abstractmethod
    def decide(self, keys: npt.NDArray[Any], cells: Sequence[tuple[Cell, int]]) -> Copies:
        """Return the copies of each row of a chunk; `cells` lists runs of rows of one cell with their lengths."""
