"""The default engine: CTranslate2, on CPU threads or GPUs, in float32 or quantized."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from prism_mt._core.environment import available_cores
from prism_mt._core.errors import PrismError
from prism_mt.engines.base import OutOfMemory, Pair, Pending, TokenScores
from prism_mt.engines.budgets import SCORING
from prism_mt.engines.ct2_model import converted
from prism_mt.models.directory import ModelDirectory

# The name of a token id in a converted model: with small models, calling `str` for every token takes a share of the
# time that shows.
_name = cache(str)


class CT2Engine:
    """Forced decoding by CTranslate2. On a CPU the threads are divided among workers, each with its own batch."""

    name = "ct2"
    shares_sources = False

    def __init__(
        self,
        model: ModelDirectory,
        precision: str = "float32",
        device: str = "auto",
        device_index: Sequence[int] = (0,),
        threads: int | None = None,
        temperature: float = 1.0,
        workers: int | None = None,
    ) -> None:
        self.dtype = precision
        self.temperature = temperature
        self.device = resolve_device(device)
        check_precision(precision, self.device)
        threads = (threads or available_cores()) if self.device == "cpu" else 1
        workers = workers or threads
        self.translator = _load(
            model,
            precision,
            temperature,
            device=self.device,
            device_index=list(device_index),
            compute_type=precision,
            inter_threads=workers,
            intra_threads=max(1, threads // workers),
        )
        self.parallel = 2 * workers * len(device_index)
        self.budget = SCORING["ct2"].on(self.device)

    def submit(self, batch: Sequence[Pair]) -> Pending:
        """Queue a batch for the next free thread or GPU."""
        sources = [list(map(_name, pair.source)) for pair in batch]
        # The last token of a target is the end of sentence, which CTranslate2 appends itself.
        targets = [list(map(_name, pair.target[:-1])) for pair in batch]
        futures = self.translator.score_batch(sources, targets, max_input_length=0, asynchronous=True)

        def wait() -> list[TokenScores]:
            with memory_errors():
                return [np.asarray(future.result().log_probs, dtype=np.float32) for future in futures]

        return wait


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn all of CTranslate2's out-of-memory errors into OutOfMemory."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, MemoryError) or "memory" in str(error).lower():
            raise OutOfMemory(str(error)) from error
        raise


def _load(model: ModelDirectory, precision: str, temperature: float, **options: Any) -> Any:
    """Load the converted model; if CTranslate2 cannot read it, verify it thoroughly first."""
    import ctranslate2

    folder = converted(model, precision, temperature)
    try:
        return ctranslate2.Translator(str(folder), **options)
    except (RuntimeError, ValueError, MemoryError):
        folder = converted(model, precision, temperature, thorough=True)
    try:
        return ctranslate2.Translator(str(folder), **options)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise PrismError(f"CTranslate2 cannot load the model {model.folder}: {error}") from error


def resolve_device(device: str) -> str:
    """Return `cuda` if CTranslate2 sees a GPU, otherwise `cpu`; fail if the requested device is missing."""
    import ctranslate2

    gpus = ctranslate2.get_cuda_device_count()
    if device == "auto":
        return "cuda" if gpus else "cpu"
    if device == "cuda" and not gpus:
        raise PrismError("no CUDA device is visible to CTranslate2: omit `device=`, or choose cpu")
    if device not in ("cpu", "cuda"):
        raise PrismError(f"the ct2 engine runs on cpu or cuda, not on {device}")
    return device


def check_precision(precision: str, device: str) -> None:
    """Fail if the device does not support a number format."""
    import ctranslate2

    supported = ctranslate2.get_supported_compute_types(device)
    if precision not in supported:
        raise PrismError(
            f"this {device} device cannot compute in {precision}; it has {', '.join(sorted(supported))}"
        )
