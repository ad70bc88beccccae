"""Options of everything that runs a model, and the choice of the engine."""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import ClassVar, Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.engines.base import EngineName

Precision = Literal["float32", "int8", "int8_float32", "float16", "int8_float16", "bfloat16"]
Task = Literal["score", "rerank", "beam", "search"]
"""`rerank` scores many targets of one source; `search` is any search but plain beam search."""


@dataclass(frozen=True, kw_only=True)
class EngineConfig(Config):
    """How a model is run.

    Nothing of it but the precision changes a score by more than rounding. In 8 bits, scores also depend a little on
    what else is in their batch.
    """

    TITLE: ClassVar[str] = "engine options"

    engine: Literal["auto", "ct2", "torch"] = option(
        "ct2 (CTranslate2) or torch (needs the extra `train`); auto takes the faster one that can do the task",
        "auto",
    )
    precision: Precision = option("number format; all but float32 need the ct2 engine", "float32")
    device: str = option("auto, cpu, cuda, cuda:0,1 (several GPUs, ct2 only) or mps (torch only)", "auto")
    threads: int | None = option("CPU threads (default: all cores)", None, metavar="N", low=1, high=4096)
    workers: int | None = option(
        "batches that the ct2 engine computes at once, sharing the threads (default: one per thread)",
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
        "package and the model's folder, and threads are those of one actor",
        None,
        metavar="ADDRESS",
    )
    offline: bool = option("never use the network, not even for hf: models", False)
    cache: bool = option("look up results in the user's cache and add new ones; a killed run resumes", True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engine == "torch" and self.precision != "float32":
            raise PrismError(
                f"the torch engine computes in float32, not in {self.precision}: leave out `precision=`"
            )
        if self.engine == "torch" and self.workers is not None:
            raise PrismError("the torch engine computes one batch at a time: leave out `workers=`")
        if self.ray and self.device not in ("auto", "cpu", "cuda"):
            raise PrismError(f"with `ray=` the device is cpu, or cuda for a GPU per actor, not {self.device}")


def resolve_engine(config: EngineConfig, task: Task = "score") -> EngineConfig:
    """Put an engine in the place of `auto`, and check that it can do the task."""
    if task == "search" and config.engine == "ct2":
        raise PrismError("the ct2 engine has beam search only: leave out `engine=`, or choose torch")
    if task == "search" and config.precision != "float32":
        raise PrismError("only beam search can run in another precision than float32: leave out `precision=`")
    if config.engine != "auto":
        return config
    engine: EngineName = "ct2"
    if task == "search" or config.device.startswith("mps"):
        engine = "torch"
    elif task == "rerank":
        # Torch encodes a source once for all its targets.
        needs_ct2 = config.precision != "float32" or config.workers is not None or config.ray is not None
        engine = "ct2" if needs_ct2 or "," in config.device or not find_spec("torch") else "torch"
    return replace(config, engine=engine)
