"""Cached token scores: known scores are looked up, and a killed run resumes where it stopped."""

from array import array
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from prism_mt._core.cache import Keys, Store
from prism_mt.engines.base import Engine, Pair, Pending, TokenScores
from prism_mt.engines.config import EngineConfig
from prism_mt.models.directory import ModelDirectory


class CachedEngine:
    """An engine with a resolved configuration that caches its scores.

    The model is loaded when there is something new to score.
    """

    def __init__(
        self,
        model: ModelDirectory,
        config: EngineConfig,
        temperature: float,
        load: Callable[[], Engine],
        store: Store | None = None,
    ) -> None:
        self.name: str = config.engine
        self.dtype: str = config.precision
        self.temperature = temperature
        self._load = load
        self._store = store or Store("scores")
        self._keys = Keys(*_scope(model, config, temperature))

    @cached_property
    def engine(self) -> Engine:
        """The engine behind the cache."""
        return self._load()

    @property
    def parallel(self) -> int:
        """Same as the engine."""
        return self.engine.parallel

    @property
    def shares_sources(self) -> bool:
        """Same as the engine."""
        return self.engine.shares_sources

    @property
    def budget(self) -> int:
        """Same as the engine."""
        return self.engine.budget

    def remembered(self, pairs: Sequence[Pair]) -> list[TokenScores | None]:
        """The scores of every pair; None for unknown ones."""
        keys = [self._key(pair) for pair in pairs]
        found = self._store.get(keys)
        scores = [np.frombuffer(found[key], dtype="<f4") if key in found else None for key in keys]
        return [
            tokens if tokens is not None and len(tokens) == len(pair.target) - 1 else None
            for pair, tokens in zip(pairs, scores, strict=True)
        ]

    def submit(self, batch: Sequence[Pair]) -> Pending:
        """Start scoring a batch; its scores are cached as soon as they are available."""
        result = self.engine.submit(batch)

        def wait() -> list[TokenScores]:
            scores = result()
            self._store.put(
                (self._key(pair), tokens.astype("<f4").tobytes())
                for pair, tokens in zip(batch, scores, strict=True)
                if np.isfinite(tokens).all()
            )
            return scores

        return wait

    def _key(self, pair: Pair) -> bytes:
        return self._keys.key(array("i", pair.source).tobytes(), array("i", pair.target).tobytes())


def _scope(model: ModelDirectory, config: EngineConfig, temperature: float) -> tuple[str, ...]:
    """Everything but the pair that a score depends on. In float32, the device changes it only by rounding."""
    from prism_mt.engines.ct2_model import REVISION

    device = "" if config.precision == "float32" else _device_kind(config)
    return model.digest, config.engine, config.precision, float(temperature).hex(), device, str(REVISION)


def _device_kind(config: EngineConfig) -> str:
    """Quantized products differ between kinds of devices by more than rounding."""
    from prism_mt.engines.ct2 import resolve_device

    if config.ray:
        return "cuda" if config.device == "cuda" else "cpu"
    return resolve_device(config.device.partition(":")[0])
