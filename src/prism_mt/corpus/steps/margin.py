"""Margin filter: is a sentence clearly closer to its translation than to its other neighbors?"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt._core.options import option
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Filter, Step, check_names
from prism_mt.encoders.factory import open_sentence_encoder
from prism_mt.encoders.sentence import SentenceEncoder, Vectors


class Margin(Step):
    """Drops rows with a small margin, and records the margin of the others.

    The sentences of a chunk are embedded first; then each language pair is processed separately, in segments of limited
    size, and neighbors are searched among the other language's sentences of the segment. Pairs with a language that
    the encoder does not support pass unfiltered.
    """

    kind = "margin"

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        encoder: str = option(
            "sentence encoder, as for `--encoder`: `use`, `e5`, `hf:ORG/NAME`, or a folder relative to `root`",
            "use",
        )
        threshold: float = option("drop rows with a smaller margin", 1.04)
        thresholds: dict[str, float] = option(
            "thresholds for individual groups, such as 1.05 for mined bitext", {}
        )
        neighbors: int = option("number of neighbors on each side to compute the margin over", 4)
        max_rows: int = option("rows of a pair searched together; more rows take more memory and time", 100_000)

    config: Config

    def check(self) -> None:
        """Check that the encoder and faiss are available, and that the groups are known."""
        check_names(self.config.thresholds, self.context.groups, "the group")
        if min(self.config.neighbors, self.config.max_rows) < 1:
            raise PrismError("neighbors and max_rows of the margin step must be above 0")
        self._encoder()
        _faiss()

    def embed(self, rows: Sequence[Row]) -> tuple[Vectors, npt.NDArray[np.int32]]:
        """Embed the distinct sentences; return vectors and the indices of each row's sides (-1: unsupported)."""
        encoder = self._encoder()
        known = encoder.languages
        places: dict[str, int] = {}
        sides = np.full((len(rows), 2), -1, dtype=np.int32)
        for number, row in enumerate(rows):
            if known is None or (row.lang1 in known and row.lang2 in known):
                for side, text in enumerate((row.text1, row.text2)):
                    sides[number, side] = places.setdefault(text, len(places))
        return encoder.encode(list(places)) if places else np.zeros((0, 1), dtype=np.float32), sides

    def warn_about(self, languages: Iterable[str]) -> None:
        """Warn about languages that pass without a margin."""
        known = self._encoder().languages
        unknown = sorted(set(languages) - known) if known is not None else []
        if unknown:
            logging.getLogger("prism_mt").warning(
                "the encoder %s does not support %s: pairs with these languages pass the margin filter unchecked",
                self.config.encoder,
                ", ".join(unknown),
            )

    def _encoder(self) -> SentenceEncoder:
        """The encoder; the factory keeps the last one, so that it is loaded once per process."""
        folder = self.context.root / self.config.encoder
        return open_sentence_encoder(str(folder) if folder.is_dir() else self.config.encoder)

    def apply(self, rows: list[Row], vectors1: Vectors, vectors2: Vectors) -> list[Row]:
        """Return the rows of one language pair with a sufficient margin; the vectors belong to their two sides."""
        margins = margin_scores(vectors1, vectors2, self.config.neighbors)
        kept = []
        for row, margin in zip(rows, margins.tolist(), strict=True):
            threshold = self.config.thresholds.get(self.context.groups[row.source], self.config.threshold)
            if margin >= threshold:
                kept.append(row._replace(margin=round(margin, 6)))
        return kept


class MarginColumn(Filter):
    """Drops rows whose precomputed margin is too small; rows without one stay."""

    kind = "margin-column"

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        threshold: float = option("drop rows with a smaller margin", 1.04)

    config: Config

    def apply(self, rows: list[Row]) -> list[Row]:
        """Return rows with a large margin or none."""
        return [row for row in rows if row.margin is None or row.margin >= self.config.threshold]


def margin_scores(vectors1: Vectors, vectors2: Vectors, neighbors: int) -> npt.NDArray[np.float64]:
    """cos(x, y) / (half the mean cosine of x and its k neighbors among all y, plus half that of y among all x).

    Rows are pairs; equal vectors on one side are one candidate, so that a sentence in many pairs counts once.
    """
    index1, index2 = _distinct(vectors1), _distinct(vectors2)
    cosine = np.einsum("ij,ij->i", vectors1, vectors2).astype(np.float64)
    near1 = _mean_cosine(vectors1[index1[0]], vectors2[index2[0]], neighbors)[index1[1]]
    near2 = _mean_cosine(vectors2[index2[0]], vectors1[index1[0]], neighbors)[index2[1]]
    scores: npt.NDArray[np.float64] = cosine / np.maximum((near1 + near2) / 2, 1e-9)
    return scores


def _distinct(vectors: Vectors) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Indices of the first occurrences of distinct vectors, and for every vector the index of its representative."""
    rows = np.ascontiguousarray(vectors).view(np.dtype((np.void, vectors.dtype.itemsize * vectors.shape[1])))
    _, first, inverse = np.unique(rows.reshape(-1), return_index=True, return_inverse=True)
    return first, inverse


def _mean_cosine(queries: Vectors, candidates: Vectors, neighbors: int) -> npt.NDArray[np.float64]:
    index = _faiss().IndexFlatIP(candidates.shape[1])
    index.add(candidates)
    cosines, _ = index.search(queries, min(neighbors, len(candidates)))
    means: npt.NDArray[np.float64] = cosines.astype(np.float64).mean(axis=1)
    return means


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtra("the margin filter", "encoders") from None
    return faiss
