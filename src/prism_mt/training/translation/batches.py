"""Turn planned batches into tensors."""

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

USUAL = Conventions()


@dataclass(frozen=True)
class Batch:
    """Model input and targets of B sentence pairs."""

    source: Tensor
    """(B, S) ids."""
    source_padding: Tensor | None
    """(B, S), True at padding; None if there is none, which saves the mask."""
    target_input: Tensor
    """(B, T) ids."""
    counted: Tensor
    """(N,) positions in the flattened target whose next token is predicted: not those before the tag or padding."""
    wanted: Tensor
    """(N,) ids to be predicted there."""

    def to(self, device: torch.device) -> "Batch":
        """Move the batch to a device."""
        padding = None if self.source_padding is None else self.source_padding.to(device)
        moved = (tensor.to(device) for tensor in (self.target_input, self.counted, self.wanted))
        return Batch(self.source.to(device), padding, *moved)


class Collator:
    """Reads the pieces of a plan, adds special tokens and noise, and pads."""

    def __init__(
        self,
        data: ShardDataset,
        vocabulary: Vocabulary,
        denoising: Denoising,
        conventions: Conventions = USUAL,
        with_source: bool = True,
    ) -> None:
        """`vocabulary` is the target vocabulary, which has the tags."""
        self.data, self.denoising, self.conventions = data, denoising, conventions
        self.with_source = with_source
        self.tags = language_tags(vocabulary, data.meta.languages, str(data.folder))
        self._languages = data.languages

    def __call__(self, plan: Plan) -> Batch:
        """Assemble a batch; the same plan always gives the same one."""
        sources = self._sources(plan)
        targets = [
            self.data.pair(int(row))[0 if swap else 1].astype(np.int64)
            for row, swap in zip(plan.rows, plan.reverse, strict=True)
        ]
        languages = self._languages[np.where(plan.reverse, 0, 1), plan.rows]
        return self._tensors(sources, targets, [self.tags[language] for language in languages])

    def _sources(self, plan: Plan) -> list[NDArray[np.int64]]:
        """Sources, some of which are noisy copies of their targets."""
        pairs = [self._as_sources(int(row), bool(swap)) for row, swap in zip(plan.rows, plan.reverse, strict=True)]
        draw, everything = np.random.default_rng(plan.seed), np.concatenate([target for _, target in pairs])
        return [
            add_noise(target, everything, self.denoising, draw) if noised else source
            for (source, target), noised in zip(pairs, plan.noised & self.with_source, strict=True)
        ]

    def _as_sources(self, row: int, swap: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Both texts in source pieces, the one to be translated first."""
        source, target = (side.astype(np.int64) for side in self.data.pair_as_sources(row))
        return (target, source) if swap else (source, target)

    def _tensors(self, sources: list[Any], targets: list[Any], tags: list[int]) -> Batch:
        """Source: according to the conventions. Target: end, tag, pieces, end."""
        pad, eos = self.conventions.pad, self.conventions.eos
        given = [self.conventions.encode_source(left.tolist(), None, None) for left in sources]
        source = np.full((len(sources), max(map(len, given))), pad, dtype=np.int64)
        target = np.full((len(targets), max(map(len, targets)) + 3), pad, dtype=np.int64)
        for row, (left, right) in enumerate(zip(given, targets, strict=True)):
            source[row, : len(left)] = left
            target[row, 2 : len(right) + 2], target[row, len(right) + 2] = right, eos
        target[:, 0], target[:, 1] = eos, tags
        lengths = np.array([len(right) for right in targets])
        # Tokens from the second on are predicted, each from the state before it.
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
