"""Interface of contextual encoders: texts in, vectors of their pieces out, from one layer or from all."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.encoders.tokens import Tokenizer, Tokens, Windows
from prism_mt.engines.budgets import ENCODING
from prism_mt.text.subwords import OverlongPolicy

_LOG = logging.getLogger("prism_mt")
Own = TypeVar("Own", bound="NetworkEncoder")
PieceVectors = NDArray[np.float32]
"""Vectors of one text: layers × pieces × width. Special tokens are left out, so an empty text has no pieces."""


class PieceEncoder(Protocol):
    """A frozen network that gives every piece of a text a vector that depends on the whole text."""

    name: str
    """Name in signatures; it includes the precision unless that is float32."""
    digest: str
    """Digest of weights and tokenizer."""
    layer: str
    """Index of the layer returned (0: embeddings), or `all`."""
    layers: int
    """Number of layers returned."""
    width: int

    @property
    def room(self) -> int:
        """Most pieces of a text that the network takes at once."""
        ...

    def encode(self, texts: Sequence[str]) -> list[PieceVectors]:
        """The vectors of every text, in order."""
        ...


class NetworkEncoder(ABC):
    """A tokenizer with a network behind it; engines differ in how they run the network."""

    budget = ENCODING
    overlong: OverlongPolicy = "error"

    def __init__(self, name: str, digest: str, layer: int | None, layers: int, tokenizer: Tokenizer) -> None:
        """Return one layer, or with None all from 0 to `layers`."""
        self.name, self.digest = name, digest
        self.layer = "all" if layer is None else str(layer)
        self.layers = layers + 1 if layer is None else 1
        self.tokenizer = tokenizer
        self._warned = False
        self.width: int
        self.limit: int
        """Longest input, including special symbols."""

    @property
    def room(self) -> int:
        """Most pieces of a text that the network takes at once."""
        return self.limit - len(self.tokenizer.encode("").ids)

    def encode(self, texts: Sequence[str]) -> list[PieceVectors]:
        """Encode texts, batched by length.

        An overlong text is an error, is truncated, or is read in overlapping windows: where a piece is in two of them,
        its vector is their mean.
        """
        inputs = [self._fit(text) for text in texts]
        states = iter(self.states([part for windows in inputs for part in windows.parts]))
        return [
            _join(windows.starts, [next(states)[:, part.pieces] for part in windows.parts]) for windows in inputs
        ]

    def states(self, tokens: Sequence[Tokens]) -> list[PieceVectors]:
        """Vectors of all tokens, including special symbols (layers × tokens × width)."""
        found: dict[int, PieceVectors] = {}
        batches = list(batches_by_length([len(one.ids) for one in tokens], self.budget))
        results = self._run([[tokens[place].ids for place in places] for places in batches])
        for places, rows in zip(batches, results, strict=True):
            for place, row in zip(places, rows, strict=True):
                found[place] = row[:, : len(tokens[place].ids)]
        return [found[place] for place in range(len(tokens))]

    def with_tokenizer(self: Own, tokenizer: Tokenizer, name: str) -> Own:
        """The same network under another name, for texts tokenized differently."""
        other = copy(self)
        other.tokenizer, other.name = tokenizer, name
        return other

    def _fit(self, text: str) -> Windows:
        tokens = self.tokenizer.encode(text)
        if len(tokens.ids) <= self.limit:
            return Windows([0], [tokens])
        if self.overlong == "error":
            check_length(text, len(tokens.ids), self.limit, self.name)
        if not self._warned:
            self._warned = True
            way = "in windows" if self.overlong == "window" else "up to that piece"
            _LOG.warning(
                "the encoder %s reads texts of more than %d pieces %s, such as %r",
                self.name,
                self.room,
                way,
                f"{text:.60}…",
            )
        if self.overlong == "window":
            return tokens.windows(self.limit)
        return Windows([0], [tokens.cut(self.limit)])

    def _run(self, batches: list[list[list[int]]]) -> Iterable[Iterable[NDArray[np.float32]]]:
        return map(self._forward, batches)

    @abstractmethod
    def _forward(self, batch: list[list[int]]) -> Iterable[NDArray[np.float32]]:
        """Compute layers × tokens × width of every sequence; the first is the longest, and the others may be padded."""


def _join(starts: Sequence[int], parts: Sequence[PieceVectors]) -> PieceVectors:
    """Join the vectors of windows; where windows overlap, average them."""
    if len(parts) == 1:
        return parts[0]
    layers, _, width = parts[0].shape
    pieces = starts[-1] + parts[-1].shape[1]
    total, count = np.zeros((layers, pieces, width), np.float32), np.zeros((pieces, 1), np.float32)
    for start, part in zip(starts, parts, strict=True):
        total[:, start : start + part.shape[1]] += part
        count[start : start + part.shape[1]] += 1
    total /= count
    return total


def batches_by_length(lengths: Sequence[int], budget: int = ENCODING) -> Iterator[list[int]]:
    """Batches of indices of texts of similar length, longest first, within a budget of padded tokens."""
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    start = 0
    while start < len(order):
        # The longest comes first and determines how many fit.
        count = max(1, budget // max(1, lengths[order[start]]))
        yield order[start : start + count]
        start += count


@contextmanager
def reading(folder: Path, what: str) -> Iterator[None]:
    """Report damaged files, which transformers, safetensors, torch and json report in many ways, in one sentence."""
    try:
        yield
    except PrismError:
        raise
    except BaseException as error:
        # A panic of the Rust code in tokenizers and safetensors is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PrismError(f"{folder} is not {what}: {reason}") from error


def check_length(text: str, pieces: int, limit: int, name: str) -> None:
    """Fail on an overlong text: nothing is truncated silently."""
    if pieces > limit:
        raise PrismError(
            f"a text of {pieces:,} pieces is longer than the limit of {limit:,} of the encoder {name}: "
            f"{text[:60]!r} (shorten it, or set `overlong=` to truncate or window)"
        )


def check_layer(layer: int, layers: int, name: str) -> int:
    """Resolve a layer index, which may count from the end; networks are cut off after layer 1 at the earliest."""
    found = layers + 1 + layer if layer < 0 else layer
    if not 1 <= found <= layers:
        raise PrismError(f"the encoder {name} has no layer {layer}: choose 1 to {layers}, or -1 for the last")
    return found
