"""Prism-ref, Prism-src and Prism-dual: how probable is the output, given the reference or the source?"""

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal, NamedTuple

from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt.engines.base import Engine, Pair, TokenScores
from prism_mt.engines.scheduler import CLUSTER_WINDOW, WINDOW, score_pairs
from prism_mt.metrics.base import (
    REF,
    SRC,
    HandlesOverlong,
    Languages,
    ReducesReferences,
    Scorer,
    Segment,
    SegmentScore,
    Side,
    TokenTrace,
    UsesModel,
    sign,
)
from prism_mt.metrics.forced_decoding import PairEncoder, Text
from prism_mt.metrics.registry import register
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.directory import ModelDirectory

Direction = Literal["forward", "backward", "both"]

_LOG = logging.getLogger("prism_mt")
_DIRECTION_HELP = (
    "forward: the output given the reference or source; backward: the reverse; "
    "both (default of prism-ref; prism-src: forward)"
)


@dataclass(frozen=True, kw_only=True)
class PrismMetric(UsesModel, HandlesOverlong):
    """Base of the Prism metrics: forced decoding of one text given the other."""

    needs_language = True
    has_tokens = True
    runs_on_ray = True
    side: ClassVar[Side]

    direction: Direction = option(_DIRECTION_HELP, "both")
    forward_weight: float = option(
        "weight of the forward direction if both are used", 0.5, metavar="W", low=0, high=1
    )
    reduction: Literal["mean", "sum"] = option("mean log-probability per token, or their sum", "mean")
    temperature: float = option("divides the logits before the softmax", 1.0, metavar="T", low=1e-3, high=1e3)
    context: int = option(
        "earlier segments of a document (--documents) that stand before a segment on both sides; only its own pieces "
        "count",
        0,
        metavar="N",
        low=0,
        high=64,
    )

    @property
    def has_both_directions(self) -> bool:
        """Whether the option `direction` is both."""
        return self.direction == "both"

    @property
    def context_segments(self) -> int:
        """The option `context`."""
        return self.context

    def open(self, runtime: Runtime, languages: Languages) -> "PrismScorer":
        """Open the model and check that it can translate between the languages."""
        language = runtime.language(self.model, languages.target)
        other: str | None = language
        if self.side == "src":
            other = runtime.language(self.model, languages.source) if languages.source else None
        return PrismScorer(self, runtime, runtime.model(self.model), language, other)

    def join_directions(self, weights: Sequence[float], scores: Sequence[float]) -> float:
        """Combine the forced decodings of one text pair into one number: their weighted sum."""
        return sum(weight * score for weight, score in zip(weights, scores, strict=True))

    @property
    def reference_reduction(self) -> Literal["mean", "max"] | None:
        """How to combine several references; None without references."""
        return None


@register("prism-ref")
@dataclass(frozen=True, kw_only=True)
class PrismRef(PrismMetric, ReducesReferences):
    """Log-probability of output and reference given each other."""

    needs = REF
    side = "ref"

    @property
    def reference_reduction(self) -> Literal["mean", "max"]:
        """The value of the option."""
        return self.references


@register("prism-src")
@dataclass(frozen=True, kw_only=True)
class PrismSrc(PrismMetric):
    """Log-probability of the output given the source."""

    needs = SRC
    side = "src"
    direction: Direction = option(_DIRECTION_HELP, "forward")


@register("prism-dual")
@dataclass(frozen=True, kw_only=True)
class PrismDual(PrismMetric):
    """Dual conditional cross-entropy of source and output (Junczys-Dowmunt 2018), for bitext filtering.

    The logarithm of the paper's adequacy, -(|H(y|x) - H(x|y)| + (H(y|x) + H(x|y)) / 2) with H per token, here with one
    multilingual model for both directions.
    """

    needs = SRC
    side = "src"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.direction, self.forward_weight, self.reduction) != ("both", 0.5, "mean"):
            raise PrismError("prism-dual always uses both directions equally, and means: do not set these options")

    def join_directions(self, weights: Sequence[float], scores: Sequence[float]) -> float:
        """Combine the mean log-probabilities of both directions."""
        forward, backward = scores
        return (forward + backward) / 2 - abs(forward - backward)


class _Decoding(NamedTuple):
    """One forced decoding of a segment, possibly in windows, and its weight."""

    direction: str
    weight: float
    pairs: list[Pair]
    skipped: int = 0
    """Pieces of earlier segments, which do not count."""


class PrismScorer(Scorer):
    """Prism over one model and engine."""

    def __init__(
        self, metric: PrismMetric, runtime: Runtime, model: ModelDirectory, language: str, other: str | None
    ) -> None:
        self._metric, self._runtime, self._model = metric, runtime, model
        self._language, self._other_language = language, other
        self._check_languages()

    @property
    def engine(self) -> Engine:
        """The engine; it is loaded here."""
        return self._runtime.engine(self._metric.model, self._metric.temperature)

    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        """Score segment by segment; equal texts are scored once, and every text is read only once."""
        encoder = PairEncoder(self._model, self._metric.overlong)
        waiting: deque[list[list[_Decoding]]] = deque()

        def pairs() -> Iterator[Pair]:
            for segment in segments:
                alternatives = self._decodings(segment, encoder)
                waiting.append(alternatives)
                for decodings in alternatives:
                    for decoding in decodings:
                        yield from decoding.pairs

        config = self._runtime.config
        batching = (None, CLUSTER_WINDOW) if config.ray else (config.batch_tokens, WINDOW)
        scores = score_pairs(self.engine, pairs(), *batching)
        for first in scores:
            alternatives = waiting.popleft()
            count = sum(len(decoding.pairs) for decodings in alternatives for decoding in decodings)
            yield self._combine(alternatives, iter([first, *islice(scores, count - 1)]), encoder, tokens)
        if encoder.cut:
            word = "truncated" if self._metric.overlong == "truncate" else "scored in windows"
            _LOG.warning("%d overlong texts were %s (%s)", len(encoder.cut), word, min(encoder.cut))

    def signature(self, references: int = 1) -> str:
        """Model, direction, reduction, engine: everything that changes the number."""
        metric, engine = self._metric, self.engine
        return sign(
            metric.name,
            model=f"{self._model.spec.name or 'model'}@{self._model.digest[:12]}",
            lang=self._language,
            srclang=self._other_language if metric.side == "src" else None,
            dir=metric.direction if metric.direction != "both" else f"both-{metric.forward_weight:g}",
            seg=metric.reduction,
            refs=metric.reference_reduction,
            sys="mean",
            log="e",
            temp=f"{metric.temperature:g}",
            long=metric.overlong_in_signature,
            context=metric.context or None,
            engine=f"{engine.name}-{engine.dtype}",
            # With CTranslate2, what else is in a batch changes the last bits of activations, and so how they are
            # rounded to 8 bits.
            batch="varies" if engine.name == "ct2" and engine.dtype.startswith("int8") else None,
        )

    def _check_languages(self) -> None:
        """Check languages: some models tag the source or have a single pair; scoring the source needs its language."""
        spec, ours, other = self._model.spec, self._language, self._other_language
        backward = self._metric.direction != "forward"
        if other is None and backward:
            raise PrismError("scoring the source given the output needs the source language: set `src_lang=`")
        if other is None and spec.conventions.needs_source_language:
            raise PrismError(f"the model {spec.name} needs the source language: set `src_lang=`")
        ways: dict[Direction, list[tuple[str | None, str | None]]] = {
            "forward": [(other, ours)],
            "backward": [(ours, other)],
            "both": [(other, ours), (ours, other)],
        }
        for given, scored in ways[self._metric.direction]:
            reads = not spec.source_languages or given is None or given in spec.source_languages
            writes = not spec.target_languages or scored in spec.target_languages
            if not (reads and writes):
                raise PrismError(
                    f"{self._metric.name} needs the model {spec.name} to translate from {given} to {scored}, but it "
                    f"only translates from {', '.join(spec.source_languages)} into {', '.join(spec.target_languages)}"
                )

    def _decodings(self, segment: Segment, encoder: PairEncoder) -> list[list[_Decoding]]:
        """For every reference (or the one source), the forced decodings that make up its score."""
        line = f", line {segment.number}" if segment.number else ""
        names = segment.origin
        hypothesis = Text(segment.hypothesis, self._language, names.hypothesis + line)
        if self._metric.side == "src":
            others = [Text(segment.source or "", self._other_language, names.source + line)]
        else:
            files = names.references or ("reference",) * len(segment.references)
            others = [
                Text(text, self._other_language, file + line)
                for text, file in zip(segment.references, files, strict=True)
            ]
        return [
            self._directions(hypothesis, other, self._context(segment, place), encoder)
            for place, other in enumerate(others)
        ]

    def _context(self, segment: Segment, reference: int) -> list[tuple[str, str]]:
        """Earlier (other, hypothesis) texts of the document, the nearest last."""
        earlier = segment.context[-self._metric.context :] if self._metric.context else ()
        if self._metric.side == "src":
            return [(one.source or "", one.hypothesis) for one in earlier]
        return [(one.references[reference], one.hypothesis) for one in earlier]

    def _directions(
        self, hypothesis: Text, other: Text, context: list[tuple[str, str]], encoder: PairEncoder
    ) -> list[_Decoding]:
        metric = self._metric
        turned = [(scored, given) for given, scored in context]
        word = "reference" if metric.side == "ref" else "source"
        weight = {"forward": 1.0, "backward": 0.0, "both": metric.forward_weight}[metric.direction]
        decodings = []
        if metric.direction != "backward":
            pairs, skipped = encoder.pairs_in_context(other, hypothesis, context)
            decodings.append(_Decoding(f"hypothesis|{word}", weight, pairs, skipped))
        if metric.direction != "forward":
            pairs, skipped = encoder.pairs_in_context(hypothesis, other, turned)
            decodings.append(_Decoding(f"{word}|hypothesis", 1.0 - weight, pairs, skipped))
        return decodings

    def _combine(
        self,
        alternatives: list[list[_Decoding]],
        scores: Iterator[TokenScores],
        encoder: PairEncoder,
        tokens: bool,
    ) -> SegmentScore:
        """Token scores → directions → references → one number."""
        metric = self._metric
        totals, traces = [], []
        for decodings in alternatives:
            parts = []
            for decoding in decodings:
                found = [next(scores) for _ in decoding.pairs]
                ids, values = encoder.join(decoding.pairs, found, decoding.skipped)
                total = float(values.sum())
                parts.append(total / len(values) if metric.reduction == "mean" else total)
                if tokens:
                    pieces = tuple(encoder.piece(index) for index in ids)
                    traces.append(TokenTrace(decoding.direction, pieces, tuple(float(value) for value in values)))
            totals.append(metric.join_directions([decoding.weight for decoding in decodings], parts))
        score = max(totals) if metric.reference_reduction == "max" else sum(totals) / len(totals)
        return SegmentScore(score, tokens=tuple(traces))
