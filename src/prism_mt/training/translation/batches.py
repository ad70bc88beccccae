"""Planned batches as tensors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from prism_mt.corpus.data_directory import ShardDataset, language_tags
from prism_mt.models.spec import Conventions
from prism_mt.text.subwords import Vocabulary
from prism_mt.training.translation.config import Denoising
from prism_mt.training.translation.noise import add_noise
from prism_mt.training.translation.stream import Plan


@dataclass(frozen=True)
class Batch:
    """What the model and the loss need of B sentence pairs."""

    source: Tensor
    """(B, S) ids."""
    source_padding: Tensor | None
    """(B, S), true at padding; None where there is none, which saves the mask."""
    target_input: Tensor
    """(B, T) ids."""
    counted: Tensor
    """(N,) positions in the flattened target whose next token is predicted: not those before the tag or padding."""
    wanted: Tensor
    """(N,) ids that are to be predicted there."""

    def to(self, device: torch.device) -> "Batch":
        """The same on a device."""
        padding = None if self.source_padding is None else self.source_padding.to(device)
        moved = (tensor.to(device) for tensor in (self.target_input, self.counted, self.wanted))
        return Batch(self.source.to(device), padding, *moved)


class Collator:
    """Reads the pieces of a plan, adds special tokens and mistakes, and pads."""

    def __init__(
        self, data: ShardDataset, vocabulary: Vocabulary, denoising: Denoising, with_source: bool = True
    ) -> None:
        self.data, self.denoising, self.conventions = data, denoising, Conventions()
        self.with_source = with_source
        self.tags = language_tags(vocabulary, data.meta.languages, str(data.folder))
        self._languages = np.stack([data.column(3), data.column(4)])

    def __call__(self, plan: Plan) -> Batch:
        """Assemble a batch; the same plan always gives the same one."""
        pairs = [self._pair(int(row), bool(swap)) for row, swap in zip(plan.rows, plan.reverse, strict=True)]
        targets = [target for _, target in pairs]
        draw, everything = np.random.default_rng(plan.seed), np.concatenate(targets)
        sources = [
            add_noise(target, everything, self.denoising, draw) if noised else source
            for (source, target), noised in zip(pairs, plan.noised & self.with_source, strict=True)
        ]
        languages = self._languages[np.where(plan.reverse, 0, 1), plan.rows]
        return self._tensors(sources, targets, [self.tags[language] for language in languages])

    def _pair(self, row: int, swap: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        source, target = (side.astype(np.int64) for side in self.data.pair(row))
        return (target, source) if swap else (source, target)

    def _tensors(self, sources: list[Any], targets: list[Any], tags: list[int]) -> Batch:
        """Source: pieces, end. Target: end, tag, pieces, end."""
        pad, eos = self.conventions.pad, self.conventions.eos
        source = np.full((len(sources), max(map(len, sources)) + 1), pad, dtype=np.int64)
        target = np.full((len(targets), max(map(len, targets)) + 3), pad, dtype=np.int64)
        for row, (left, right) in enumerate(zip(sources, targets, strict=True)):
            source[row, : len(left)], source[row, len(left)] = left, eos
            target[row, 2 : len(right) + 2], target[row, len(right) + 2] = right, eos
        target[:, 0], target[:, 1] = eos, tags
        lengths = np.array([len(right) for right in targets])
        # Token 2 and later ones are predicted, from the state before each.
        predicted = np.arange(target.shape[1] - 1)[None, :]
        counted = np.flatnonzero((predicted >= 1) & (predicted <= lengths[:, None] + 1))
        padding = source == pad
        return Batch(
            torch.from_numpy(source),
            torch.from_numpy(padding) if padding.any() else None,
            torch.from_numpy(np.ascontiguousarray(target[:, :-1])),
            torch.from_numpy(counted),
            torch.from_numpy(target[:, 1:].reshape(-1)[counted]),
        )
