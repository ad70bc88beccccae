"""Encode text pairs as the token ids that an engine scores."""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.engines.base import Pair, TokenScores
from prism_mt.models.directory import ModelDirectory
from prism_mt.text.subwords import OverlongPolicy


class Text(NamedTuple):
    """A text, its language in the model's own code, and its name in messages."""

    text: str
    language: str | None
    where: str


class PairEncoder:
    """Encodes (given, scored) texts as pairs of ids, and decodes token scores.

    A text longer than the model's positions is an error, is truncated, or is scored in windows: both texts are split
    into the same number of equal parts, and the tokens of all parts are joined again.
    """

    def __init__(self, model: ModelDirectory, long: OverlongPolicy = "error") -> None:
        spec = model.spec
        self._languages = spec.languages
        self._conventions = spec.conventions
        self._target = model.target
        self._long = long
        self._source_limit = spec.architecture.max_positions - (len(spec.conventions.source) - 1)
        self._target_limit = spec.architecture.max_positions - (len(spec.conventions.target) - 2)
        # The same reference occurs once per system and direction.
        self._source_ids = lru_cache(maxsize=4096)(lambda text: tuple(model.source.encode(text)))
        self._target_ids = self._source_ids
        if model.target is not model.source:
            self._target_ids = lru_cache(maxsize=4096)(lambda text: tuple(model.target.encode(text)))
        self.cut: set[str] = set()
        """Texts that were too long and were truncated or windowed."""

    def pairs_in_context(
        self, given: Text, scored: Text, context: Sequence[tuple[str, str]]
    ) -> tuple[list[Pair], int]:
        """Put earlier (given, scored) texts before both sides, as many of the nearest as the model has room for.

        The second value is the number of pieces of the scored side that belong to earlier texts and do not count.
        """
        source, target = self._source_ids(given.text), self._target_ids(scored.text)
        skipped = 0
        for given_before, scored_before in reversed(context):
            more_source, more_target = self._source_ids(given_before), self._target_ids(scored_before)
            fits = len(more_source) + len(source) <= self._source_limit
            if not fits or len(more_target) + len(target) > self._target_limit:
                break
            source, target = more_source + source, more_target + target
            skipped += len(more_target)
        if not skipped:
            return self.pairs(given, scored), 0
        return [self._pair(source, target, given.language, scored.language)], skipped

    def pairs(self, given: Text, scored: Text) -> list[Pair]:
        """One pair, or several windows of an overlong one."""
        source, target = self._source_ids(given.text), self._target_ids(scored.text)
        if len(source) > self._source_limit or len(target) > self._target_limit:
            self._refuse_or_note(
                (given, len(source), self._source_limit), (scored, len(target), self._target_limit)
            )
            if self._long == "window":
                parts = max(
                    math.ceil(len(source) / self._source_limit), math.ceil(len(target) / self._target_limit)
                )
                windows = zip(_split(source, parts), _split(target, parts), strict=True)
                return [self._pair(a, b, given.language, scored.language) for a, b in windows]
            source, target = source[: self._source_limit], target[: self._target_limit]
        return [self._pair(source, target, given.language, scored.language)]

    def join(
        self, pairs: Sequence[Pair], scores: Sequence[TokenScores], skipped: int = 0
    ) -> tuple[list[int], NDArray[np.float64]]:
        """The tokens that count and their scores: no tag, and one end of sentence for all windows together.

        The first `skipped` tokens are context.
        """
        ids: list[int] = []
        kept: list[TokenScores] = []
        for index, (pair, tokens) in enumerate(zip(pairs, scores, strict=True)):
            counted = self._conventions.counted(pair.target)
            end = counted.stop if index == len(pairs) - 1 else counted.stop - 1
            ids.extend(pair.target[1:][counted.start : end])
            kept.append(tokens[counted.start : end])
        return ids[skipped:], np.concatenate(kept).astype(np.float64)[skipped:]

    def piece(self, index: int) -> str:
        """The written form of a target token."""
        return self._target.piece(index)

    def _pair(self, source: Sequence[int], target: Sequence[int], given: str | None, scored: str | None) -> Pair:
        given_tag = self._languages[given] if given is not None else None
        scored_tag = self._languages[scored] if scored is not None else None
        return Pair(
            self._conventions.encode_source(source, given_tag, scored_tag),
            self._conventions.encode_target(target, scored_tag),
        )

    def _refuse_or_note(self, *sides: tuple[Text, int, int]) -> None:
        too_long = [side for side in sides if side[1] > side[2]]
        if self._long == "error":
            text, length, limit = too_long[0]
            raise PrismError(
                f"{text.where} has {length:,} pieces, but the model takes at most {limit:,}: "
                "shorten it, or have it truncated or scored in windows (`overlong=`)"
            )
        self.cut.update(text.where for text, _, _ in too_long)


def _split(ids: Sequence[int], parts: int) -> list[Sequence[int]]:
    """Split into `parts` pieces whose lengths differ by at most one."""
    bounds = [len(ids) * part // parts for part in range(parts + 1)]
    return [ids[start:end] for start, end in itertools.pairwise(bounds)]
