"""What a step is: a filter of rows on their own, or an ordered decision that remembers the rows before."""

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
"""A source index and a language pair: what caps and shares count by."""
Copies = npt.NDArray[np.int64]
"""How often each row goes on: 0 drops it."""


@dataclass(frozen=True)
class Context:
    """What every step may know about the whole preparation."""

    seed: int
    languages: tuple[str, ...]
    groups: tuple[str, ...]
    """The group name of each source, by its index."""
    root: Path
    heldout: tuple[Path, ...] = ()


class Corpus(Protocol):
    """All rows that reach a step, for steps that must see them before they can decide."""

    directory: Path
    """Where a step may keep what it has learned, so that a resumed run finds it."""

    def sizes(self) -> Mapping[Cell, int]:
        """Rows by source and language pair."""
        ...

    def rows(self) -> Iterator[Row]:
        """Every row, in order."""
        ...


class Step(ABC):
    """One step; the class is its kind, and the nested Config what can be set."""

    kind: ClassVar[str]
    needs_corpus: ClassVar[bool] = False
    """Whether `prepare` must be called with everything that reaches the step."""

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

    def __init__(self, config: Any, context: Context) -> None:
        self.config = config
        self.context = context

    def check(self) -> None:  # noqa: B027 (most steps have nothing to check)
        """Fail before the first row is read when a setting or an installed package makes the step impossible."""

    def prepare(self, corpus: Corpus) -> None:  # noqa: B027 (most steps have nothing to prepare)
        """Learn from the corpus what the step needs; only called when `needs_corpus`."""


def check_names(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Fail when a setting names something that the corpus does not have."""
    strange = sorted(set(given) - set(known))
    if strange:
        raise PrismError(
            f"{what} {', '.join(strange)} of a step is not in the corpus: it has {', '.join(sorted(set(known)))}"
        )


class Filter(Step):
    """A step that looks at a chunk of rows and nothing else, so that chunks can go through in any order."""

    @abstractmethod
    def apply(self, rows: list[Row]) -> list[Row]:
        """The rows that stay, perhaps changed."""


class Ordered(Step):
    """A step whose decision on a row depends on the rows before it.

    The workers compute the keys; the decisions are made in one place, in order. A resumed run makes them again
    from the stored keys, so they must follow from the keys and the cells alone.
    """

    @abstractmethod
    def keys(self, rows: list[Row]) -> npt.NDArray[Any]:
        """One entry per row with all that the decision needs to know of its text."""

    @abstractmethod
    def decide(self, keys: npt.NDArray[Any], cells: Sequence[tuple[Cell, int]]) -> Copies:
        """Copies of each row of a chunk; `cells` are the runs of rows of one cell with their length."""
