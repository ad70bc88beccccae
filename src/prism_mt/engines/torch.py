"""The second engine: torch, in float32 or bfloat16 on CPU, CUDA or Apple's GPU, and in 8 bits on a CPU."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property

import torch

from prism_mt._core.environment import available_cores
from prism_mt._core.errors import PrismError
from prism_mt.engines.base import OutOfMemory, Pair, Pending, TokenScores
from prism_mt.engines.budgets import SCORING
from prism_mt.engines.packed import PackedTransformer
from prism_mt.engines.workers import worker_pool
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.network import Transformer, from_weights


class TorchEngine:
    """Forced decoding over packed tokens. On a CPU the threads are divided among workers, as CTranslate2 does it.

    A source that several targets of a batch share is encoded once, and what these targets have in common at their
    beginning is decoded once.
    """

    name = "torch"
    shares_sources = True

    def __init__(
        self,
        model: ModelDirectory,
        device: str = "auto",
        threads: int | None = None,
        temperature: float = 1.0,
        precision: str = "float32",
        workers: int | None = None,
    ) -> None:
        self.device = resolve_device(device)
        if precision.startswith("int8") and self.device.type != "cpu":
            raise PrismError(
                f"the torch engine computes in {precision} on a CPU only: choose another `precision=`"
            )
        self.dtype = precision
        self.temperature = temperature
        self._model = model
        self._pad = model.spec.conventions.pad
        self._threads = (threads or available_cores()) if self.device.type == "cpu" else 1
        if threads:
            torch.set_num_threads(threads)
        self._workers = (workers or self._threads) if self.device.type == "cpu" else 1
        self.parallel = 2 * self._workers
        self.budget = SCORING["torch"].on(self.device.type)

    @cached_property
    def network(self) -> Transformer:
        """The network in float32 for searches, which advance token by token."""
        return from_weights(self._model.spec.architecture, self._model.weights()).to(self.device)

    @cached_property
    def packed(self) -> PackedTransformer:
        """The network for forced decoding."""
        a = self._model.spec.architecture
        return PackedTransformer(a, self._model.weights(), self.dtype, self.device, self.temperature)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return worker_pool(self._workers, self._threads)

    def load(self) -> None:
        """Get ready to score, before several threads ask for it at once."""
        assert self.packed
        assert self._pool

    def submit(self, batch: Sequence[Pair]) -> Pending:
        """Queue a batch for the next free worker."""
        return self._pool.submit(self._score, batch).result

    def _score(self, batch: Sequence[Pair]) -> list[TokenScores]:
        groups: dict[tuple[int, ...], list[int]] = {}
        for place, pair in enumerate(batch):
            groups.setdefault(pair.source, []).append(place)
        order = [place for places in groups.values() for place in places]
        targets = [batch[place].target for place in order]
        with memory_errors(), torch.inference_mode():
            scores = self.packed.score(list(groups), targets, [len(places) for places in groups.values()]).cpu()
        parts = dict(zip(order, torch.split(scores, [len(target) - 1 for target in targets]), strict=True))
        return [parts[place].numpy() for place in range(len(batch))]

    def padded(self, sequences: Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, T) ids, and a mask that is True at padding."""
        longest = max(map(len, sequences))
        rows = [list(ids) + [self._pad] * (longest - len(ids)) for ids in sequences]
        lengths = torch.tensor([len(ids) for ids in sequences], device=self.device)
        mask = torch.arange(longest, device=self.device)[None, :] >= lengths[:, None]
        return torch.tensor(rows, device=self.device), mask


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn all of torch's out-of-memory errors into OutOfMemory."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise OutOfMemory(str(error)) from error
    except RuntimeError as error:
        if "not enough memory" in str(error) or "out of memory" in str(error):
            raise OutOfMemory(str(error)) from error
        raise


def resolve_device(device: str) -> torch.device:
    """Return CUDA, then Apple's GPU, then the CPU for `auto`; fail if torch cannot use the device."""
    if device == "auto":
        has_mps = torch.backends.mps.is_available()
        return torch.device("cuda" if torch.cuda.is_available() else "mps" if has_mps else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise PrismError(f"torch cannot use the device {device}: {str(error).splitlines()[0]}") from error
    return chosen
