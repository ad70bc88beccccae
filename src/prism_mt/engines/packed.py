"""The Transformer over packed tokens: forced decoding without padding, and without doing anything twice.

Shapes in comments: N tokens, B sequences, T tokens of the longest, D width, H heads, d width of a head.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from prism_mt.engines.kernels import KEY_MULTIPLE, Activation, Linear, Normalizer, attend
from prism_mt.engines.prefixes import SharedPrefixes, share_prefixes
from prism_mt.engines.quantized import QuantizedLinear, QuantizedNormalizer
from prism_mt.engines.ragged import Ragged, divide
from prism_mt.models.spec import Architecture, Weights, sinusoids

Side = Literal["encoder", "decoder"]
Ids = Sequence[Sequence[int]]
Masks = Sequence[Tensor | None]


class PackedWeights:
    """Weights of a model on their way to a precision and a device."""

    def __init__(
        self,
        a: Architecture,
        weights: Weights,
        dtype: torch.dtype,
        device: torch.device,
        stream: torch.dtype | None = None,
        quantized: bool = False,
    ) -> None:
        """Take weights for products in `dtype`, or in 8 bits where they are `quantized`.

        What layers add up is of the type `stream`, the same as that of products unless said.
        """
        self.architecture, self.dtype, self.device = a, dtype, device
        self.stream = stream or dtype
        self._weights, self._quantized = weights, quantized

    def tensor(self, name: str) -> Tensor:
        """A weight in float32."""
        return torch.from_numpy(self._weights[name])

    def linear(self, name: str, parts: Sequence[str], scale: float = 1.0) -> Linear | QuantizedLinear:
        """Layers with the same input as one; the first is scaled."""
        weights = [self.tensor(f"{name}.{part}.weight") for part in parts]
        biases = [self.tensor(f"{name}.{part}.bias") for part in parts]
        weights[0], biases[0] = weights[0] * scale, biases[0] * scale
        weight, bias = torch.cat(weights), torch.cat(biases)
        if self._quantized:
            return QuantizedLinear(weight, bias)
        return Linear(weight, bias, self.dtype, self.device)


class Norm:
    """LayerNorm; its statistics are float32 in every precision."""

    def __init__(self, weights: PackedWeights, name: str) -> None:
        self._parameters = [
            weights.tensor(f"{name}.{part}").to(weights.device, weights.stream) for part in ("weight", "bias")
        ]
        self._epsilon = weights.architecture.norm_epsilon

    def __call__(self, states: Tensor) -> Tensor:
        """(N, D) → (N, D)."""
        weight, bias = self._parameters
        return F.layer_norm(states, weight.shape, weight, bias, self._epsilon)


class PackedLayer:
    """A layer of the encoder or the decoder."""

    def __init__(self, weights: PackedWeights, side: Side, index: int) -> None:
        a, name = weights.architecture, f"{side}.layers.{index}"
        self._heads = a.encoder_heads if side == "encoder" else a.decoder_heads
        self._pre_norm = a.norm == "pre"
        self._activation: Activation = a.activation
        self._dtype = weights.dtype
        scale = (a.width // self._heads) ** -0.5
        self._self = weights.linear(f"{name}.self_attention", ("query", "key", "value"), scale)
        self._self_output = weights.linear(f"{name}.self_attention", ("output",))
        self._self_norm = Norm(weights, f"{name}.self_attention_norm")
        if side == "decoder":
            self._query = weights.linear(f"{name}.cross_attention", ("query",), scale)
            self._keys_values = weights.linear(f"{name}.cross_attention", ("key", "value"))
            self._cross_output = weights.linear(f"{name}.cross_attention", ("output",))
            self._cross_norm = Norm(weights, f"{name}.cross_attention_norm")
        self._inner = weights.linear(f"{name}.feed_forward", ("inner",))
        self._outer = weights.linear(f"{name}.feed_forward", ("outer",))
        self._feed_forward_norm = Norm(weights, f"{name}.feed_forward_norm")

    def attend_self(self, states: Tensor, layout: Ragged, masks: Masks) -> Tensor:
        """Attend among the tokens of every sequence."""
        joint = self._self(self._before(states, self._self_norm)).to(self._dtype)
        mixed = [
            attend(self._split(block, 3), mask).transpose(1, 2)
            for block, mask in zip(layout.pad(joint), masks, strict=True)
        ]
        output = self._self_output(layout.unpad(mixed), residual=states)
        return self._after(output, self._self_norm)

    def attend_sources(
        self, states: Tensor, layout: Ragged, memory: Tensor, sources: Ragged, masks: Masks
    ) -> Tensor:
        """Attend to the sources' states; `layout` has all tokens that see one source as one sequence."""
        query = layout.pad(self._query(self._before(states, self._cross_norm)).to(self._dtype))
        joint = sources.pad(self._keys_values(memory).to(self._dtype))
        mixed = [
            attend([*self._split(queries, 1), *self._split(keys, 2)], mask).transpose(1, 2)
            for queries, keys, mask in zip(query, joint, masks, strict=True)
        ]
        output = self._cross_output(layout.unpad(mixed), residual=states)
        return self._after(output, self._cross_norm)

    def feed_forward(self, states: Tensor) -> Tensor:
        """(N, D) → (N, D)."""
        inner = self._inner(self._before(states, self._feed_forward_norm), self._activation)
        return self._after(self._outer(inner, residual=states), self._feed_forward_norm)

    def _before(self, states: Tensor, norm: Norm) -> Tensor:
        return norm(states) if self._pre_norm else states

    def _after(self, states: Tensor, norm: Norm) -> Tensor:
        return states if self._pre_norm else norm(states)

    def _split(self, joint: Tensor, parts: int) -> Tensor:
        """(B, T, parts · D) → (parts, B, H, T, d)."""
        batch, length, _ = joint.shape
        return joint.view(batch, length, parts, self._heads, -1).permute(2, 0, 3, 1, 4)


class PackedStack:
    """Embeddings, positions and layers of one side."""

    def __init__(self, weights: PackedWeights, side: Side) -> None:
        a = weights.architecture
        tied = side == "decoder" and a.tied_embeddings
        table = weights.tensor(f"{'encoder' if tied else side}.embedding.weight")
        learned = a.positions == "learned"
        positions = weights.tensor(f"{side}.positions.weight") if learned else torch.from_numpy(sinusoids(a))
        self._table, self._stream = table.to(weights.device, weights.dtype), weights.stream
        self._positions = positions.to(weights.device)
        self._scale = math.sqrt(a.width) if a.scaled_embedding else 1.0
        self._norm = Norm(weights, f"{side}.embedding_norm") if a.embedding_norm else None
        self._final_norm = Norm(weights, f"{side}.final_norm") if a.final_norm else None
        count = a.encoder_layers if side == "encoder" else a.decoder_layers
        self.layers = [PackedLayer(weights, side, index) for index in range(count)]

    def embed(self, ids: Tensor, layout: Ragged) -> Tensor:
        """(N,) ids → (N, D)."""
        states = self._table[ids].float().mul_(self._scale).add_(self._positions[layout.positions])
        rounded = states.to(self._stream)
        return rounded if self._norm is None else self._norm(rounded)

    def finish(self, states: Tensor) -> Tensor:
        """Apply the final norm where there is one."""
        return states if self._final_norm is None else self._final_norm(states)


class PackedEncoder:
    """The encoder over packed tokens."""

    def __init__(self, weights: PackedWeights) -> None:
        self._stack = PackedStack(weights, "encoder")
        self._device, self._dtype = weights.device, weights.dtype

    def layout(self, sequences: Ids) -> Ragged:
        """Where the tokens of the sequences are."""
        return Ragged([len(ids) for ids in sequences], self._device, KEY_MULTIPLE)

    def __call__(self, sequences: Ids, layout: Ragged) -> list[Tensor]:
        """The states after the embeddings and after every layer, (N, D) each; the last has the final norm."""
        ids = torch.tensor([token for ids in sequences for token in ids], device=self._device)
        layers = [self._stack.embed(ids, layout)]
        masks = layout.masks(self._dtype)
        for layer in self._stack.layers:
            layers.append(layer.feed_forward(layer.attend_self(layers[-1], layout, masks)))
        return [*layers[:-1], self._stack.finish(layers[-1])]


class PackedTransformer:
    """A model ready to score targets that are given their sources."""

    def __init__(
        self,
        a: Architecture,
        weights: Weights,
        precision: str,
        device: torch.device,
        temperature: float,
    ) -> None:
        """Take over weights; in int8_bfloat16, only the projection onto the vocabulary computes in 8 bits."""
        quantized = precision.startswith("int8")
        dtype: torch.dtype = torch.bfloat16 if quantized else getattr(torch, precision)
        stream = torch.float32 if quantized else dtype
        made = PackedWeights(a, weights, dtype, device, stream, precision == "int8")
        self.encode = PackedEncoder(made)
        self._decoder = PackedStack(made, "decoder")
        self._device, self._dtype = device, made.dtype
        embedding = "encoder" if a.tied_embeddings else "decoder"
        output = made.tensor("output.weight" if not a.tied_output else f"{embedding}.embedding.weight")
        bias = made.tensor("output.bias") if a.output_bias else None
        self._normalize = (
            QuantizedNormalizer(output, bias, temperature)
            if quantized
            else Normalizer(output, bias, temperature, dtype, device)
        )

    def score(self, sources: Ids, targets: Ids, counts: Sequence[int]) -> Tensor:
        """Log-probabilities of all tokens but the first of every target, one after another.

        The first `counts[0]` targets belong to the first source, and so on. What they have in common at their
        beginning is computed once.
        """
        memory = self.encode(sources, self.encode.layout(sources))[-1]
        prefixes = share_prefixes(targets, counts)
        lengths = [len(ids) for ids in sources], [len(ids) - 1 for ids in targets]
        states = self._decode(*lengths, prefixes, memory)
        wanted = torch.tensor(prefixes.wanted, device=self._device)
        if not prefixes.is_shared:
            return self._normalize(states, wanted)
        before, predictions = (
            torch.tensor(rows, device=self._device) for rows in (prefixes.before, prefixes.predictions)
        )
        return self._normalize(states.index_select(0, before), wanted).index_select(0, predictions)

    def _decode(
        self, sources: Sequence[int], targets: Sequence[int], prefixes: SharedPrefixes, memory: Tensor
    ) -> Tensor:
        """Lengths of sources and targets, and (N of the sources, D) → (rows of the prefixes, D)."""
        inputs = torch.tensor(prefixes.inputs, device=self._device)
        rows = prefixes.rows if prefixes.is_shared else None
        layout = Ragged(targets, self._device, KEY_MULTIPLE, rows)
        # To a source, all that is read after it is one sequence: attention to it is not causal.
        blocks = divide(prefixes.counts, sources, self._device)
        readers = Ragged(prefixes.counts, self._device, blocks=blocks)
        seen = Ragged(sources, self._device, KEY_MULTIPLE, blocks=blocks)
        causal, visible = layout.causal_masks(self._dtype), seen.masks(self._dtype)
        states = self._decoder.embed(inputs, layout)
        for layer in self._decoder.layers:
            states = layer.attend_self(states, layout, causal)
            states = layer.attend_sources(states, readers, memory, seen, visible)
            states = layer.feed_forward(states)
        return self._decoder.finish(states)
