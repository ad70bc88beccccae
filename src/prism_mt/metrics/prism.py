"""Prism-ref and Prism-src: how probable is the output, given the reference or the source?"""

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import check_choices
from prism_mt.engines.base import Engine, Pair, TokenScores
from prism_mt.engines.scheduler import WINDOW, score_pairs
from prism_mt.metrics.base import Segment, SegmentScore, Side, TokenTrace, sign
from prism_mt.metrics.forced_decoding import LongPolicy, PairEncoder, Text
from prism_mt.models.directory import ModelDirectory

Direction = Literal["forward", "backward", "both"]

_LOG = logging.getLogger("prism_mt")


@dataclass(frozen=True)
class PrismOptions:
    """What is scored given what, and how token scores become one number."""

    direction: Direction | None = None
    """`forward` is the output given the reference or source, `backward` the reverse; None means both with a
    reference and forward with a source, as the papers do."""
    forward_weight: float = 0.5
    """Share of the forward direction where both count."""
    reduction: Literal["mean", "sum"] = "mean"
    """Mean log-probability per token (the papers' H) or their sum (G)."""
    references: Literal["mean", "max"] = "mean"
    """How the scores of several references become one."""
    long: LongPolicy = "error"
    tokens: bool = False

    def __post_init__(self) -> None:
        check_choices(self)
        if not 0.0 <= self.forward_weight <= 1.0:
            raise PrismError(
                f"the weight of the forward direction must be between 0 and 1, not {self.forward_weight}"
            )


@dataclass(frozen=True)
class _Decoding:
    """One forced decoding of a segment, possibly in windows, and what it is worth."""

    direction: str
    weight: float
    pairs: list[Pair]


class PrismMetric:
    """Prism over one model and engine, against references (`prism-ref`) or the source (`prism-src`)."""

    NAME = "prism-{side}"

    def __init__(
        self,
        side: Side,
        model: ModelDirectory,
        engine: Engine,
        language: str,
        source_language: str | None = None,
        options: PrismOptions | None = None,
        budget: int | None = None,
        window: int = WINDOW,
    ) -> None:
        self.name = self.NAME.format(side=side)
        self.needs = frozenset({side})
        self.options = self.complete(options or PrismOptions())
        self._side = side
        self._model = model
        self._engine = engine
        self._language = language
        self._other_language = language if side == "ref" else source_language
        self._budget = budget
        self._window = window
        self._encoder = PairEncoder(model, self.options.long)
        self._direction = self.options.direction or ("both" if side == "ref" else "forward")
        if side == "src":
            self._check_source_language()
        self._check_translates()

    def complete(self, options: PrismOptions) -> PrismOptions:
        """What a kind of metric makes of the options that it is given."""
        return options

    def score(self, segments: Iterable[Segment]) -> Iterator[SegmentScore]:
        """Segment by segment; equal texts are scored once, and every text is read only once."""
        waiting: deque[list[list[_Decoding]]] = deque()

        def pairs() -> Iterator[Pair]:
            for segment in segments:
                alternatives = self._decodings(segment)
                waiting.append(alternatives)
                for decodings in alternatives:
                    for decoding in decodings:
                        yield from decoding.pairs

        scores = score_pairs(self._engine, pairs(), self._budget, self._window)
        for first in scores:
            alternatives = waiting.popleft()
            count = sum(len(decoding.pairs) for decodings in alternatives for decoding in decodings)
            yield self._combine(alternatives, iter([first, *islice(scores, count - 1)]))
        if self._encoder.cut:
            word = "truncated" if self.options.long == "truncate" else "scored in windows"
            _LOG.warning("%d over-long texts were %s (%s)", len(self._encoder.cut), word, min(self._encoder.cut))

    def aggregate(self, totals: Sequence[float]) -> float:
        """The plain mean of segment scores."""
        return totals[0] / totals[1]

    def join_directions(self, weights: Sequence[float], scores: Sequence[float]) -> float:
        """One number from the scores of the forced decodings of one pair of texts: their weighted sum."""
        return sum(weight * score for weight, score in zip(weights, scores, strict=True))

    def signature(self) -> str:
        """Model, direction, reduction, engine: all that changes the number."""
        several = self.options.references
        return sign(
            self.name,
            model=f"{self._model.spec.name or 'model'}@{self._model.digest[:12]}",
            lang=self._language,
            srclang=self._other_language if self._side == "src" else None,
            dir=self._direction if self._direction != "both" else f"both-{self.options.forward_weight:g}",
            seg=self.options.reduction,
            refs=several if self._side == "ref" else None,
            sys="mean",
            log="e",
            temp=f"{self._engine.temperature:g}",
            long=self.options.long if self.options.long != "error" else None,
            engine=f"{self._engine.name}-{self._engine.dtype}",
        )

    def _check_source_language(self) -> None:
        """Some models tag the source, and a source that is scored itself needs its language too."""
        backward = self._direction != "forward"
        if self._other_language is None and (backward or self._model.spec.conventions.needs_source_language):
            raise PrismError(
                f"the model {self._model.spec.name} needs the language of the source: give --src-lang"
                if not backward
                else "scoring the source given the output needs the language of the source: give --src-lang"
            )

    def _check_translates(self) -> None:
        """A model of one pair of languages cannot score in other directions."""
        spec, ours, other = self._model.spec, self._language, self._other_language
        ways: dict[Direction, list[tuple[str | None, str | None]]] = {
            "forward": [(other, ours)],
            "backward": [(ours, other)],
            "both": [(other, ours), (ours, other)],
        }
        for given, scored in ways[self._direction]:
            reads = not spec.source_languages or given is None or given in spec.source_languages
            writes = not spec.target_languages or scored in spec.target_languages
            if not (reads and writes):
                raise PrismError(
                    f"{self.name} asks the model {spec.name} to go from {given} to {scored}, but it translates from "
                    f"{', '.join(spec.source_languages)} into {', '.join(spec.target_languages)} only"
                )

    def _decodings(self, segment: Segment) -> list[list[_Decoding]]:
        """For every reference (or the one source) the forced decodings that make its score."""
        line = f", line {segment.number}" if segment.number else ""
        names = segment.origin
        hypothesis = Text(segment.hypothesis, self._language, names.hypothesis + line)
        if self._side == "src":
            others = [Text(segment.source or "", self._other_language, names.source + line)]
        else:
            files = names.references or ("reference",) * len(segment.references)
            others = [
                Text(text, self._other_language, file + line)
                for text, file in zip(segment.references, files, strict=True)
            ]
        return [self._directions(hypothesis, other) for other in others]

    def _directions(self, hypothesis: Text, other: Text) -> list[_Decoding]:
        word = "reference" if self._side == "ref" else "source"
        weight = {"forward": 1.0, "backward": 0.0, "both": self.options.forward_weight}[self._direction]
        decodings = []
        if self._direction != "backward":
            decodings.append(_Decoding(f"hypothesis|{word}", weight, self._encoder.pairs(other, hypothesis)))
        if self._direction != "forward":
            decodings.append(_Decoding(f"{word}|hypothesis", 1.0 - weight, self._encoder.pairs(hypothesis, other)))
        return decodings

    def _combine(self, alternatives: list[list[_Decoding]], scores: Iterator[TokenScores]) -> SegmentScore:
        """Token scores → directions → references → one number."""
        totals, traces = [], []
        for decodings in alternatives:
            parts = []
            for decoding in decodings:
                tokens = [next(scores) for _ in decoding.pairs]
                ids, values = self._encoder.join(decoding.pairs, tokens)
                parts.append(float(values.mean() if self.options.reduction == "mean" else values.sum()))
                if self.options.tokens:
                    pieces = tuple(self._encoder.piece(index) for index in ids)
                    traces.append(TokenTrace(decoding.direction, pieces, tuple(float(value) for value in values)))
            totals.append(self.join_directions([decoding.weight for decoding in decodings], parts))
        score = max(totals) if self.options.references == "max" else sum(totals) / len(totals)
        return SegmentScore(score, (score, 1.0), tuple(traces))
