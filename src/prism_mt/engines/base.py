"""What an engine is: pairs of token ids in, log-probabilities of the target tokens out."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

EngineName = Literal["ct2", "torch"]

TokenScores = NDArray[np.float32]
"""Natural-log probabilities of `target[1:]`, one per token."""

Pending = Callable[[], list[TokenScores]]
"""A batch under way; calling it waits for the result."""


class Pair(NamedTuple):
    """The encoder's input and the decoder's whole sequence, its start token included."""

    source: tuple[int, ...]
    target: tuple[int, ...]


class Engine(Protocol):
    """Forced decoding of one model on one device."""

    name: str
    dtype: str
    temperature: float

    @property
    def parallel(self) -> int:
        """How many batches are worth having under way at once."""
        ...

    @property
    def shares_sources(self) -> bool:
        """Whether targets of one source are cheaper in one batch."""
        ...

    @property
    def budget(self) -> int:
        """Padded tokens of a batch, both sides together, that suit the device."""
        ...

    def submit(self, batch: Sequence[Pair]) -> Pending:
        """Start scoring a batch; the result has one array per pair, in order.

        Waiting for it raises OutOfMemory when the device could not hold the batch.
        """
        ...


@runtime_checkable
class Remembering(Protocol):
    """An engine that knows some scores already, and need not be loaded to tell them."""

    def remembered(self, pairs: Sequence[Pair]) -> list[TokenScores | None]:
        """The scores of every pair, or None where they are not known."""
        ...


class OutOfMemory(Exception):
    """The device could not hold a batch; a smaller one may fit."""
