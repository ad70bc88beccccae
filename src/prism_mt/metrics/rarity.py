"""Weights of pieces by how rare they are in a collection of texts: BERTScore's inverse document frequencies."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_mt.encoders.tokens import Tokenizer

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Rarity:
    """Inverse document frequencies, log((N + 1) / (n + 1)) of a piece in n of N texts; an unseen piece weighs most."""

    tokenizer: Tokenizer
    documents: int
    counts: Counter[int]
    digest: str
    """Identity of the texts."""

    @classmethod
    def of(cls, texts: Iterable[str], tokenizer: Tokenizer) -> "Rarity":
        """Count in how many texts each piece occurs."""
        counts: Counter[int] = Counter()
        digest, documents = hashlib.sha256(), 0
        for text in texts:
            documents += 1
            counts.update(set(_pieces(text, tokenizer)))
            digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
        return cls(tokenizer, documents, counts, digest.hexdigest())

    def weights(self, text: str) -> Weights:
        """Weights of a text's pieces, which add up to 1; all alike where every piece is in all texts."""
        pieces = _pieces(text, self.tokenizer)
        found = np.array([np.log((self.documents + 1) / (self.counts[piece] + 1)) for piece in pieces], np.float32)
        total = float(found.sum())
        return found / total if total > 0 else np.full(len(pieces), 1 / max(1, len(pieces)), np.float32)


def _pieces(text: str, tokenizer: Tokenizer) -> list[int]:
    """Ids of the pieces, special symbols left out."""
    found = tokenizer.encode(text)
    return [found.ids[place] for place in found.pieces]
