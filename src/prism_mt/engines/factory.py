"""Which engine for which wish."""

from dataclasses import dataclass
from typing import Literal

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt._core.options import check_choices
from prism_mt.engines.base import Engine, EngineName
from prism_mt.models.directory import ModelDirectory

Quantization = Literal["float32", "int8", "int8_float32", "float16", "int8_float16", "bfloat16"]


@dataclass(frozen=True)
class EngineOptions:
    """How a model is run. None of it changes a score by more than rounding, except quantisation and temperature.

    Scores in 8 bits also depend a little on what else is in their batch.
    """

    engine: EngineName = "ct2"
    quantization: Quantization = "float32"
    device: str = "auto"
    threads: int | None = None
    temperature: float = 1.0
    budget: int | None = None
    """Padded tokens per batch; None leaves it to the engine."""
    workers: int | None = None
    """Batches computed at once, which share the threads or the GPU; None: one per CPU thread."""
    ray: str | None = None
    """Address of a Ray cluster that computes; `threads` are then those of one of its actors."""

    def __post_init__(self) -> None:
        check_choices(self)
        if not 1e-3 <= self.temperature <= 1e3:
            raise PrismError(f"the temperature must be between 0.001 and 1000, not {self.temperature:g}")
        if self.engine == "torch" and self.quantization != "float32":
            raise PrismError(f"the torch engine computes in float32, not in {self.quantization}: use --engine ct2")
        if self.budget is not None and self.budget < 1:
            raise PrismError(f"the batch budget must be at least 1 token, not {self.budget}")
        if self.threads is not None and self.threads < 1:
            raise PrismError(f"the number of threads must be at least 1, not {self.threads}")
        if self.workers is not None and self.workers < 1:
            raise PrismError(f"the number of workers must be at least 1, not {self.workers}")
        if self.workers is not None and self.engine == "torch":
            raise PrismError("the torch engine computes one batch at a time: use --workers with --engine ct2")
        if self.ray and self.device not in ("auto", "cpu", "cuda"):
            raise PrismError(f"with --ray the device is cpu, or cuda for a GPU per actor, not {self.device}")


def open_engine(model: ModelDirectory, options: EngineOptions) -> Engine:
    """Load the model into the engine that was asked for."""
    if model.spec.architecture.decoder_only:
        raise PrismError(
            f"{model.folder} is a language model: it has no source side to score a translation against"
        )
    if options.ray:
        from prism_mt.engines.ray import ClusterEngine

        return ClusterEngine(model, options)
    name, _, index = options.device.partition(":")
    if options.engine == "torch":
        try:
            from prism_mt.engines.torch import TorchEngine
        except ImportError as error:
            raise MissingExtra("the torch engine", "train") from error
        return TorchEngine(model, options.device, options.threads, options.temperature)
    from prism_mt.engines.ct2 import CT2Engine

    try:
        indices = [int(part) for part in index.split(",")] if index else [0]
    except ValueError:
        raise PrismError(f"{options.device!r} is not a device: write cpu, cuda, cuda:0 or cuda:0,1") from None
    return CT2Engine(
        model, options.quantization, name, indices, options.threads, options.temperature, options.workers
    )
