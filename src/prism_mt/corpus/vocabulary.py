"""SentencePiece models trained on a balanced sample of sentences."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt.corpus.hashing import hash64
from prism_mt.corpus.steps.base import Corpus


@dataclass(frozen=True)
class Recipe:
    """Parameters of a SentencePiece model."""

    size: int
    kind: Literal["unigram", "bpe"] = "unigram"
    byte_fallback: bool = True
    character_coverage: float = 0.9995
    split_digits: bool = False
    symbols: tuple[str, ...] = ()
    """Control symbols, such as language tags; text never encodes to one."""
    exact: bool = False
    """Fail if the sample is too small for `size`, instead of training a smaller model."""


def train_sentencepiece(sentences: Iterator[str], path: Path, recipe: Recipe) -> None:
    """Train a model with `<s>`, `<pad>`, `</s>`, `<unk>` as ids 0 to 3 and write it to `path`."""
    import sentencepiece

    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=sentences,
            model_writer=model,
            model_type=recipe.kind,
            vocab_size=recipe.size,
            hard_vocab_limit=recipe.exact,
            character_coverage=recipe.character_coverage,
            byte_fallback=recipe.byte_fallback,
            split_digits=recipe.split_digits,
            control_symbols=list(recipe.symbols),
            bos_id=0,
            pad_id=1,
            eos_id=2,
            unk_id=3,
            # A fixed number, not the machine's: sums of floats depend on how the work is divided.
            num_threads=8,
            train_extremely_large_corpus=recipe.size > 100_000,
            minloglevel=2,
        )
    except RuntimeError as error:
        # Its messages start with a source location and a condition.
        reason = str(error).rsplit("] ", 1)[-1].strip()
        raise PrismError(f"SentencePiece could not be trained with {recipe.size} pieces: {reason}") from error
    with write_atomically(path, "wb") as handle:
        handle.write(model.getvalue())


def sample_sentences(corpus: Corpus, total: int, temperature: float, seed: int) -> Iterator[str]:
    """About `total` distinct sentences, with languages in proportion to size ** (1 / temperature)."""
    sizes: dict[str, int] = {}
    for (_, pair), size in corpus.sizes().items():
        for language in pair.split("-"):
            sizes[language] = sizes.get(language, 0) + size
    weights = {language: size ** (1.0 / temperature) for language, size in sizes.items() if size}
    whole = sum(weights.values())
    samples = {
        language: _Sample(max(1, round(total * weight / whole))) for language, weight in sorted(weights.items())
    }
    for row in corpus.rows():
        for language, text in ((row.lang1, row.text1), (row.lang2, row.text2)):
            samples[language].offer(hash64(f"{seed}\t{text}"), text)
    for sample in samples.values():
        yield from sample.texts()


class _Sample:
    """The texts with the smallest hashes: a uniform sample of the distinct texts in a stream."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._limit = 1 << 64
        self._texts: dict[int, str] = {}

    def offer(self, key: int, text: str) -> None:
        if key < self._limit:
            self._texts[key] = text
            # Pruning only now and then keeps the cost per text constant.
            if len(self._texts) > 2 * self._size + 1000:
                self._shrink()

    def _shrink(self) -> None:
        keys = np.fromiter(self._texts, dtype=np.uint64, count=len(self._texts))
        self._limit = int(np.partition(keys, self._size)[self._size])
        self._texts = {key: text for key, text in self._texts.items() if key < self._limit}

    def texts(self) -> Sequence[str]:
        return [self._texts[key] for key in sorted(self._texts)[: self._size]]
