"""Engines on this machine: which ones can run, and loading a model."""

import logging
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Union

from prism_mt._core.environment import overflows_in_8_bits
from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.engines.config import EngineConfig, Task, resolve_engine
from prism_mt.models.directory import ModelDirectory

if TYPE_CHECKING:
    from prism_mt.engines.ct2 import CT2Engine
    from prism_mt.engines.torch import TorchEngine

_LOG = logging.getLogger("prism_mt")


def open_local(
    model: ModelDirectory, config: EngineConfig, temperature: float = 1.0, task: Task = "score"
) -> Union["CT2Engine", "TorchEngine"]:
    """Load the model into the requested engine, or the one that suits the task."""
    config = resolve_engine(config, task)
    if config.engine == "torch":
        _require_torch()
        from prism_mt.engines.torch import TorchEngine

        engine = TorchEngine(model, config.device, config.threads, temperature, config.precision, config.workers)
        if task in ("score", "rerank"):
            engine.load()
        return engine
    from prism_mt.engines.ct2 import CT2Engine

    name, indices = split_device(config.device)
    return CT2Engine(model, config.precision, name, indices, config.threads, temperature, config.workers)


def check_local(config: EngineConfig) -> None:
    """Fail if this machine cannot run a resolved configuration.

    In the common case it imports neither torch nor CTranslate2: float32 on a CPU works everywhere.
    """
    if config.engine == "torch":
        _require_torch()
        if config.device not in ("auto", "cpu"):
            from prism_mt.engines.torch import resolve_device as resolve_torch_device

            resolve_torch_device(config.device)
    elif config.device not in ("auto", "cpu") or config.precision != "float32":
        from prism_mt.engines.ct2 import check_precision, resolve_device

        device = resolve_device(split_device(config.device)[0])
        check_precision(config.precision, device)
        if device == "cpu" and config.precision.startswith("int8") and overflows_in_8_bits():
            _warn_of_overflow(config.precision)


@cache
def _warn_of_overflow(precision: str) -> None:
    """Warn once, however many metrics and directions open an engine."""
    _LOG.warning(
        "%s overflows on this processor, which lacks VNNI: scores of mini are off by .017 on average, not by .006 as "
        "elsewhere; float32 is exact",
        precision,
    )


def split_device(device: str) -> tuple[str, list[int]]:
    """Split `cuda:0,1` into a kind of device and device indices."""
    name, _, index = device.partition(":")
    try:
        return name, [int(part) for part in index.split(",")] if index else [0]
    except ValueError:
        raise PrismError(f"{device!r} is not a device: write cpu, cuda, cuda:0 or cuda:0,1") from None


def _require_torch() -> None:
    if not find_spec("torch"):
        raise MissingExtra("the torch engine", "train")
