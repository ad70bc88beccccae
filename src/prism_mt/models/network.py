"""The Transformer in torch; its parameters have the canonical names of `prism_mt.models.spec`.

Shapes in comments: B sentences, S source tokens, T target tokens, D width, H heads, V vocabulary.
"""

import math
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from prism_mt._core.errors import PrismError
from prism_mt.models.spec import Architecture, Conventions, check_weights, sinusoids

_PAD = Conventions().pad
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}


class Attention(nn.Module):
    """Multi-head scaled dot-product attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def split(self, states: Tensor) -> Tensor:
        """(B, T, D) → (B, H, T, D/H)."""
        return states.view(*states.shape[:2], self.heads, -1).transpose(1, 2)

    def keys_values(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of `context` (B, T, D), as two tensors (B, H, T, D/H)."""
        return self.split(self.key(context)), self.split(self.value(context))

    def forward(self, states: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """Attend from `states` (B, T, D); `mask` is True where a key is visible, (B, 1, 1 or T, keys)."""
        queries = self.split(self.query(states))
        if torch.is_grad_enabled() and states.device.type == "cpu":
            mixed = _attend(queries, keys, values, mask, causal)
        else:
            mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, is_causal=causal)
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return output


def _attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """Write attention out for training on a CPU, where the fused form's gradient is several times slower."""
    products = (queries @ keys.transpose(2, 3)) * keys.shape[-1] ** -0.5
    if causal:
        later = torch.ones(products.shape[-2:], dtype=torch.bool, device=products.device).triu(1)
        products = products.masked_fill(later, float("-inf"))
    if mask is not None:
        products = products.masked_fill(~mask, float("-inf"))
    mixed: Tensor = products.softmax(-1) @ values
    return mixed


class FeedForward(nn.Module):
    """Two linear layers with an activation between them."""

    def __init__(self, width: int, inner: int, activation: str) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)
        self.activation = _ACTIVATIONS[activation]

    def forward(self, states: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        output: Tensor = self.outer(self.activation(self.inner(states)))
        return output


class Layer(nn.Module):
    """Self-attention, cross-attention if there is an encoder, feed-forward; each with residual and norm."""

    def __init__(self, architecture: Architecture, heads: int, inner: int, cross: bool, dropout: float) -> None:
        super().__init__()
        width, epsilon = architecture.width, architecture.norm_epsilon
        self.pre_norm = architecture.norm == "pre"
        self.self_attention = Attention(width, heads)
        self.self_attention_norm = nn.LayerNorm(width, epsilon)
        if cross:
            self.cross_attention = Attention(width, heads)
            self.cross_attention_norm = nn.LayerNorm(width, epsilon)
        self.feed_forward = FeedForward(width, inner, architecture.activation)
        self.feed_forward_norm = nn.LayerNorm(width, epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        states: Tensor,
        mask: Tensor | None,
        causal: bool,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """(B, T, D) → (B, T, D); `memory` is the encoder's output, (B, S, D)."""

        def attend(normed: Tensor) -> Tensor:
            mixed: Tensor = self.self_attention(normed, *self.self_attention.keys_values(normed), mask, causal)
            return mixed

        def attend_memory(normed: Tensor) -> Tensor:
            assert memory is not None
            keys_values = self.cross_attention.keys_values(memory)
            mixed: Tensor = self.cross_attention(normed, *keys_values, memory_mask, False)
            return mixed

        states = self.residual(states, self.self_attention_norm, attend)
        if memory is not None:
            states = self.residual(states, self.cross_attention_norm, attend_memory)
        return self.residual(states, self.feed_forward_norm, self.feed_forward)

    def residual(self, states: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Add a sublayer's output to the states, with the norm before or after."""
        output: Tensor
        if self.pre_norm:
            output = states + self.dropout(sublayer(norm(states)))
        else:
            output = norm(states + self.dropout(sublayer(states)))
        return output


class Stack(nn.Module):
    """Embeddings, positions and layers of one side of a model."""

    sinusoids: Tensor

    def __init__(
        self, a: Architecture, side: Literal["encoder", "decoder"], cross: bool, embedding: bool, dropout: float
    ) -> None:
        super().__init__()
        encoder = side == "encoder"
        vocabulary = a.source_vocabulary if encoder else a.target_vocabulary
        heads = a.encoder_heads if encoder else a.decoder_heads
        inner = a.encoder_feed_forward if encoder else a.decoder_feed_forward
        count = a.encoder_layers if encoder else a.decoder_layers
        self.max_positions = a.max_positions
        self.scale = math.sqrt(a.width) if a.scaled_embedding else 1.0
        self.embedding = nn.Embedding(vocabulary, a.width) if embedding else None
        self.positions = nn.Embedding(a.max_positions, a.width) if a.positions == "learned" else None
        if self.positions is None:
            self.register_buffer("sinusoids", torch.from_numpy(sinusoids(a)), persistent=False)
        self.embedding_norm = nn.LayerNorm(a.width, a.norm_epsilon) if a.embedding_norm else None
        self.layers = nn.ModuleList(Layer(a, heads, inner, cross, dropout) for _ in range(count))
        self.final_norm = nn.LayerNorm(a.width, a.norm_epsilon) if a.final_norm else None
        self.dropout = nn.Dropout(dropout)

    def embed(self, ids: Tensor, table: Tensor, start: int = 0) -> Tensor:
        """Embed (B, T) ids, the first of which is at position `start` → (B, T, D)."""
        end = start + ids.shape[1]
        if end > self.max_positions:
            raise PrismError(f"a text of {end} tokens is longer than this model's limit of {self.max_positions}")
        positions = self.sinusoids if self.positions is None else self.positions.weight
        states = F.embedding(ids, table) * self.scale + positions[start:end]
        if self.embedding_norm is not None:
            states = self.embedding_norm(states)
        embedded: Tensor = self.dropout(states)
        return embedded

    def forward(
        self,
        states: Tensor,
        mask: Tensor | None,
        causal: bool,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Embedded tokens (B, T, D) → states (B, T, D), through all layers and the final norm."""
        for layer in self.layers:
            states = layer(states, mask, causal, memory, memory_mask)
        if self.final_norm is not None:
            states = self.final_norm(states)
        return states

    def decode(
        self, ids: Tensor, table: Tensor, memory: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        """Run as a decoder: no token sees a later one, so padding on the right needs no mask."""
        output: Tensor = self(self.embed(ids, table), None, True, memory, memory_mask)
        return output


class Output(nn.Module):
    """The projection onto the vocabulary; it has no weight of its own if tied to an embedding."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        vocabulary, width = architecture.target_vocabulary, architecture.width
        self.weight = None if architecture.tied_output else nn.Parameter(torch.empty(vocabulary, width))
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if architecture.output_bias else None

    def forward(self, states: Tensor, embedding: Tensor) -> Tensor:
        """(…, D) → (…, V)."""
        return F.linear(states, embedding if self.weight is None else self.weight, self.bias)


class Transformer(nn.Module):
    """An encoder-decoder model. Ids are (B, T) integers, padded on the right."""

    def __init__(self, architecture: Architecture, dropout: float = 0.0) -> None:
        super().__init__()
        self.architecture = architecture
        own = not architecture.tied_embeddings
        self.encoder = Stack(architecture, "encoder", cross=False, embedding=True, dropout=dropout)
        self.decoder = Stack(architecture, "decoder", cross=True, embedding=own, dropout=dropout)
        self.output = Output(architecture)
        initialize(self)

    @property
    def source_embedding(self) -> Tensor:
        """(source V, D)."""
        assert self.encoder.embedding is not None
        return self.encoder.embedding.weight

    @property
    def target_embedding(self) -> Tensor:
        """(target V, D); the source's where they are tied."""
        return self.source_embedding if self.decoder.embedding is None else self.decoder.embedding.weight

    def encode(self, source: Tensor, source_padding_mask: Tensor | None = None) -> Tensor:
        """(B, S) ids → (B, S, D). The mask (B, S) is true at padding; without one there is no padding."""
        states = self.encoder.embed(source, self.source_embedding)
        memory: Tensor = self.encoder(states, _visible(source_padding_mask), False)
        return memory

    def decode(self, target_input: Tensor, memory: Tensor, source_padding_mask: Tensor | None = None) -> Tensor:
        """(B, T) ids and the encoder's output (B, S, D) → (B, T, D)."""
        return self.decoder.decode(target_input, self.target_embedding, memory, _visible(source_padding_mask))

    def project(self, states: Tensor) -> Tensor:
        """(…, D) → logits (…, V)."""
        logits: Tensor = self.output(states, self.target_embedding)
        return logits

    def forward(self, source: Tensor, target_input: Tensor, source_padding_mask: Tensor | None = None) -> Tensor:
        """(B, S) and (B, T) ids → decoder states (B, T, D), to be projected by the caller."""
        return self.decode(target_input, self.encode(source, source_padding_mask), source_padding_mask)


def initialize(model: nn.Module) -> None:
    """Initialize weights randomly as the reference implementation does; the padding row is zero."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, Output) and module.weight is not None:
            nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
    for module in model.modules():
        # Only now: a stack precedes its own embedding in the order of modules.
        if isinstance(module, Stack) and module.embedding is not None:
            with torch.no_grad():
                module.embedding.weight[_PAD] = 0.0


def from_weights(architecture: Architecture, weights: Mapping[str, NDArray[np.float32]]) -> Transformer:
    """Make a model in evaluation mode from these weights; the error lists all that do not match."""
    if architecture.decoder_only:
        raise PrismError("this is a language model: it has no encoder and cannot translate or paraphrase")
    check_weights(architecture, weights, "model")
    with torch.device("meta"):
        model = Transformer(architecture)
    fill(model, weights)
    return model


def fill(model: nn.Module, weights: Mapping[str, NDArray[np.float32]]) -> None:
    """Load float32 copies of these weights into a model, and set evaluation mode."""
    state = {name: torch.from_numpy(np.array(array, dtype=np.float32)) for name, array in weights.items()}
    model.load_state_dict(state, assign=True)
    model.eval()


def to_weights(model: nn.Module) -> dict[str, NDArray[np.float32]]:
    """The parameters by canonical name, in float32."""
    return {name: tensor.detach().float().cpu().numpy().copy() for name, tensor in model.state_dict().items()}


def _visible(padding: Tensor | None) -> Tensor | None:
    """(B, S) true at padding → (B, 1, 1, S) true where a key may be seen."""
    return None if padding is None else ~padding[:, None, None, :]
