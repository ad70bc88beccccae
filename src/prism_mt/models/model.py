"""A model in memory, as every reader returns it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.models.spec import ModelSpec, Weights, check_weights
from prism_mt.text.subwords import Vocabulary


@dataclass(frozen=True)
class VectorPieces:
    """Source pieces for vectors of texts, where translation is better served by others.

    A decoder copies best from the pieces that it writes; vectors are best over those that the encoder was trained with.
    """

    vocabulary: Vocabulary
    embedding: NDArray[np.float32]
    """(pieces, width), in place of the encoder's own embedding."""

    def check(self, spec: ModelSpec, where: str) -> None:
        """Refuse an embedding whose shape does not fit."""
        expected = len(self.vocabulary), spec.architecture.width
        if self.embedding.shape != expected:
            raise PrismError(f"{where}: the embedding for vectors is {self.embedding.shape} instead of {expected}")


@dataclass(frozen=True)
class Model:
    """Architecture, conventions, weights and subwords: everything in a model directory."""

    spec: ModelSpec
    weights: Weights
    source: Vocabulary
    target: Vocabulary
    """The same object as `source` if both sides share one vocabulary."""
    card: str = ""
    """The model card, in Markdown."""
    judged: frozenset[str] = frozenset()
    """Keys (`metaeval.overlap`) of the segments with human judgments that it was fine-tuned on."""
    vectors: VectorPieces | None = None
    """None if vectors are of the source pieces."""

    def __post_init__(self) -> None:
        where = self.spec.name or "model"
        check_weights(self.spec.architecture, self.weights, where)
        if self.vectors is not None:
            self.vectors.check(self.spec, where)
