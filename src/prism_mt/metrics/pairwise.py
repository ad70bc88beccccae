"""Metrics that compare pairs of texts: each output with every reference, or with its source."""

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from prism_mt._core.files import path_of
from prism_mt._core.options import option
from prism_mt.metrics.base import REF, ReducesReferences, Scorer, Segment, SegmentScore, Side, UsesModel

Reduction = Literal["mean", "max"]
_CHUNK = 256


@dataclass(frozen=True, kw_only=True)
class EncoderMetric(UsesModel, ReducesReferences):
    """A metric over an encoder's vectors of outputs and references or, if it needs those instead, sources."""

    needs = REF
    served = False

    encoder: str = option(
        "contextual encoder: model (from --model), e5 (100 languages), minilm (English), a folder or hf:ORG/NAME; for "
        "laser also use, or a folder of LASER or sentence-transformers",
        "model",
        metavar="NAME",
    )

    @property
    def side(self) -> Side:
        """What outputs are compared with."""
        return "ref" if "ref" in self.needs else "src"

    @property
    def label(self) -> str:
        """Always include the encoder: without it, a value invites comparison with published ones."""
        label = super().label
        if "encoder=" in label:
            return label
        # The model's own, which is the default: its name says more than the word "model".
        rest = label.removeprefix(self.name).strip("[]")
        return f"{self.name}[{','.join(filter(None, (f'encoder={path_of(self.model).name}', rest)))}]"

    @property
    def models(self) -> frozenset[str]:
        """The translation model, only if its encoder is used."""
        return super().models if self.encoder == "model" else frozenset()


class PairwiseScorer(Scorer):
    """Scores every output against each reference, or against its source."""

    def __init__(self, side: Side, references: Reduction = "mean") -> None:
        self.side = side
        self.references = references
        """How to combine the scores of several references."""

    @abstractmethod
    def compare(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Score each (output, other text)."""

    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        """Score chunk by chunk, so that an encoder can batch texts of similar length."""
        rest = iter(segments)
        while chunk := list(itertools.islice(rest, _CHUNK)):
            others = [self._others(segment) for segment in chunk]
            pairs = [(s.hypothesis, text) for s, texts in zip(chunk, others, strict=True) for text in texts]
            scores = iter(self.compare(pairs))
            for texts in others:
                found = list(itertools.islice(scores, len(texts)))
                yield SegmentScore(max(found) if self.references == "max" else sum(found) / len(found))

    def _others(self, segment: Segment) -> tuple[str, ...]:
        return segment.references if self.side == "ref" else (segment.source or "",)
