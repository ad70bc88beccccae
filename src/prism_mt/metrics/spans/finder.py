"""From token traces to error spans: features, classifier, and neighboring words merged."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt.encoders.base import NetworkEncoder
from prism_mt.encoders.factory import EncoderConfig, open_piece_encoder
from prism_mt.encoders.model import read_model
from prism_mt.metrics.base import ErrorSpan, Metric, Part, Segment, TokenTrace
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.spans.classifier import SpanClassifier, load_classifier
from prism_mt.metrics.spans.features import FLOOR, NAMES, Array, Side, features
from prism_mt.metrics.spans.units import Unit, find_units, matching_pieces, piece_spans
from prism_mt.models.directory import ModelDirectory
from prism_mt.text.parallel import Languages
from prism_mt.text.words import Span, has_spaces


@dataclass(frozen=True)
class Decoded:
    """Both texts of a segment with the log-probabilities of their pieces given each other."""

    hypothesis: Side
    other: Side
    crosslingual: bool

    def tables(self) -> tuple[Array, Array]:
        """Return the features of the words of both sides."""
        return (
            features(self.hypothesis, self.other, self.crosslingual),
            features(self.other, self.hypothesis, self.crosslingual),
        )


class SpanReader:
    """Prepares segments and their traces for the classifier."""

    def __init__(self, metric: Metric, runtime: Runtime, languages: Languages) -> None:
        [name] = metric.models
        self.model: ModelDirectory = runtime.model(name)
        self.crosslingual = "src" in metric.needs
        self.part: Part = "source" if self.crosslingual else "reference"
        target = runtime.language(name, languages.target)
        other = runtime.language(name, languages.source) if self.crosslingual else target
        has_spaces(target), has_spaces(other)  # an error where words cannot be told apart
        self._languages = {"hypothesis": target, self.part: other}
        # One network for all languages: a second one would hold its weights again.
        network = runtime.share(("span encoder", name), lambda: self._open_encoder(target, runtime))
        self._encoders: Mapping[str, NetworkEncoder] = {
            language: network.with_tokenizer(read_model(self.model, language, language).tokenizer, network.name)
            for language in dict.fromkeys((target, other))
        }
        self._units = lru_cache(maxsize=4096)(self._find_units)

    def _open_encoder(self, language: str, runtime: Runtime) -> NetworkEncoder:
        # In 8 bits the vectors cost half, and the cosines of words hardly move.
        config = EncoderConfig(layer=layer_of(self.model), precision="int8")
        return open_piece_encoder("model", language, lambda: self.model, runtime.config.offline, config)

    def read(self, segments: Sequence[Segment], traces: Sequence[Sequence[TokenTrace]]) -> list[list[Decoded]]:
        """Return for every segment a pair of sides per reference, or the one with its source."""
        sides = ["hypothesis", self.part]
        texts: dict[str, dict[str, Array]] = {language: {} for language in self._encoders}
        for segment in segments:
            for part, text in [
                ("hypothesis", segment.hypothesis),
                *((self.part, t) for t in self._others(segment)),
            ]:
                texts[self._languages[part]][text] = np.zeros((0, 1), dtype=np.float32)
        for language, own in texts.items():
            wanted = list(own)
            for text, vectors in zip(wanted, self._encoders[language].encode(wanted), strict=True):
                own[text] = vectors[-1]
        found = []
        for segment, own_traces in zip(segments, traces, strict=True):
            pairs = []
            for place, other in enumerate(self._others(segment)):
                forward, backward = own_traces[2 * place : 2 * place + 2]
                both = [
                    self._side(text, part, trace, texts)
                    for text, part, trace in zip(
                        (segment.hypothesis, other), sides, (forward, backward), strict=True
                    )
                ]
                pairs.append(Decoded(both[0], both[1], self.crosslingual))
            found.append(pairs)
        return found

    def _others(self, segment: Segment) -> Sequence[str]:
        return [segment.source or ""] if self.crosslingual else segment.references

    def _side(self, text: str, part: str, trace: TokenTrace, texts: dict[str, dict[str, Array]]) -> Side:
        language = self._languages[part]
        units, ranges = self._units(text, language)
        vectors = texts[language][text]
        if ranges is not None and len(vectors):
            vectors = np.stack([vectors[first:end].mean(axis=0) for first, end in ranges] or [vectors[0]])
        count = min(len(trace.scores) - 1, len(vectors))
        kept = [unit for unit in units if unit.pieces[-1] < count]
        return Side(text, kept, np.array(trace.scores, dtype=np.float32), vectors)

    def _find_units(self, text: str, language: str) -> tuple[list[Unit], list[Span] | None]:
        """The words of a text and, where the encoder has pieces of its own, which of them are behind each piece."""
        pieces = self.model.target.processor.encode(text, out_type=str)
        units = find_units(text, pieces, language)
        if self.model.source is self.model.target:
            return units, None
        encoded = self.model.source.processor.encode(text, out_type=str)
        return units, matching_pieces(piece_spans(text, pieces), piece_spans(text, encoded))


@dataclass(frozen=True, eq=False)
class FoundErrors:
    """The spans of a segment, and the features that predict whether it has any error."""

    spans: tuple[ErrorSpan, ...]
    summary: Array
    """The mean over references."""


class SpanFinder:
    """Marks errors in segments that were scored with tokens in both directions."""

    def __init__(self, metric: Metric, runtime: Runtime, languages: Languages) -> None:
        self._reader = SpanReader(metric, runtime, languages)
        self._classifier = load_classifier(self._reader.model)
        self.model, self.part = self._reader.model, self._reader.part

    def find(self, segments: Sequence[Segment], traces: Sequence[Sequence[TokenTrace]]) -> list[FoundErrors]:
        """Return the spans of every segment: those of the output first, each part in its order."""
        found = []
        for pairs in self._reader.read(segments, traces):
            spans: list[ErrorSpan] = []
            summaries = []
            for number, pair in enumerate(pairs):
                words = judge_words(pair, self._classifier)
                summaries.append(summarize(words))
                spans += mark(words, self._classifier, self.part, number)
            spans.sort(key=lambda span: (span.part != "hypothesis", span.start))
            found.append(FoundErrors(tuple(spans), np.mean(summaries, axis=0)))
        return found


@dataclass(frozen=True, eq=False)
class JudgedWords:
    """The words of one side: their features and the probabilities of no, a minor and a major error."""

    side: Side
    table: Array
    probabilities: Array
    kind: Literal["wrong", "missing"]


def layer_of(model: ModelDirectory) -> int:
    """Which layer's vectors are compared: past the middle, where words with the same meaning are closest."""
    return max(1, round(0.6 * model.spec.architecture.encoder_layers))


def judge_words(pair: Decoded, classifier: SpanClassifier) -> tuple[JudgedWords, JudgedWords]:
    """Classify the words of the output, then those of the other text."""
    wrong, missing = pair.tables()
    return (
        JudgedWords(pair.hypothesis, wrong, classifier.probabilities(wrong, "wrong"), "wrong"),
        JudgedWords(pair.other, missing, classifier.probabilities(missing, "missing"), "missing"),
    )


def summarize(words: Sequence[JudgedWords]) -> Array:
    """Describe a segment in a few numbers: the worst and the average word of both sides, and their lengths."""
    rows: list[float] = []
    for one in words:
        if not len(one.table):
            rows += [FLOOR, FLOOR, 0.0, 0.0, 0.0, 1.0, 1.0]
            continue
        lowest, similarity = one.table[:, NAMES.index("lowest")], one.table[:, NAMES.index("similarity")]
        wrong = 1 - one.probabilities[:, 0]
        sentence = float(one.table[0, NAMES.index("sentence")])
        rows += [sentence, float(lowest.min()), float(similarity.mean()), float(similarity.min())]
        rows += [float(np.log(len(wrong))), float(np.log1p(wrong.sum())), float(wrong.max())]
    return np.array(rows, dtype=np.float32)


def mark(words: Sequence[JudgedWords], classifier: SpanClassifier, part: Part, reference: int) -> list[ErrorSpan]:
    """Mark the words whose probability of an error is high enough, neighbors together."""
    found = []
    for one in words:
        wrong, side = 1.0 - one.probabilities[:, 0], one.side
        own: Part = "hypothesis" if one.kind == "wrong" else part
        marked = wrong >= classifier.thresholds[f"{one.kind}.{part}"]
        if part == "reference":
            marked = _whole_phrases(marked, one.table[:, NAMES.index("equal")] == 0)
        for first, last in _runs(marked):
            start, end = side.units[first].start, side.units[last].end
            chosen = one.probabilities[first : last + 1]
            severity: Literal["minor", "major"] = "major" if chosen[:, 2].sum() >= chosen[:, 1].sum() else "minor"
            probability = float(wrong[first : last + 1].max())
            found.append(ErrorSpan(own, start, end, side.text[start:end], severity, probability, reference))
    return found


def _whole_phrases(marked: NDArray[np.bool_], changed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark both of two neighbors that were changed together, as "will go" instead of "went", where one is marked."""
    found = marked.copy()
    for first, last in _runs(changed):
        if last - first == 1 and marked[first : last + 1].any():
            found[first : last + 1] = True
    return found


def _runs(marked: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """First and last place of every run of marked words."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marked, [False])).astype(np.int8)))
    return ((int(first), int(end) - 1) for first, end in edges.reshape(-1, 2))
