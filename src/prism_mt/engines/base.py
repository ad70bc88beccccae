"""Interface of engines: pairs of token ids in, log-probabilities of the target tokens out."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

EngineName = Literal["ct2", "torch"]

TokenScores = NDArray[np.float32]
"""Natural-log probabilities of `target[1:]`, one per token."""

Pending = Callable[[], list[TokenScores]]
"""A batch in flight; calling it waits for the result."""


class Pair(NamedTuple):
    """The encoder input and the whole decoder sequence, including its start token."""

    source: tuple[int, ...]
    target: tuple[int, ...]


class Engine(Protocol):
    """Forced decoding of one model on one device."""

    name: str
    dtype: str
    temperature: float

    @property
    def parallel(self) -> int:
        """How many batches to keep in flight."""
        ...

    @property
    def shares_sources(self) -> bool:
        """Whether targets of one source are cheaper in one batch."""
        ...

    @property
    def budget(self) -> int:
        """Padded tokens per batch, both sides together, that suit the device."""
        ...

    def submit(self, batch: Sequence[Pair]) -> Pending:
        """Start scoring a batch; the result has one array per pair, in order.

        Waiting for it raises OutOfMemory if the device could not hold the batch.
        """
        ...


@runtime_checkable
class Remembering(Protocol):
    """An engine that knows some scores already and can return them without being loaded."""

    def remembered(self, pairs: Sequence[Pair]) -> list[TokenScores | None]:
        """The scores of every pair; None for unknown ones."""
        ...


class OutOfMemory(Exception):
    """The device could not hold a batch; a smaller one may fit."""
