"""The order of examples: an endless stream of batches that depends on the seed and the position alone.

Only the position has to be saved to resume after an interruption, and every process can plan the batches of all.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.corpus.data_directory import ShardDataset
from prism_mt.training.translation.config import Batches

_LOG = logging.getLogger("prism_mt")
# Special tokens around a target are its start, tag and end, of which all but one are input of the decoder.
TARGET_EXTRA = 2


@dataclass(frozen=True)
class Place:
    """A position in the stream: buffer, batch within it, and number of examples before it."""

    buffer: int = 0
    batch: int = 0
    examples: int = 0


@dataclass(frozen=True)
class Plan:
    """The examples of one batch, by row of the data."""

    rows: NDArray[np.int64]
    reverse: NDArray[np.bool_]
    """True where the stored target serves as the source."""
    noised: NDArray[np.bool_]
    """True where the source is a noisy copy of the target."""
    target_lengths: NDArray[np.int64]
    """In pieces."""
    seed: tuple[int, ...]

    @property
    def predicted(self) -> int:
        """Number of predicted tokens: the pieces and the end of each sentence."""
        return int(self.target_lengths.sum()) + len(self.rows)


@dataclass(frozen=True)
class _Group:
    """All examples of one language pair."""

    pair: str
    rows: NDArray[np.int64]
    single: bool
    """Single sentences, which have only one direction."""

    def __len__(self) -> int:
        return len(self.rows) * (1 if self.single else 2)


class ExampleStream:
    """Draws the examples of each language pair according to its share, each once before any repeats."""

    def __init__(
        self, data: ShardDataset, settings: Batches, denoising_share: float, seed: int, source_extra: int = 1
    ) -> None:
        """`source_extra` is the number of special tokens around a source."""
        self.seed, self.settings, self.denoising_share = seed, settings, denoising_share
        self._source_extra = source_extra
        self._source_lengths, self._target_lengths = data.source_lengths, data.target_lengths
        self.groups = group_rows(data, settings.max_length)
        self._check_weights(data)
        sizes = np.array([len(group) for group in self.groups], dtype=np.float64)
        factors = np.array([settings.weights.get(group.pair, 1.0) for group in self.groups])
        shares = (sizes / sizes.sum()) ** (1 / settings.temperature) * factors
        if not shares.sum() > 0:
            raise PrismError(f"{data.folder}: no training pair is left")
        self.shares = shares / shares.sum()
        self.examples = int(sizes[factors > 0].sum())
        """Examples in one epoch."""
        self._orders: dict[tuple[int, int], NDArray[np.int64]] = {}

    def batches(self, position: Place) -> Iterator[tuple[Plan, Place]]:
        """Yield the batches from `position` on, each with the position after it."""
        while True:
            plans = self._plans(position.buffer)
            for index in range(position.batch, len(plans)):
                plan = plans[index]
                position = Place(position.buffer, index + 1, position.examples + len(plan.rows))
                yield plan, position
            position = Place(position.buffer + 1, 0, position.examples)

    def _plans(self, buffer: int) -> list[Plan]:
        """All batches of one buffer, in training order."""
        draw = np.random.default_rng((self.seed, 1, buffer))
        chosen = [self._draw(number, buffer) for number in range(len(self.groups))]
        rows = np.concatenate([rows for rows, _ in chosen])
        reverse = np.concatenate([reverse for _, reverse in chosen])
        given, written = reverse.astype(np.int64), 1 - reverse.astype(np.int64)
        source, target = self._source_lengths[given, rows], self._target_lengths[written, rows]
        noised = (draw.random(len(rows)) < self.denoising_share) | (source == 0)
        source = np.where(noised, self._source_lengths[written, rows], source)
        # Random first, so that sentences of equal length are not grouped by language pair.
        order = np.lexsort((draw.random(len(rows)), source, target))
        cuts = cut(source[order] + self._source_extra, target[order] + TARGET_EXTRA, self.settings.tokens)
        parts = [order[start:end] for start, end in cuts]
        return [
            Plan(
                rows[part],
                reverse[part],
                noised[part],
                target[part].astype(np.int64),
                (self.seed, 2, buffer, number),
            )
            for number, part in enumerate(parts[index] for index in draw.permutation(len(parts)))
        ]

    def _draw(self, number: int, buffer: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Rows and directions that one group contributes to a buffer: the next of its shuffled examples."""
        group, quota = self.groups[number], self.shares[number] * self.settings.buffer
        start, end = int(quota * buffer), int(quota * (buffer + 1))
        cycles, offsets = np.divmod(np.arange(start, end), max(1, len(group)))
        examples = np.zeros(len(offsets), dtype=np.int64)
        for cycle in np.unique(cycles):
            examples[cycles == cycle] = self._order(number, int(cycle))[offsets[cycles == cycle]]
        if group.single:
            return group.rows[examples], np.zeros(len(examples), dtype=np.bool_)
        return group.rows[examples // 2], examples % 2 == 1

    def _order(self, number: int, cycle: int) -> NDArray[np.int64]:
        """The order of a group's examples in its nth pass."""
        if (number, cycle) not in self._orders:
            self._orders.pop((number, cycle - 2), None)
            draw = np.random.default_rng((self.seed, 0, number, cycle))
            self._orders[number, cycle] = draw.permutation(len(self.groups[number]))
        return self._orders[number, cycle]

    def _check_weights(self, data: ShardDataset) -> None:
        known = {group.pair for group in self.groups}
        unknown = sorted(set(self.settings.weights) - known)
        if unknown:
            raise PrismError(
                f"batches.weights: {data.folder} has no pair {', '.join(unknown)}; it has {', '.join(sorted(known))}"
            )


def group_rows(data: ShardDataset, max_length: int) -> list[_Group]:
    """The rows of each language pair (`de-en`) and the single sentences of each language (`de`)."""
    fits = np.concatenate([data.source_lengths, data.target_lengths]).max(0) <= max_length
    if not fits.all():
        _LOG.warning(
            "%s: %d of %d rows are longer than %d pieces and are left out",
            data.folder,
            (~fits).sum(),
            len(fits),
            max_length,
        )
    languages = data.meta.languages
    count = len(languages)
    first_languages, second_languages = data.languages
    keys = (first_languages * count + second_languages) * 2 + (data.target_lengths[0] == 0)
    groups = []
    for key in np.unique(keys[fits]):
        rows = np.flatnonzero(fits & (keys == key))
        first, second = divmod(int(key) // 2, count)
        single = bool(key % 2)
        pair = languages[second] if single else f"{languages[first]}-{languages[second]}"
        groups.append(_Group(pair, rows, single))
    return groups


def cut(sources: NDArray[np.int64], targets: NDArray[np.int64], tokens: int) -> list[tuple[int, int]]:
    """Ranges of adjacent examples that fit into padded batches of `tokens`; lengths include special tokens."""
    ranges, start, longest = [], 0, 0
    for index, length in enumerate(np.maximum(sources, targets).tolist()):
        longest = max(longest, length)
        if longest * (index + 1 - start) > tokens and index > start:
            ranges.append((start, index))
            start, longest = index, length
    return [*ranges, (start, len(sources))] if len(sources) else ranges
