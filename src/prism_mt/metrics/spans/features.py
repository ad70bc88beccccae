"""Features of every word: how probable it is given the other text, and how well it matches a word there."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from prism_mt.metrics.spans.units import Unit

Array = NDArray[np.float32]
FLOOR = -16.0
"""Log-probabilities are clipped here: below, a piece is just surprising."""
NAMES = (
    "sum", "lowest", "mean", "first", "last", "pieces", "characters", "next_piece", "before", "after",
    "sentence", "other_sentence", "below_sentence", "rank", "digits", "capital", "place", "length_ratio", "length",
    "similarity", "margin", "above_mean", "distance", "other_mean", "other_lowest", "mutual", "similarity_before",
    "similarity_after", "similarity_rank", "jump_before", "jump_after", "before_at_match", "after_at_match",
    "same", "repeated", "crosslingual", "equal", "equal_before", "equal_after", "changed", "replaced", "likeness",
    "unknown_number",
)  # fmt: skip
"""Names of the features, in their order."""
_LONGEST_CHANGE = 6
"""Longer runs of differing words count as this long."""


@dataclass(frozen=True)
class Side:
    """One text: its words, the log-probabilities of its pieces given the other text, and vectors of its pieces."""

    text: str
    units: Sequence[Unit]
    scores: Array
    """One per piece and one for the end of the sentence."""
    vectors: Array
    """Pieces × width, from the model's encoder."""


def features(side: Side, other: Side, crosslingual: bool) -> Array:
    """Compute a row of features for every word of a side."""
    count = len(side.units)
    if not count:
        return np.zeros((0, len(NAMES)), dtype=np.float32)
    probabilities, others = _probabilities(side), _probabilities(other)
    table = np.zeros((count, len(NAMES)), dtype=np.float32)
    table[:, :5] = probabilities
    table[:, 5:19] = _place_features(side, other, probabilities)
    table[:, 19:33] = _match_features(side, other, others)
    words, known = _words(side), _words(other)
    table[:, 33] = [word in known for word in words]
    table[:, 34] = [words.count(word) > 1 for word in words]
    table[:, 35] = float(crosslingual)
    table[:, 36:42] = _difference_features(words, known)
    table[:, 42] = _unknown_numbers(words, known, table[:, 36] > 0, crosslingual)
    return table


def _unknown_numbers(
    words: Sequence[str], others: Sequence[str], equal: NDArray[np.bool_], crosslingual: bool
) -> list[bool]:
    """Which words are numbers that the other text does not have.

    In one language that is also a number which stands there less often, where the edit does not keep it: of 8 and 8
    for 6 and 8, the first.
    """
    digits, there = [_digits(word) for word in words], Counter(_digits(word) for word in others)
    here = Counter(digits)
    return [
        bool(own) and (not there[own] or (not crosslingual and not kept and here[own] > there[own]))
        for own, kept in zip(digits, equal.tolist(), strict=True)
    ]


def _words(side: Side) -> list[str]:
    return [side.text[unit.start : unit.end].casefold() for unit in side.units]


def _digits(word: str) -> str:
    """The digits of a word, in whatever script."""
    return "".join(str(unicodedata.digit(letter)) for letter in word if letter.isdigit())


def _probabilities(side: Side) -> Array:
    """Sum, minimum and mean, first and last log-probability of the pieces of every word."""
    scores = np.maximum(side.scores, FLOOR)
    rows = [
        (own.sum(), own.min(), own.mean(), own[0], own[-1])
        for own in (scores[unit.pieces[0] : unit.pieces[-1] + 1] for unit in side.units)
    ]
    return np.array(rows, dtype=np.float32).reshape(-1, 5)


def _place_features(side: Side, other: Side, own: Array) -> Array:
    """Features of a word among its neighbors and of its sentence."""
    scores = np.maximum(side.scores, FLOOR)
    count = len(side.units)
    table = np.zeros((count, 14), dtype=np.float32)
    table[:, 0] = [len(unit.pieces) for unit in side.units]
    table[:, 1] = [unit.end - unit.start for unit in side.units]
    table[:, 2] = [scores[min(unit.pieces[-1] + 1, len(scores) - 1)] for unit in side.units]
    table[1:, 3] = own[:-1, 2]
    table[:-1, 4] = own[1:, 2]
    table[:, 5] = scores.mean()
    table[:, 6] = np.maximum(other.scores, FLOOR).mean()
    table[:, 7] = own[:, 1] - scores.mean()
    table[:, 8] = own[:, 1].argsort().argsort() / count
    words = [side.text[unit.start : unit.end] for unit in side.units]
    table[:, 9] = [any(letter.isdigit() for letter in word) for word in words]
    table[:, 10] = [place > 0 and word[0].isupper() for place, word in enumerate(words)]
    table[:, 11] = np.arange(count) / count
    table[:, 12] = np.log((len(side.units) + 1) / (len(other.units) + 1))
    table[:, 13] = np.log(count)
    return table


def _match_features(side: Side, other: Side, others: Array) -> Array:
    """How well the best word of the other text matches, where it stands, and how probable it is itself."""
    count = len(side.units)
    table = np.zeros((count, 14), dtype=np.float32)
    if not len(other.units):
        return table
    cosines = _vectors(side) @ _vectors(other).T
    best = cosines.argmax(axis=1)
    highest = cosines.max(axis=1)
    table[:, 0] = highest
    table[:, 1] = highest - np.partition(cosines, -2, axis=1)[:, -2] if cosines.shape[1] > 1 else 1.0
    table[:, 2] = highest - cosines.mean(axis=1)
    places = best / len(other.units)
    table[:, 3] = np.abs(np.arange(count) / count - places)
    table[:, 4] = others[best, 2]
    table[:, 5] = others[best, 1]
    table[:, 6] = cosines.argmax(axis=0)[best] == np.arange(count)
    table[1:, 7] = highest[:-1]
    table[:-1, 8] = highest[1:]
    table[:, 9] = highest.argsort().argsort() / count
    steps = np.clip(np.diff(best) - 1, -5, 5)
    table[1:, 10] = steps
    table[:-1, 11] = steps
    # Where a word is missing, the words around the gap become improbable.
    table[1:, 12] = others[best[:-1], 4]
    table[:-1, 13] = others[best[1:], 3]
    return table


def _difference_features(words: Sequence[str], others: Sequence[str]) -> Array:
    """Which words an edit keeps and, of those that it does not, how many stand here and there in their place."""
    count = len(words)
    table = np.zeros((count, 6), dtype=np.float32)
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            table[start:end, 0] = 1
        else:
            table[start:end, 3] = min(end - start, _LONGEST_CHANGE)
            table[start:end, 4] = min(other_end - other_start, _LONGEST_CHANGE)
    table[1:, 1] = table[:-1, 0]
    table[:-1, 2] = table[1:, 0]
    table[:, 5] = 2 * table[:, 0].sum() / (count + len(others))
    return table


def _vectors(side: Side) -> Array:
    """Unit vectors of words: the mean of their pieces."""
    rows = np.stack([side.vectors[unit.pieces[0] : unit.pieces[-1] + 1].mean(axis=0) for unit in side.units])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Array = rows / np.maximum(lengths, 1e-6)
    return found
