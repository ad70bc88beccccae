"""The copy penalty (Thompson & Post 2020), which makes a translation model paraphrase instead of copying its input.

A piece that starts the next word of an n-gram of the input, when the n-1 words before it have just been generated,
costs a·n^b, for every n from 1 to 4 that matches. Case is ignored. In scripts without spaces, a piece is a word.
"""

import math
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from prism_mt.generate.options import SearchConfig
from prism_mt.text.subwords import Vocabulary

ORDER = 4
History = tuple[str, ...]
"""The last words of a hypothesis, at most ORDER - 1."""
CopyTable = dict[History, list[int]]
"""Ids of the pieces that start a word of the input, by the words before it."""

_SPACE = "▁"
_UNSEGMENTED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")
"""Scripts without spaces between words, by the first word of their characters' names."""


class CopyPenalty:
    """The penalty for one vocabulary, incremental: it looks only at the last words of every hypothesis."""

    def __init__(self, source: Vocabulary, target: Vocabulary, config: SearchConfig) -> None:
        self._source = source
        self._costs = [config.penalty_scale * n**config.penalty_power for n in range(1, ORDER + 1)]
        self._form = config.penalty_form
        self._pieces = [target.piece(index).casefold() for index in range(len(target))]
        self._starts: dict[str, list[int]] = {}
        for index, piece in enumerate(self._pieces):
            if begins_word(piece):
                self._starts.setdefault(piece, []).append(index)

    def table(self, source: Sequence[int]) -> CopyTable:
        """Collect the n-grams of an input, given the ids of its pieces."""
        words: list[str] = []
        for index in source:
            piece = self._source.piece(index).casefold()
            if begins_word(piece) or not words:
                words.append(piece)
            else:
                words[-1] += piece
        table: dict[History, set[int]] = {}
        for place, word in enumerate(words):
            starts = {index for end in range(1, len(word) + 1) for index in self._starts.get(word[:end], ())}
            for n in range(1, min(ORDER, place + 1) + 1):
                table.setdefault(tuple(words[place - n + 1 : place]), set()).update(starts)
        return {context: sorted(ids) for context, ids in table.items()}

    def extend(self, history: History, token: int) -> History:
        """Return the last words after one more piece."""
        piece = self._pieces[token] if token < len(self._pieces) else ""
        if begins_word(piece) or not history:
            return (*history, piece)[1 - ORDER :]
        return (*history[:-1], history[-1] + piece)

    def apply(self, scores: Tensor, tables: Sequence[CopyTable], histories: Sequence[History]) -> Tensor:
        """Penalize the log-probabilities (rows, V) of each row, given its input's table and its last words."""
        entries: list[tuple[int, int, float]] = []
        for row, (table, history) in enumerate(zip(tables, histories, strict=True)):
            for n in range(1, min(ORDER, len(history) + 1) + 1):
                starts = table.get(history[len(history) - n + 1 :], ())
                entries += [(row, index, self._costs[n - 1]) for index in starts]
        if not entries and self._form == "subtract":
            return scores
        places = torch.tensor([entry[:2] for entry in entries], dtype=torch.long, device=scores.device).view(-1, 2)
        values = torch.tensor([entry[2] for entry in entries], dtype=scores.dtype, device=scores.device)
        place = (places[:, 0], places[:, 1])
        if self._form == "subtract":
            return scores.index_put(place, -values, accumulate=True)
        penalties = torch.zeros_like(scores).index_put(place, -values, accumulate=True)
        averaged = torch.logaddexp(scores, penalties) - math.log(2)
        return averaged.masked_fill(scores == float("-inf"), float("-inf"))


class Copying(NamedTuple):
    """The penalty with the n-grams of every input of a batch."""

    penalty: CopyPenalty
    tables: Sequence[CopyTable]


def begins_word(piece: str) -> bool:
    """Whether a piece starts a new word: after a space, or in a script that has none."""
    if not piece or piece.startswith(_SPACE):
        return bool(piece)
    return unicodedata.name(piece[0], "").startswith(_UNSEGMENTED)
