"""How well error spans agree with known errors: synthetic errors, or errors that people marked."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.references import choose_reference
from prism_mt.metrics.base import ErrorSpan, Metric, Segment
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.spans.scorer import open_scorer
from prism_mt.text.parallel import Languages
from prism_mt.text.perturb import CRITICAL, KINDS, Kind, Perturbed, perturb
from prism_mt.text.words import words_of


class Marked(NamedTuple):
    """A marked part of a text."""

    start: int
    end: int
    severity: str


@dataclass(frozen=True)
class MarkedText:
    """Known and marked errors of one text."""

    text: str
    language: str
    gold: tuple[Marked, ...]
    found: tuple[Marked, ...]


@dataclass(frozen=True)
class SpanScores:
    """F-scores over all texts together, from 0 to 1."""

    partial: float
    """Of characters, with half credit for the wrong severity, as WMT's error-span tasks count."""
    characters: float
    exact: float
    """Of whole spans."""
    random: float
    """`partial` of marking as many words at random."""


@dataclass(frozen=True)
class SpanResult:
    """How well a metric finds errors in one language or test set."""

    name: str
    texts: int
    scores: SpanScores
    major: Mapping[Kind, Sequence[bool]] = field(default_factory=dict)
    """For every synthetic error, whether it is marked as a major one."""

    @property
    def critical(self) -> float:
        """Share of wrong numbers, names and negations that are marked as major errors."""
        found = [one for kind, own in self.major.items() if kind in CRITICAL for one in own]
        return sum(found) / len(found) if found else float("nan")


def score_spans(comparisons: Sequence[MarkedText], seed: int = 0) -> SpanScores:
    """Compare marked with known errors, micro-averaged."""
    partial, characters = _character_f(comparisons)
    hits = sum(len({m[:2] for m in one.gold} & {m[:2] for m in one.found}) for one in comparisons)
    exact = _f(hits, sum(len(one.found) for one in comparisons), sum(len(one.gold) for one in comparisons))
    chance, _ = _character_f(_random(comparisons, seed))
    return SpanScores(partial, characters, exact, chance)


def _character_f(comparisons: Sequence[MarkedText]) -> tuple[float, float]:
    credit = overlap = found = gold = 0.0
    for one in comparisons:
        ours, theirs = _severities(one.found, len(one.text)), _severities(one.gold, len(one.text))
        both = (ours > 0) & (theirs > 0)
        overlap += int(both.sum())
        credit += float(np.where(ours == theirs, 1.0, 0.5)[both].sum())
        found += int((ours > 0).sum())
        gold += int((theirs > 0).sum())
    return _f(credit, found, gold), _f(overlap, found, gold)


def _f(hits: float, found: float, gold: float) -> float:
    return 2 * hits / (found + gold) if found + gold else float("nan")


def _severities(spans: Iterable[Marked], length: int) -> NDArray[np.int8]:
    """Severity of every character: 0, 1 in a minor and 2 in a major error."""
    found = np.zeros(length, dtype=np.int8)
    for span in spans:
        level = 1 if span.severity == "minor" else 2
        found[span.start : span.end] = np.maximum(found[span.start : span.end], level)
    return found


def _random(comparisons: Sequence[MarkedText], seed: int) -> list[MarkedText]:
    """Mark as many words at random as were marked in all texts together."""
    generator = random.Random(seed)
    words = [words_of(one.text, one.language) for one in comparisons]
    marked = sum(
        any(m.start < end and start < m.end for m in one.found)
        for one, own in zip(comparisons, words, strict=True)
        for start, end in own
    )
    rate = marked / max(1, sum(map(len, words)))
    return [
        MarkedText(
            one.text,
            one.language,
            one.gold,
            tuple(Marked(*word, "major") for word in own if generator.random() < rate),
        )
        for one, own in zip(comparisons, words, strict=True)
    ]


def judge_perturbations(
    texts: Mapping[str, Sequence[str]],
    languages: Sequence[str],
    metric: Metric,
    runtime: Runtime,
    *,
    source: str = "en",
    kinds: Sequence[Kind] = KINDS,
    seed: int = 0,
) -> list[SpanResult]:
    """Find synthetic errors in parallel texts, language by language."""
    found = []
    for language in languages:
        if language not in texts:
            raise PrismError(f"there are no texts in {language}, only in {', '.join(texts)}")
        other = next((one for one in (source, "de", *texts) if one in texts and one != language), "")
        made = list(perturb(texts[language], language, kinds=kinds, seed=seed))
        crosslingual = "src" in metric.needs
        sources = texts[other] if other else ()
        segments = [
            Segment(
                one.text, () if crosslingual else (one.original,), sources[one.number] if crosslingual else None
            )
            for one in made
        ]
        scorer = open_scorer(metric, runtime, Languages(language, other), spans=True)
        spans = [result.spans for result in scorer.score(segments)]
        comparisons = [
            comparison
            for one, own in zip(made, spans, strict=True)
            for comparison in _of_perturbed(one, own, language, crosslingual)
        ]
        major: dict[Kind, list[bool]] = {}
        for one, own in zip(made, spans, strict=True):
            major.setdefault(one.kind, []).append(_is_found(one, own))
        found.append(SpanResult(language, len(made), score_spans(comparisons, seed), major))
    return found


def _of_perturbed(
    made: Perturbed, spans: Sequence[ErrorSpan], language: str, crosslingual: bool
) -> list[MarkedText]:
    """The output and, where it lacks words of the reference, that too."""
    gold = tuple(Marked(*span, made.severity) for span in made.wrong)
    found = [MarkedText(made.text, language, gold, _marked(spans, "hypothesis"))]
    if made.missing and not crosslingual:
        missing = tuple(Marked(*span, made.severity) for span in made.missing)
        found.append(MarkedText(made.original, language, missing, _marked(spans, "reference")))
    return found


def _is_found(made: Perturbed, spans: Sequence[ErrorSpan]) -> bool:
    """Whether an error is marked as major, in the output or as missing."""
    sides = (("hypothesis", made.wrong), ("reference", made.missing))
    return any(
        span.part == part and span.severity == "major" and span.start < end and start < span.end
        for part, places in sides
        for start, end in places
        for span in spans
    )


def _marked(spans: Sequence[ErrorSpan], part: str) -> tuple[Marked, ...]:
    return tuple(Marked(span.start, span.end, span.severity) for span in spans if span.part == part)


def judge_annotations(
    judgments: Judgments, metric: Metric, runtime: Runtime, reference: str | None = None, seed: int = 0
) -> SpanResult:
    """Compare error spans with those that people marked in the outputs, rating by rating."""
    texts, ratings = judgments.texts, judgments.ratings
    if texts is None or not any(error.span for errors in ratings.errors for error in errors or ()):
        raise PrismError(
            f"{judgments.place} has no texts with marked spans: use Google's MQM ratings with <v> marks, rating "
            "files of mt-metrics-eval, or JSONL whose errors have start and end"
        )
    source, _, target = judgments.pair.partition("-")
    chosen = choose_reference(judgments, reference) if "ref" in metric.needs else None
    rows, segments = [], []
    for row, (system, segment) in enumerate(zip(ratings.system, ratings.segment, strict=True)):
        output = texts.outputs[judgments.systems[system]][segment]
        given = None if chosen is None else texts.references[chosen][segment]
        other = texts.sources[segment]
        if output is None or (chosen is not None and given is None) or ratings.errors[row] is None:
            continue
        if chosen == judgments.systems[system]:
            continue
        rows.append(row)
        segments.append(Segment(output, () if given is None else (given,), other))
    scorer = open_scorer(metric, runtime, Languages(target, source), spans=True)
    comparisons = []
    for row, own, result in zip(rows, segments, scorer.score(segments), strict=True):
        gold = tuple(
            Marked(*error.span, "minor" if error.severity.lower() in ("minor", "trivial", "neutral") else "major")
            for error in ratings.errors[row] or ()
            if error.span is not None and not error.in_source
        )
        comparisons.append(MarkedText(own.hypothesis, target, gold, _marked(result.spans, "hypothesis")))
    return SpanResult(judgments.place, len(comparisons), score_spans(comparisons, seed))
