"""What a contextual encoder is: texts in, vectors of their pieces in every layer out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from prism_mt._core.errors import PrismError
from prism_mt.engines.budgets import ENCODING

PieceVectors = npt.NDArray[np.float32]
"""Of one text: layers × pieces × width. Special tokens are left out, so that an empty text has no pieces."""


class PieceEncoder(Protocol):
    """A frozen network that gives every piece of a text a vector that depends on the whole text."""

    name: str
    digest: str
    """Identity of weights and tokenizer."""
    layers: int
    """The embeddings and every layer above them."""
    width: int

    def encode(self, texts: Sequence[str]) -> list[PieceVectors]:
        """The vectors of every text, in order."""
        ...


def batches_by_length(lengths: Sequence[int], budget: int = ENCODING) -> Iterator[list[int]]:
    """Places of texts of similar length, longest first, whose padded length together stays within the budget."""
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    start = 0
    while start < len(order):
        # The longest comes first and decides how many fit.
        count = max(1, budget // max(1, lengths[order[start]]))
        yield order[start : start + count]
        start += count


@contextmanager
def reading(folder: Path, what: str) -> Iterator[None]:
    """Damaged files show as whatever transformers, safetensors, torch or json meet first: all of it is one sentence."""
    try:
        yield
    except PrismError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PrismError(f"{folder} is not {what}: {reason}") from error


def check_length(text: str, pieces: int, limit: int, name: str) -> None:
    """Nothing is cut off silently."""
    if pieces > limit:
        raise PrismError(
            f"a text of {pieces:,} pieces is longer than the {limit:,} that the encoder {name} takes: {text!r:.80}"
        )
