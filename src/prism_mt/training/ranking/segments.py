"""Ranked segments as ids, and their order in fine-tuning."""

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.ranking_pairs import RankedSegment, within_length
from prism_mt.models.directory import ModelDirectory
from prism_mt.text.languages import resolve

Ids = tuple[int, ...]


@dataclass(frozen=True)
class EncodedSegment:
    """A ranked segment as model input (`source`) and output (`target`)."""

    lp: str
    source: Ids
    reference_source: Ids
    reference_target: Ids
    output_sources: tuple[Ids, ...]
    output_targets: tuple[Ids, ...]
    scores: tuple[float, ...]
    pairs: tuple[tuple[int, int], ...]

    @cached_property
    def longest(self) -> int:
        """Tokens in the longest text."""
        texts = (
            self.source,
            self.reference_source,
            self.reference_target,
            *self.output_sources,
            *self.output_targets,
        )
        return max(map(len, texts))

    @cached_property
    def tokens(self) -> int:
        """Tokens decoded for it in both directions."""
        count = len(self.output_targets)
        return sum(map(len, self.output_targets)) + count * len(self.reference_target)


def encode_segments(
    segments: Sequence[RankedSegment], model: ModelDirectory, max_length: int
) -> list[EncodedSegment]:
    """Encode segments for a model; texts that are too long for it or for `max_length` are left out."""
    spec = model.spec
    positions = spec.architecture.max_positions - max(len(spec.conventions.source), len(spec.conventions.target))

    kept = within_length(segments, lambda text: len(model.source.encode(text)), min(max_length, positions))
    return [_encode(segment, model) for segment in kept]


def _encode(segment: RankedSegment, model: ModelDirectory) -> EncodedSegment:
    spec = model.spec
    source, _, target = segment.lp.partition("-")
    reads, writes = resolve(source, spec.languages), resolve(target, spec.languages)
    readable, writable = spec.source_languages or (reads, writes), spec.target_languages or (writes,)
    if writes not in readable or writes not in writable or reads not in readable:
        raise PrismError(
            f"the model {spec.name} cannot be fine-tuned on {segment.lp}: it does not paraphrase {target}"
        )
    conventions, tags = spec.conventions, spec.languages

    def given(text: str, language: str) -> Ids:
        return conventions.encode_source(model.source.encode(text), tags[language], tags[writes])

    def written(text: str) -> Ids:
        return conventions.encode_target(model.target.encode(text), tags[writes])

    return EncodedSegment(
        segment.lp,
        given(segment.src, reads),
        given(segment.ref, writes),
        written(segment.ref),
        tuple(given(text, writes) for text in segment.outputs),
        tuple(written(text) for text in segment.outputs),
        segment.scores,
        segment.pairs,
    )


def digest_segments(segments: Sequence[EncodedSegment]) -> str:
    """Hash segments, their ratings and their order."""
    digest = hashlib.sha256()
    for segment in segments:
        digest.update(repr(dataclasses.astuple(segment)).encode())
    return digest.hexdigest()


class RoundRobin:
    """Segments of all language pairs in turn; smaller pairs repeat until the largest has been seen once."""

    def __init__(self, segments: Sequence[EncodedSegment], seed: int) -> None:
        self._by_pair: dict[str, list[EncodedSegment]] = {}
        for segment in segments:
            self._by_pair.setdefault(segment.lp, []).append(segment)
        self._seed = seed
        self._largest = max(map(len, self._by_pair.values()))

    @property
    def examples(self) -> int:
        """Segments in one epoch, including repetitions."""
        return self._largest * len(self._by_pair)

    def epoch(self, number: int) -> list[EncodedSegment]:
        """The segments of an epoch; a function of the seed and the number only."""
        rng = np.random.default_rng((self._seed, number))
        turns = []
        for segments in self._by_pair.values():
            rounds = -(-self._largest // len(segments))
            order = np.concatenate([rng.permutation(len(segments)) for _ in range(rounds)])[: self._largest]
            turns.append([segments[index] for index in order])
        return [segment for turn in zip(*turns, strict=True) for segment in turn]

    def updates(self, position: int, tokens: int) -> Iterator[list[EncodedSegment]]:
        """Yield updates of about `tokens` tokens from a position on; none crosses the end of an epoch."""
        while True:
            number, start = divmod(position, self.examples)
            update: list[EncodedSegment] = []
            count = 0
            for segment in self.epoch(number)[start:]:
                update.append(segment)
                count += segment.tokens
                if count >= tokens:
                    yield update
                    update, count = [], 0
            if update:
                yield update
            position = (number + 1) * self.examples


def cut_batches(segments: Sequence[EncodedSegment], tokens: int) -> list[list[EncodedSegment]]:
    """Batch segments of similar length, each batch within `tokens` padded tokens unless it is a single segment."""
    batches: list[list[EncodedSegment]] = []
    rows = 0
    for segment in sorted(segments, key=lambda one: one.longest):
        count = len(segment.output_targets)
        if not batches or (rows + count) * segment.longest > tokens:
            batches.append([])
            rows = 0
        batches[-1].append(segment)
        rows += count
    return batches
