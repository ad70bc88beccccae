"""Encoders on torch, for metrics that mix all layers of a network."""

import numpy as np
import torch
from numpy.typing import NDArray

from prism_mt.encoders.base import NetworkEncoder
from prism_mt.encoders.network import EncoderNetwork
from prism_mt.models.network import Stack, fill


class TorchEncoder(NetworkEncoder):
    """All layers of a network; layer 0 is the embeddings, the last has the final norm."""

    def __init__(self, network: EncoderNetwork) -> None:
        super().__init__(network.name, network.digest, None, network.layers, network.tokenizer)
        self.width = network.architecture.width
        self.limit = network.architecture.max_positions
        weights = network.weights(network.layers)
        with torch.device("meta"):
            self._stack = Stack(network.architecture, "encoder", cross=False, embedding=True, dropout=0.0)
        fill(self._stack, {name.removeprefix("encoder."): array for name, array in weights.items()})

    @torch.inference_mode()
    def _forward(self, batch: list[list[int]]) -> NDArray[np.float32]:
        longest = len(batch[0])
        # No token sees padding: any id will do.
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in batch])
        lengths = torch.tensor([len(row) for row in batch])
        visible = (torch.arange(longest)[None] < lengths[:, None])[:, None, None]
        stack = self._stack
        assert stack.embedding is not None
        states = stack.embed(ids, stack.embedding.weight)
        layers = [states]
        for layer in stack.layers:
            states = layer(states, visible, False)
            layers.append(states)
        if stack.final_norm is not None:
            layers[-1] = stack.final_norm(states)
        found: NDArray[np.float32] = torch.stack(layers, dim=1).numpy()
        return found
