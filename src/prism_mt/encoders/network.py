"""An encoder as data: its shape, its tokenizer and its weights under the names of `models/spec`.

Every reader (e5, Hugging Face folders, translation models) returns this, and both engines are built from it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from prism_mt._core.errors import PrismError
from prism_mt.encoders.tokens import Tokenizer
from prism_mt.models.spec import Architecture, Weights, weight_shapes


@dataclass(frozen=True)
class EncoderNetwork:
    """A Transformer encoder; only the source side of its architecture counts."""

    name: str
    digest: str
    """Digest of weights and tokenizer."""
    architecture: Architecture
    tokenizer: Tokenizer
    load: Callable[[], Weights]
    """Reads the weights, into arrays that the caller may change."""

    @property
    def layers(self) -> int:
        """Index of the last layer; 0 is the embeddings."""
        return self.architecture.encoder_layers

    def up_to(self, layer: int) -> Architecture:
        """The architecture cut off after a layer; the final norm belongs to the last layer alone."""
        final = self.architecture.final_norm and layer == self.layers
        return replace(self.architecture, encoder_layers=layer, final_norm=final)

    def weights(self, layer: int) -> Weights:
        """Load the weights of the encoder up to a layer, and check their names and shapes."""
        expected = {n: shape for n, shape in weight_shapes(self.architecture) if n.startswith("encoder.")}
        weights = self.load()
        for name, shape in expected.items():
            if name not in weights:
                raise PrismError(f"the weights of the encoder {self.name} are incomplete: {name} is missing")
            if weights[name].shape != shape:
                raise PrismError(
                    f"the weights of the encoder {self.name} do not match its configuration: {name} is "
                    f"{weights[name].shape} instead of {shape}"
                )
        return {name: weights[name] for name in expected if _layer_of(name) < layer}


def _layer_of(name: str) -> int:
    """The layer of a weight, from 0; -1 for everything outside the layers."""
    parts = name.split(".")
    return int(parts[2]) if parts[1] == "layers" else -1


def encoder_architecture(
    *,
    width: int,
    layers: int,
    heads: int,
    feed_forward: int,
    vocabulary: int,
    positions: int,
    epsilon: float,
) -> Architecture:
    """The shape of BERT: post-norm, GELU, learned positions, normalized embeddings, and no decoder."""
    return Architecture(
        width=width,
        encoder_layers=layers,
        decoder_layers=0,
        encoder_heads=heads,
        decoder_heads=heads,
        encoder_feed_forward=feed_forward,
        decoder_feed_forward=feed_forward,
        source_vocabulary=vocabulary,
        target_vocabulary=vocabulary,
        max_positions=positions,
        norm="post",
        final_norm=False,
        embedding_norm=True,
        activation="gelu",
        positions="learned",
        scaled_embedding=False,
        norm_epsilon=epsilon,
    )
