"""A model in memory, as every reader returns it."""

from dataclasses import dataclass

from prism_mt.models.spec import ModelSpec, Weights, check_weights
from prism_mt.text.subwords import Vocabulary


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

    def __post_init__(self) -> None:
        check_weights(self.spec.architecture, self.weights, self.spec.name or "model")
