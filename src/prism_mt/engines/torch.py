"""The second engine: torch, in float32 on CPU, CUDA or Apple's GPU."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from prism_mt._core.errors import PrismError
from prism_mt.engines.base import OutOfMemory, Pair, Pending, TokenScores
from prism_mt.engines.budgets import SCORING
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.network import from_weights


class TorchEngine:
    """Forced decoding by our own network. A source that several targets of a batch share is encoded once."""

    name = "torch"
    dtype = "float32"
    parallel = 1
    shares_sources = True

    def __init__(
        self, model: ModelDirectory, device: str = "auto", threads: int | None = None, temperature: float = 1.0
    ) -> None:
        self.device = resolve_device(device)
        if threads:
            torch.set_num_threads(threads)
        self.temperature = temperature
        self._pad = model.spec.conventions.pad
        self.network = from_weights(model.spec.architecture, model.weights()).to(self.device)
        self.budget = SCORING["torch"].on(self.device.type)

    def submit(self, batch: Sequence[Pair]) -> Pending:
        """The work is done when the result is asked for."""
        return lambda: self._score(batch)

    def _score(self, batch: Sequence[Pair]) -> list[TokenScores]:
        with memory_errors(), torch.inference_mode():
            return self._forward(batch)

    def _forward(self, batch: Sequence[Pair]) -> list[TokenScores]:
        rows: dict[tuple[int, ...], int] = {}
        row_of = [rows.setdefault(pair.source, len(rows)) for pair in batch]
        source, padding = self.padded(list(rows))
        memory = self.network.encode(source, padding if padding.any() else None)
        if len(rows) < len(batch):
            index = torch.tensor(row_of, device=self.device)
            memory, padding = memory[index], padding[index]
        target, target_padding = self.padded([pair.target for pair in batch])
        states = self.network.decode(target[:, :-1], memory, padding if padding.any() else None)
        # Only real positions are projected: the vocabulary is the widest layer.
        real = ~target_padding[:, 1:]
        labels = target[:, 1:][real]
        logits = self.network.project(states[real]).float()
        if self.temperature != 1.0:
            logits /= self.temperature
        scores = logits.log_softmax(1).gather(1, labels[:, None])[:, 0]
        lengths = [len(pair.target) - 1 for pair in batch]
        return [part.numpy() for part in torch.split(scores.cpu(), lengths)]

    def padded(self, sequences: Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, T) ids, and a mask that is true at padding."""
        longest = max(map(len, sequences))
        rows = [list(ids) + [self._pad] * (longest - len(ids)) for ids in sequences]
        lengths = torch.tensor([len(ids) for ids in sequences], device=self.device)
        mask = torch.arange(longest, device=self.device)[None, :] >= lengths[:, None]
        return torch.tensor(rows, device=self.device), mask


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn every way in which torch says that memory ran out into OutOfMemory."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise OutOfMemory(str(error)) from error
    except RuntimeError as error:
        if "not enough memory" in str(error) or "out of memory" in str(error):
            raise OutOfMemory(str(error)) from error
        raise


def resolve_device(device: str) -> torch.device:
    """Return CUDA, then Apple's GPU, then the CPU for `auto`; fail where torch cannot use the device."""
    if device == "auto":
        has_mps = torch.backends.mps.is_available()
        return torch.device("cuda" if torch.cuda.is_available() else "mps" if has_mps else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise PrismError(f"torch cannot use the device {device}: {str(error).splitlines()[0]}") from error
    return chosen
