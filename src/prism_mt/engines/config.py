"""Engine options, shared by everything that runs a model, and the choice of the engine."""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import ClassVar, Literal

from prism_mt._core.environment import has_bfloat16, has_int8
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.engines.base import EngineName

Precision = Literal[
    "auto", "float32", "int8", "int8_float32", "float16", "int8_float16", "bfloat16", "int8_bfloat16"
]
TORCH_PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "int8", "int8_bfloat16")
Task = Literal["score", "rerank", "beam", "search"]
"""`rerank` scores many targets of one source; `search` is any search but plain beam search."""


@dataclass(frozen=True, kw_only=True)
class EngineConfig(Config):
    """Engine options.

    Nothing of it but the precision changes a score by more than rounding. In less than float32, scores also depend a
    little on what else is in their batch: with the torch engine by less than 0.01, in 8 bits with the ct2 engine and
    the embedded model by less than 0.1.
    """

    TITLE: ClassVar[str] = "engine options"

    engine: Literal["auto", "ct2", "torch"] = option(
        "ct2 (CTranslate2) or torch (needs the extra `train`); auto: the faster one that can do the task",
        "auto",
    )
    precision: Precision = option(
        "number format: float32, int8, bfloat16 or int8_bfloat16 (torch engine on a CPU; the latter projects onto the "
        "vocabulary in 8 bits); ct2 has the others; auto takes the fastest that keeps scores within 0.005 of float32 "
        "on average: int8_bfloat16 or bfloat16 where the CPU and torch have it, float16 on a GPU",
        "float32",
    )
    device: str = option("auto, cpu, cuda, cuda:0,1 (several GPUs, ct2 only) or mps (torch only)", "auto")
    threads: int | None = option("CPU threads (default: all cores)", None, metavar="N", low=1, high=4096)
    workers: int | None = option(
        "batches that are computed at once, sharing the threads (default: one per thread)",
        None,
        metavar="N",
        low=1,
        high=4096,
    )
    batch_tokens: int | None = option(
        "padded tokens per batch (default: depends on the device)", None, metavar="N", low=1, high=2**31
    )
    ray: str | None = option(
        "score on the Ray cluster at this address: auto, HOST:PORT, or local to start one; every machine needs this "
        "package and the model's folder, and `threads` is per actor",
        None,
        metavar="ADDRESS",
    )
    offline: bool = option("never use the network, not even for hf: models", False)
    cache: bool = option("look up results in the user's cache and add new ones; a killed run resumes", True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engine == "torch" and self.precision not in (*TORCH_PRECISIONS, "auto"):
            raise PrismError(
                f"the torch engine computes in float32, bfloat16, int8 or int8_bfloat16, not in {self.precision}: "
                "choose another `precision=`"
            )
        if self.ray and self.device not in ("auto", "cpu", "cuda"):
            raise PrismError(f"with `ray=` the device is cpu, or cuda for a GPU per actor, not {self.device}")


def resolve_engine(config: EngineConfig, task: Task = "score") -> EngineConfig:
    """Put an engine and a precision in the place of `auto`, and check that they can do the task."""
    if config.precision == "auto":
        config = replace(config, precision=_fast_precision(config, task))
    if task == "search" and config.engine == "ct2":
        raise PrismError("the ct2 engine only has beam search: omit `engine=`, or choose torch")
    if task == "search" and config.precision != "float32":
        raise PrismError("only beam search can run in a precision other than float32: omit `precision=`")
    if config.engine != "auto":
        return config
    return replace(config, engine=_fast_engine(config, task))


def _fast_engine(config: EngineConfig, task: Task) -> EngineName:
    """The faster engine that can do the task in a precision."""
    if task == "search" or config.device.startswith("mps"):
        return "torch"
    if not find_spec("torch") or config.ray is not None or "," in config.device:
        return "ct2"
    if config.precision in ("bfloat16", "int8_bfloat16") and task != "beam" and device_kind(config) == "cpu":
        return "torch"
    # Torch encodes a source once for all its targets.
    return "torch" if task == "rerank" and config.precision == "float32" and config.workers is None else "ct2"


def _fast_precision(config: EngineConfig, task: Task) -> Precision:
    """The fastest precision that keeps scores within .005 of float32 on average, by device and installed packages.

    Measured with `benchmarks/precisions.py`: with states in 8 bits in every layer, they are not. What is generated,
    and what is scored on a cluster of machines that may differ, stays in float32.
    """
    if task in ("search", "beam") or config.ray is not None or config.device.startswith("mps"):
        return "float32"
    if device_kind(config) == "cuda":
        return "float32" if config.engine == "torch" else "float16"
    usable = config.engine != "ct2" and find_spec("torch") is not None and has_bfloat16()
    if not usable:
        return "float32"
    return "int8_bfloat16" if has_int8() else "bfloat16"


def device_kind(config: EngineConfig) -> str:
    """Return the kind of device (`cpu`, `cuda` or `mps`) that a configuration means on this machine."""
    kind = config.device.partition(":")[0]
    if kind != "auto":
        return kind
    import ctranslate2

    return "cuda" if ctranslate2.get_cuda_device_count() else "cpu"
