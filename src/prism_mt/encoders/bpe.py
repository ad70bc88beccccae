"""Byte-pair encoding with a file of codes, as fastBPE applies it; the original LASER was trained on such pieces."""

from collections.abc import Collection
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

_END = "</w>"
_INSIDE = "@@"
"""Ends a piece that another piece of the same word follows."""


class PairEncoding:
    """Merges in the order of the codes; pieces that the vocabulary lacks are taken apart again."""

    def __init__(self, codes: Path, vocabulary: Collection[str] = ()) -> None:
        pairs = [tuple(line.split(" ")[:2]) for line in codes.read_text("utf-8").splitlines() if line.strip()]
        self._ranks = {pair: rank for rank, pair in reversed(list(enumerate(pairs)))}
        self._parts = {first + second: (first, second) for first, second in reversed(pairs)}
        self._vocabulary = frozenset(vocabulary)
        self.split = lru_cache(maxsize=1 << 16)(self._split)

    def _split(self, word: str) -> tuple[str, ...]:
        """Split a word into pieces, all but the last with @@ behind them."""
        parts = [*word[:-1], word[-1:] + _END]
        while len(parts) > 1:
            pairs = set(pairwise(parts))
            best = min(pairs, key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            parts = _merged(parts, best)
        if self._vocabulary:
            parts = [piece for part in parts for piece in self._known(part)]
        return tuple(_shown(part) for part in parts)

    def _known(self, part: str) -> list[str]:
        if _shown(part) in self._vocabulary or part not in self._parts:
            return [part]
        return [piece for half in self._parts[part] for piece in self._known(half)]


def _merged(parts: list[str], pair: tuple[str, ...]) -> list[str]:
    """Join all occurrences of a pair, from left to right."""
    found: list[str] = []
    place = 0
    while place < len(parts):
        if tuple(parts[place : place + 2]) == pair:
            found.append(parts[place] + parts[place + 1])
            place += 2
        else:
            found.append(parts[place])
            place += 1
    return found


def _shown(part: str) -> str:
    return part.removesuffix(_END) if part.endswith(_END) else part + _INSIDE
