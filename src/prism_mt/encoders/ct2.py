"""Encoders on CTranslate2: the network up to one layer, without torch."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.environment import available_cores
from prism_mt.encoders.base import NetworkEncoder
from prism_mt.encoders.network import EncoderNetwork
from prism_mt.engines.ct2_model import REVISION, build_encoder, stored

Precision = Literal["float32", "int8", "bfloat16"]
"""bfloat16 is torch's."""


class CT2Encoder(NetworkEncoder):
    """The network up to a layer (from 1), on CPU threads; loaded when the first text arrives."""

    budget = 2048

    def __init__(self, network: EncoderNetwork, layer: int, precision: Precision = "float32") -> None:
        name = network.name if precision == "float32" else f"{network.name}-{precision}"
        super().__init__(name, network.digest, layer, network.layers, network.tokenizer)
        self.width = network.architecture.width
        self.limit = network.architecture.max_positions
        self._network, self._cut, self._precision = network, layer, precision
        self._loaded: list[Any] = []  # a list, so that copies for other tokenizers share it

    def _run(self, batches: list[list[list[int]]]) -> Iterable[NDArray[np.float32]]:
        # One batch per thread is faster than one batch on all threads, and CTranslate2 releases the GIL.
        if not self._loaded:
            self._loaded.append(self._open())
        with ThreadPoolExecutor(available_cores()) as pool:
            return list(pool.map(self._forward, batches))

    def _forward(self, batch: list[list[int]]) -> NDArray[np.float32]:
        return np.array(self._loaded[0].forward_batch(batch).last_hidden_state)[:, None]

    def _open(self) -> Any:
        import ctranslate2

        options = {"compute_type": self._precision, "inter_threads": available_cores(), "intra_threads": 1}
        try:
            return ctranslate2.Encoder(str(self._folder()), **options)
        except (RuntimeError, IndexError):  # a damaged file in the cache: rebuild it, once
            return ctranslate2.Encoder(str(self._folder(thorough=True)), **options)

    def _folder(self, thorough: bool = False) -> Path:
        name = f"{self.digest[:24]}-encoder-{self._cut}-{self._precision}-r{REVISION}"

        def build() -> Any:
            return build_encoder(self._network.up_to(self._cut), self._network.weights(self._cut))

        return stored(name, build, self._precision, thorough)
