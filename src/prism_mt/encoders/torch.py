"""Encoders on torch: all layers of a network, which some metrics mix, or one of them in bfloat16."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from prism_mt._core.environment import available_cores
from prism_mt.encoders.base import NetworkEncoder
from prism_mt.encoders.network import EncoderNetwork
from prism_mt.engines.packed import PackedEncoder, PackedWeights
from prism_mt.engines.workers import worker_pool


class TorchEncoder(NetworkEncoder):
    """All layers of a network, or one; layer 0 is the embeddings, the last has the final norm."""

    budget = 2048

    def __init__(
        self,
        network: EncoderNetwork,
        layer: int | None = None,
        precision: Literal["float32", "bfloat16"] = "float32",
    ) -> None:
        name = network.name if precision == "float32" else f"{network.name}-{precision}"
        super().__init__(name, network.digest, layer, network.layers, network.tokenizer)
        self.width = network.architecture.width
        self.limit = network.architecture.max_positions
        last = network.layers if layer is None else layer
        dtype, cpu = getattr(torch, precision), torch.device("cpu")
        self._kept = slice(None) if layer is None else slice(-1, None)
        self._pool = worker_pool(available_cores(), available_cores())
        self._encoder = PackedEncoder(PackedWeights(network.up_to(last), network.weights(last), dtype, cpu))

    def _run(self, batches: list[list[list[int]]]) -> Iterable[list[NDArray[np.float32]]]:
        return self._pool.map(self._forward, batches)

    @torch.inference_mode()
    def _forward(self, batch: list[list[int]]) -> list[NDArray[np.float32]]:
        layers = self._encoder(batch, self._encoder.layout(batch))[self._kept]
        states = torch.stack([layer.float() for layer in layers])
        return [part.numpy() for part in torch.split(states, [len(ids) for ids in batch], dim=1)]
