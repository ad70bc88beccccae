"""Subword encoding: a SentencePiece model, and a dictionary if its ids are not the model's."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from prism_mt._core.errors import PrismError

OverlongPolicy = Literal["error", "truncate", "window"]
"""What happens to a text of more pieces than a network takes."""


@dataclass(frozen=True)
class Vocabulary:
    """The files behind a model's subword vocabulary."""

    sentencepiece: bytes
    """A serialized SentencePiece model."""
    pieces: tuple[str, ...] | None = None
    """Pieces by id; None if the ids are SentencePiece's own."""
    unknown: int = 3
    words: bool = False
    """Whether the dictionary is one of words, like fairseq's: whitespace inside a piece then separates words."""

    @cached_property
    def processor(self) -> Any:
        """The SentencePiece processor, loaded on first use."""
        import sentencepiece

        try:
            return sentencepiece.SentencePieceProcessor(model_proto=self.sentencepiece)
        except RuntimeError as error:
            raise PrismError("the SentencePiece model is damaged") from error

    @cached_property
    def ids(self) -> dict[str, int]:
        """Ids by piece; the first of equal pieces wins."""
        pieces = self.pieces or ()
        return {piece: index for index, piece in reversed(list(enumerate(pieces)))}

    def __len__(self) -> int:
        return len(self.pieces) if self.pieces is not None else int(self.processor.get_piece_size())

    def encode(self, text: str) -> list[int]:
        """Encode a text as piece ids, without special tokens."""
        if self.pieces is None:
            return list(self.processor.encode(text))
        with _whole_characters():
            pieces = self.processor.encode(text, out_type=str)
        if self.words:
            pieces = " ".join(pieces).split()
        return [self.ids.get(piece, self.unknown) for piece in pieces]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode piece ids to text; control symbols and tags must have been removed."""
        with _whole_characters():
            if self.pieces is None:
                return str(self.processor.decode(list(ids)))
            return str(self.processor.decode([self.pieces[index] for index in ids]))

    def piece(self, index: int) -> str:
        """The piece with this id, as SentencePiece writes it (`▁` stands for a space)."""
        with _whole_characters():
            return self.pieces[index] if self.pieces is not None else str(self.processor.id_to_piece(index))


@contextmanager
def _whole_characters() -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise PrismError("the SentencePiece model has a piece that is not UTF-8") from error
