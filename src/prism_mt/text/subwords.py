"""Text to ids and back: a SentencePiece model, and a dictionary where its ids are not the model's."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from prism_mt._core.errors import PrismError


@dataclass(frozen=True)
class Vocabulary:
    """The files behind a model's subwords."""

    sentencepiece: bytes
    """A serialized SentencePiece model."""
    pieces: tuple[str, ...] | None = None
    """Piece by id. None when the ids are SentencePiece's own."""
    unknown: int = 3
    words: bool = False
    """Whether the dictionary is one of words, as fairseq's: whitespace inside a piece then separates words."""

    @cached_property
    def processor(self) -> Any:
        """The SentencePiece processor, loaded when first needed."""
        import sentencepiece

        try:
            return sentencepiece.SentencePieceProcessor(model_proto=self.sentencepiece)
        except RuntimeError as error:
            raise PrismError("the SentencePiece model is damaged") from error

    @cached_property
    def ids(self) -> dict[str, int]:
        """Id by piece; the first of equal pieces wins."""
        pieces = self.pieces or ()
        return {piece: index for index, piece in reversed(list(enumerate(pieces)))}

    def __len__(self) -> int:
        return len(self.pieces) if self.pieces is not None else int(self.processor.get_piece_size())

    def encode(self, text: str) -> list[int]:
        """Ids of the pieces of a text, without any special token."""
        if self.pieces is None:
            return list(self.processor.encode(text))
        pieces = self.processor.encode(text, out_type=str)
        if self.words:
            pieces = " ".join(pieces).split()
        return [self.ids.get(piece, self.unknown) for piece in pieces]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of pieces; control symbols and tags must have been taken off."""
        if self.pieces is None:
            return str(self.processor.decode(list(ids)))
        return str(self.processor.decode([self.pieces[index] for index in ids]))

    def piece(self, index: int) -> str:
        """The piece with this id, as SentencePiece writes it (`▁` stands for a space)."""
        return self.pieces[index] if self.pieces is not None else str(self.processor.id_to_piece(index))
