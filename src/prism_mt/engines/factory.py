"""Choose and open an engine."""

import logging
import time
from functools import partial

from prism_mt._core.errors import PrismError
from prism_mt.engines.base import Engine
from prism_mt.engines.cached import CachedEngine
from prism_mt.engines.config import EngineConfig, Precision, Task, resolve_engine
from prism_mt.engines.local import check_local, open_local
from prism_mt.models.directory import ModelDirectory

__all__ = ["EngineConfig", "Precision", "open_cached_engine", "open_engine"]

_LOG = logging.getLogger("prism_mt")


def open_engine(
    model: ModelDirectory, config: EngineConfig, temperature: float = 1.0, task: Task = "score"
) -> Engine:
    """Load the model into the requested engine, without the score cache."""
    return _load(model, _checked(model, config, temperature, task), temperature)


def open_cached_engine(
    model: ModelDirectory, config: EngineConfig, temperature: float = 1.0, task: Task = "score"
) -> Engine:
    """Open an engine behind the score cache, unless the configuration disables it; new pairs load the model.

    What the configuration requires must be available even if the cache can answer everything.
    """
    config = _checked(model, config, temperature, task)
    if not config.cache:
        return _load(model, config, temperature)
    return CachedEngine(model, config, temperature, partial(_load, model, config, temperature))


def _checked(model: ModelDirectory, config: EngineConfig, temperature: float, task: Task) -> EngineConfig:
    """Resolve the engine, and fail if model, temperature or machine do not match."""
    if model.spec.architecture.decoder_only:
        raise PrismError(
            f"{model.folder} is a language model: it has no source side to score a translation against"
        )
    if not 1e-3 <= temperature <= 1e3:
        raise PrismError(f"the temperature must be between 0.001 and 1000, not {temperature:g}")
    config = resolve_engine(config, task)
    if config.ray:
        from prism_mt.engines.ray import check_cluster

        check_cluster(config.ray)
    else:
        check_local(config)
    return config


def _load(model: ModelDirectory, config: EngineConfig, temperature: float) -> Engine:
    start = time.monotonic()
    if config.ray:
        from prism_mt.engines.ray import ClusterEngine

        engine: Engine = ClusterEngine(model, config, temperature)
    else:
        engine = open_local(model, config, temperature)
    seconds = time.monotonic() - start
    _LOG.debug("loaded %s into %s, %s, in %.2f s", model.folder, engine.name, engine.dtype, seconds)
    return engine
