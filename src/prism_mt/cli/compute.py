"""Options of what computes, the same in every command that runs a model."""

from dataclasses import dataclass
from typing import Any, Literal

from prism_mt._core.arguments import option
from prism_mt.engines.base import EngineName
from prism_mt.engines.factory import EngineOptions, Quantization
from prism_mt.metrics.registry import ModelInUse

_GROUP = "engine"


@dataclass(kw_only=True)
class DeviceOptions:
    """On what a model is run."""

    device: str = option("auto, cpu, cuda, cuda:0,1 or mps (torch)", "auto", group=_GROUP)
    threads: int | None = option("CPU threads (default: all cores)", None, metavar="N", group=_GROUP)
    workers: int | None = option(
        "batches computed at once by the ct2 engine, which share the threads (default: one per thread, which suits "
        "all but huge models)",
        None,
        metavar="N",
        group=_GROUP,
    )
    offline: bool = option("never use the network, not even for hf: models", False, group=_GROUP)


@dataclass(kw_only=True)
class ComputeOptions(DeviceOptions):
    """By what, too."""

    engine: Literal["auto", EngineName] = option(
        "what computes: ct2, or torch (extra `train`); auto takes the faster one that can do what is asked",
        "auto",
        group=_GROUP,
    )
    quantization: Quantization = option("number format of the ct2 engine", "float32", group=_GROUP)

    def engine_options(self, auto: EngineName = "ct2", **further: Any) -> EngineOptions:
        """The engine that was asked for; `auto` is the one that suits the command."""
        engine = auto if self.engine == "auto" else self.engine
        return EngineOptions(engine, self.quantization, self.device, self.threads, workers=self.workers, **further)


@dataclass(kw_only=True)
class ScoringOptions(ComputeOptions):
    """For commands that score: with the user's cache."""

    cache: bool = option(
        "take scores from and add them to the user's cache; a killed run goes on", True, group=_GROUP
    )

    def in_use(self, model: str, **further: Any) -> ModelInUse:
        """The model by name, not loaded yet."""
        return ModelInUse(model, self.offline, self.engine_options(**further), self.cache)
