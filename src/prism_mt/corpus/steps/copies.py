"""Pairs whose sides are copies of each other, detected by shared n-grams of subword pieces."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Context, Corpus, Filter
from prism_mt.corpus.vocabulary import Recipe, sample_sentences, train_sentencepiece

Pieces = Callable[[str], Sequence[str]]


class CopyFilter(Filter):
    """Drops a pair if too many distinct 3-grams or 4-grams of its shorter side occur in the other side.

    The pieces come from a SentencePiece model used for nothing else, trained on the rows that reach the step.
    """

    kind = "copies"
    counts = ("sentences",)
    vocabularies = ("pieces",)
    needs_corpus = True

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        max_3grams: float = option("maximum share of the shorter side's 3-grams that occur in the other side", 0.6)
        max_4grams: float = option("the same for 4-grams", 0.4)
        pieces: int = option("size of the SentencePiece model; smaller if the sample has fewer pieces", 200_000)
        sentences: int = option("sentences to train it on", 2_000_000)

    config: Config

    def __init__(self, config: Config, context: Context, tokenize: Pieces | None = None) -> None:
        super().__init__(config, context)
        self._tokenize = tokenize
        self._model: Path | None = None

    def check(self) -> None:
        """Check that there is something to learn pieces from."""
        if min(self.config.pieces, self.config.sentences) < 1:
            raise PrismError("pieces and sentences of the copies step must be above 0")

    def prepare(self, corpus: Corpus) -> None:
        """Train the SentencePiece model, unless an earlier run has done so."""
        if self._tokenize is not None:
            return
        self._model = corpus.directory / "copies.model"
        if not self._model.exists():
            config = self.config
            sentences = sample_sentences(corpus, config.sentences, temperature=2.0, seed=self.context.seed)
            # Byte fallback: otherwise all unknown characters would be the same piece and look like a copy.
            recipe = Recipe(config.pieces, kind="unigram", byte_fallback=True, character_coverage=0.9995)
            train_sentencepiece(sentences, self._model, recipe)

    def apply(self, rows: list[Row]) -> list[Row]:
        """Return the rows that are not copies; two equal sides always are."""
        tokenize = self._tokenize or _load(str(self._model))
        # The sides of a multi-parallel row recur in many pairs of the same chunk.
        pieces: dict[str, Sequence[str]] = {}
        kept = []
        for row in rows:
            for text in (row.text1, row.text2):
                if text not in pieces:
                    pieces[text] = tokenize(text)
            if row.text1 != row.text2 and not self.is_copy(pieces[row.text1], pieces[row.text2]):
                kept.append(row)
        return kept

    def is_copy(self, pieces1: Sequence[str], pieces2: Sequence[str]) -> bool:
        """Whether the overlap of 3-grams or 4-grams exceeds its limit."""
        return (
            overlap(pieces1, pieces2, 3) > self.config.max_3grams
            or overlap(pieces1, pieces2, 4) > self.config.max_4grams
        )


def overlap(pieces1: Sequence[str], pieces2: Sequence[str], n: int) -> float:
    """Shared distinct n-grams divided by the distinct n-grams of the shorter side; 0 if a side has none."""
    grams1, grams2 = _ngrams(pieces1, n), _ngrams(pieces2, n)
    shorter = grams1 if len(pieces1) <= len(pieces2) else grams2
    return len(grams1 & grams2) / len(shorter) if shorter else 0.0


def _ngrams(pieces: Sequence[str], n: int) -> set[tuple[str, ...]]:
    return set(zip(*(pieces[start:] for start in range(n)), strict=False))


@lru_cache(maxsize=1)
def _load(path: str) -> Pieces:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=path)
    return lambda text: list(processor.encode(text, out_type=str))
