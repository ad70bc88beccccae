"""Sentence encoders: translations lie close together, whatever their languages."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from prism_mt._core.errors import PrismError

Vectors = npt.NDArray[np.float32]
EncoderName = Literal["use", "laser", "sentence-transformers"]


class SentenceEncoder(Protocol):
    """Texts to vectors of length 1."""

    languages: frozenset[str] | None
    """The languages it knows; None when it does not say."""

    def encode(self, texts: list[str]) -> Vectors:
        """One vector per text."""
        ...


@lru_cache(maxsize=1)
def load_encoder(name: EncoderName, folder: str) -> SentenceEncoder:
    """The encoder of this name; all but `use` read their weights from a folder. Loaded once per process."""
    if name == "use":
        from prism_mt.encoders.use import UniversalSentenceEncoder

        return UniversalSentenceEncoder()
    if not folder or not Path(folder).is_dir():
        raise PrismError(f"the encoder {name} needs the folder of its weights, and {folder or 'none'} is not one")
    loaders: dict[str, Callable[[Path], SentenceEncoder]] = {
        "laser": _laser,
        "sentence-transformers": _transformer,
    }
    return loaders[name](Path(folder))


def _laser(folder: Path) -> SentenceEncoder:
    from prism_mt.encoders.laser import Laser

    return Laser(folder)


def _transformer(folder: Path) -> SentenceEncoder:
    from prism_mt.encoders.sentence_transformers import SentenceTransformer

    return SentenceTransformer(folder)


def unit_length(vectors: npt.NDArray[np.floating]) -> Vectors:
    """Vectors divided by their length; a vector of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return result
