"""A decoder-only language model from the same layers as the Transformer."""

import torch
from torch import Tensor, nn

from prism_mt._core.errors import PrismError
from prism_mt.models.network import Output, Stack, fill, initialize
from prism_mt.models.spec import Architecture, Weights, check_weights


class LanguageModel(nn.Module):
    """A decoder without encoder, shaped by the decoder and target sizes of an `Architecture`."""

    def __init__(self, architecture: Architecture, dropout: float = 0.0) -> None:
        super().__init__()
        self.architecture = architecture
        self.decoder = Stack(architecture, "decoder", cross=False, embedding=True, dropout=dropout)
        self.output = Output(architecture)
        initialize(self)

    @property
    def target_embedding(self) -> Tensor:
        """(V, D)."""
        assert self.decoder.embedding is not None
        return self.decoder.embedding.weight

    def decode(self, target_input: Tensor) -> Tensor:
        """(B, T) ids → (B, T, D)."""
        return self.decoder.decode(target_input, self.target_embedding)

    def project(self, states: Tensor) -> Tensor:
        """(…, D) → logits (…, V)."""
        logits: Tensor = self.output(states, self.target_embedding)
        return logits

    def forward(self, target_input: Tensor) -> Tensor:
        """(B, T) ids → states (B, T, D), to be projected by the caller."""
        return self.decode(target_input)


def from_weights(architecture: Architecture, weights: Weights) -> LanguageModel:
    """Make a model in evaluation mode from these weights; the error lists all that do not match."""
    if not architecture.decoder_only:
        raise PrismError("this is a translation model, not a language model")
    check_weights(architecture, weights, "model")
    with torch.device("meta"):
        model = LanguageModel(architecture)
    fill(model, weights)
    return model
