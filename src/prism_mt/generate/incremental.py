"""Token-by-token decoding with our network: every source is encoded once, and all keys and values are kept.

Shapes in comments: B sentences, W rows (beams) of each, R = B·W rows, S source tokens, D width, V vocabulary.
"""

from typing import Protocol

from torch import Tensor

from prism_mt.models.network import Layer, Transformer

_ROOM = 4
"""Number of further steps that the buffers have room for, so that they are not copied at each step."""


class Stepper(Protocol):
    """A batch in flight, whatever computes it. Rows of one sentence are adjacent, and each has the same number."""

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the next tokens, (R, T); return the logits after the last of them, (R, V)."""
        ...

    def select(self, rows: Tensor, sentences: Tensor | None) -> None:
        """Continue from these rows, which may repeat, of these sentences (None: the same as before)."""
        ...


class Decoding:
    """The state of a batch. Keys and values of the source are shared by all rows of a sentence."""

    def __init__(self, network: Transformer, source: Tensor, padding: Tensor | None) -> None:
        self._network = network
        memory = network.encode(source, padding)
        self._memory = [layer.cross_attention.keys_values(memory) for layer in _layers(network)]
        self._visible = None if padding is None else ~padding[:, None, None, :]
        self._own: list[tuple[Tensor, Tensor] | None] = [None] * len(self._memory)
        self._length = 0

    def step(self, tokens: Tensor) -> Tensor:
        """Feed tokens; several at once only in the first step."""
        decoder = self._network.decoder
        states = decoder.embed(tokens, self._network.target_embedding, self._length)
        for index, layer in enumerate(_layers(self._network)):
            states = self._layer(layer, index, states)
        if decoder.final_norm is not None:
            states = decoder.final_norm(states)
        self._length += tokens.shape[1]
        return self._network.project(states[:, -1]).float()

    def select(self, rows: Tensor, sentences: Tensor | None) -> None:
        """Reorder the target's keys and values; the source's are copied only if sentences change."""
        self._own = [
            None if pair is None else (pair[0].index_select(0, rows), pair[1].index_select(0, rows))
            for pair in self._own
        ]
        if sentences is not None:
            self._memory = [
                (keys.index_select(0, sentences), values.index_select(0, sentences))
                for keys, values in self._memory
            ]
            if self._visible is not None:
                self._visible = self._visible.index_select(0, sentences)

    def _layer(self, layer: Layer, index: int, states: Tensor) -> Tensor:
        """(R, T, D) → (R, T, D)."""

        def attend(normed: Tensor) -> Tensor:
            keys, values = self._extend(index, *layer.self_attention.keys_values(normed))
            mixed: Tensor = layer.self_attention(normed, keys, values, None, normed.shape[1] > 1)
            return mixed

        def attend_source(normed: Tensor) -> Tensor:
            keys, values = self._memory[index]
            # The rows of a sentence attend to it side by side, like tokens, so that its keys need no copies.
            together = normed.reshape(keys.shape[0], -1, normed.shape[-1])
            mixed: Tensor = layer.cross_attention(together, keys, values, self._visible, False)
            return mixed.view_as(normed)

        states = layer.residual(states, layer.self_attention_norm, attend)
        states = layer.residual(states, layer.cross_attention_norm, attend_source)
        return layer.residual(states, layer.feed_forward_norm, layer.feed_forward)

    def _extend(self, index: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append new keys and values, (R, heads, T, head width), to those of earlier steps."""
        end = self._length + keys.shape[2]
        kept = self._own[index]
        if kept is None or kept[0].shape[2] < end:
            kept = self._with_room(kept and kept[0], keys), self._with_room(kept and kept[1], values)
            self._own[index] = kept
        for buffer, new in zip(kept, (keys, values), strict=True):
            buffer[:, :, self._length : end] = new
        return kept[0][:, :, :end], kept[1][:, :, :end]

    def _with_room(self, earlier: Tensor | None, new: Tensor) -> Tensor:
        """A larger buffer that starts with what is already there."""
        rows, heads, count, width = new.shape
        buffer = new.new_empty(rows, heads, self._length + count + _ROOM, width)
        if earlier is not None:
            buffer[:, :, : self._length] = earlier[:, :, : self._length]
        return buffer


def _layers(network: Transformer) -> list[Layer]:
    return [layer for layer in network.decoder.layers if isinstance(layer, Layer)]
