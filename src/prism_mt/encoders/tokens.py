"""Tokenizers of encoders: text to ids, including special symbols."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from prism_mt._core.errors import MissingExtra
from prism_mt.text.subwords import Vocabulary


class Tokens(NamedTuple):
    """The input of a network for one text."""

    ids: list[int]
    pieces: list[int]
    """The positions in `ids` that represent text; the others are special symbols."""

    def cut(self, limit: int) -> "Tokens":
        """Drop the last pieces of a text with more than `limit` tokens; special symbols stay."""
        return self if len(self.ids) <= limit else self._only(self.pieces[: self._room(limit)])

    def windows(self, limit: int) -> "Windows":
        """Split a text with more than `limit` tokens into windows of that size, which overlap by half or more."""
        room = self._room(limit)
        last = len(self.pieces) - room
        if last <= 0:
            return Windows([0], [self])
        steps = -(-last // max(1, room // 2))
        starts = [last * step // steps for step in range(steps + 1)]
        return Windows(starts, [self._only(self.pieces[start : start + room]) for start in starts])

    def _room(self, limit: int) -> int:
        """How many pieces fit beside the special symbols."""
        return limit - (len(self.ids) - len(self.pieces))

    def _only(self, pieces: list[int]) -> "Tokens":
        """Keep these pieces and all special symbols."""
        dropped = set(self.pieces) - set(pieces)
        kept = [place for place in range(len(self.ids)) if place not in dropped]
        places = {place: new for new, place in enumerate(kept)}
        return Tokens([self.ids[place] for place in kept], [places[place] for place in pieces])


class Windows(NamedTuple):
    """Parts of a text, each with all special symbols, and the index of the first piece of each."""

    starts: list[int]
    parts: list[Tokens]


class Tokenizer(Protocol):
    """Converts text to the ids that a network takes."""

    def encode(self, text: str) -> Tokens:
        """Split a text into pieces and add the special symbols."""
        ...


@dataclass(frozen=True)
class SubwordTokenizer:
    """SentencePiece pieces between fixed symbols."""

    vocabulary: Vocabulary
    before: tuple[int, ...]
    after: tuple[int, ...]

    def encode(self, text: str) -> Tokens:
        """Split a text into pieces and add the special symbols."""
        pieces = self.vocabulary.encode(text)
        start = len(self.before)
        return Tokens([*self.before, *pieces, *self.after], list(range(start, start + len(pieces))))


class FastTokenizer:
    """A `tokenizer.json`, read by the package tokenizers."""

    def __init__(self, path: Path) -> None:
        try:
            import tokenizers
        except ImportError:
            raise MissingExtra(f"the tokenizer {path}", "encoders") from None
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(path))
        # Files often keep the settings of their last use; lengths are checked here, and the network does the padding.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, text: str) -> Tokens:
        """Split a text into pieces and add the special symbols."""
        found = self._tokenizer.encode(text)
        return Tokens(found.ids, [place for place, special in enumerate(found.special_tokens_mask) if not special])

    def size(self) -> int:
        """Count the ids, including added tokens."""
        return int(self._tokenizer.get_vocab_size(with_added_tokens=True))


def xlm_roberta_vocabulary(model: bytes, rows: int) -> Vocabulary:
    """Number the pieces of XLM-R's SentencePiece model as its network does.

    The four special symbols come first, then the pieces after SentencePiece's own three; pieces beyond the embedding's
    rows have no id.
    """
    processor = Vocabulary(model).processor
    own: Sequence[str] = [processor.id_to_piece(index) for index in range(3, processor.get_piece_size())]
    return Vocabulary(model, ("<s>", "<pad>", "</s>", "<unk>", *own)[:rows], unknown=3)
