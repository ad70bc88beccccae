"""Labeled words: synthetic errors, whose places are known, and outputs in which people marked errors."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.references import choose_reference
from prism_mt.metrics.base import Metric, Segment
from prism_mt.metrics.prism import PrismRef, PrismSrc
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.spans.features import Array, Side
from prism_mt.metrics.spans.finder import Decoded, SpanReader
from prism_mt.text.parallel import Languages
from prism_mt.text.perturb import CRITICAL, Perturbed, negations, perturb
from prism_mt.text.words import Span, has_spaces, words_of
from prism_mt.training.spans.bitext import TextPair

UNKNOWN = -1
"""The label of a word that may or may not be wrong."""
_SEVERITIES = {"minor": 1, "major": 2}
_PER_TEXT = 2
"""Mistakes made in each text that change a number, a name or a negation, and as many others."""
_SHORT = 3
"""Maximum length of articles and particles, which may be dropped on their own."""
_CHUNK = 64


@dataclass(frozen=True)
class Example:
    """A segment with the places of its errors; None where they are not known."""

    segment: Segment
    languages: Languages
    crosslingual: bool
    wrong: tuple[Span, ...] | None = ()
    missing: tuple[Span, ...] | None = ()
    severity: str = "major"
    errors: tuple[int, int] | None = None
    """How many errors people marked in the output and how many omissions, where their places are not known."""


@dataclass(frozen=True, eq=False)
class Labeled:
    """Features of the words of one side of one segment, and their labels."""

    table: Array
    labels: NDArray[np.int64]
    side: str
    example: Example


def perturbed_examples(pairs: Sequence[TextPair], seed: int) -> list[Example]:
    """Insert errors into one text of every pair, and none into a copy of it."""
    generator = random.Random(seed)
    by_language: dict[str, list[TextPair]] = {}
    for pair in pairs:
        by_language.setdefault(pair.language, []).append(pair)
    found: list[Example] = []
    for language, own in by_language.items():
        mistakes: dict[int, list[Perturbed]] = {}
        for made in perturb([pair.text for pair in own], language, seed=seed):
            mistakes.setdefault(made.number, []).append(made)
        for number, pair in enumerate(own):
            for made in _choose(mistakes.get(number, []), generator):
                found += _with_mistake(pair, made)
            found += [_example(pair, pair.text), *_without_short_word(pair, generator)]
        found += _with_omission(own, seed)
    return found


def _choose(made: Sequence[Perturbed], generator: random.Random) -> list[Perturbed]:
    """Choose as many errors of critical kinds, which many texts have no place for, as of the others."""
    found: list[Perturbed] = []
    for critical in (True, False):
        own = [one for one in made if (one.kind in CRITICAL) == critical]
        found += generator.sample(own, min(_PER_TEXT, len(own)))
    return found


def _without_short_word(pair: TextPair, generator: random.Random) -> list[Example]:
    """Drop an article or a particle that negates nothing, a minor error compared with the text itself."""
    text, kept = pair.text, negations(pair.language)
    spans = [
        (start, end)
        for start, end in words_of(text, pair.language)[1:]
        if end - start <= _SHORT
        and text[start:end].isalpha()
        and text[end : end + 1] == " "
        and text[start:end].casefold() not in kept
    ]
    if pair.is_paraphrase or not spans or not has_spaces(pair.language):
        return []
    start, end = generator.choice(spans)
    segment = Segment(text[:start] + text[end + 1 :], (text,))
    return [Example(segment, Languages(pair.language), False, (), ((start, end),), "minor")]


def _with_mistake(pair: TextPair, made: Perturbed) -> list[Example]:
    """Compare an error with the other text of the pair and, for translations, with the original text itself."""
    # What is missing is known only in the text itself, and what a wrong word replaces is not missing. A negation that
    # was taken out is: without such examples its absence would look like that of an article, a minor error.
    against_other = _example(pair, made.text, made.wrong, None, made.severity)
    if pair.is_paraphrase:
        return [against_other]
    segment = Segment(made.text, (pair.text,))
    missing = made.missing or None
    itself = Example(segment, Languages(pair.language), False, made.wrong, missing, made.severity)
    return [against_other, itself]


def _with_omission(pairs: Sequence[TextPair], seed: int) -> list[Example]:
    """Words added to the other text are missing in the original one."""
    found = []
    by_language: dict[str, list[TextPair]] = {}
    for pair in pairs:
        by_language.setdefault(pair.other_language, []).append(pair)
    for language, own in by_language.items():
        for made in perturb([pair.other for pair in own], language, kinds=["addition"], seed=seed):
            pair = own[made.number]
            changed = TextPair(pair.language, pair.text, pair.other_language, made.text)
            found.append(_example(changed, pair.text, (), made.wrong))
    return found


def _example(
    pair: TextPair,
    hypothesis: str,
    wrong: tuple[Span, ...] = (),
    missing: tuple[Span, ...] | None = (),
    severity: str = "major",
) -> Example:
    same = pair.is_paraphrase
    segment = Segment(hypothesis, (pair.other,)) if same else Segment(hypothesis, source=pair.other)
    languages = Languages(pair.language, pair.other_language)
    return Example(segment, languages, not pair.is_paraphrase, wrong, missing, severity)


def judged_examples(judgments: Judgments, count: int, seed: int, reference: str | None = None) -> list[Example]:
    """Draw outputs of which all raters say how many errors they have: half of them without any."""
    assert judgments.texts is not None
    texts, source_language, target = judgments.texts, *judgments.pair.split("-")
    references = texts.references[choose_reference(judgments, reference)]
    errors: dict[tuple[int, int], list[tuple[int, int, bool]]] = {}
    ratings = judgments.ratings
    for system, segment, own in zip(ratings.system, ratings.segment, ratings.errors, strict=True):
        omissions = sum("omission" in error.category.lower() for error in own or ())
        major = any(error.severity.lower() in ("major", "critical") for error in own or ())
        entry = (len(own or ()) - omissions, omissions, major)
        errors.setdefault((int(system), int(segment)), []).append(entry)
    generator = random.Random(seed)
    cells = sorted(errors)
    generator.shuffle(cells)
    found: list[Example] = []
    left = {True: count // 2, False: count - count // 2}
    for system, segment in cells:
        own_counts = errors[system, segment]
        clean = not any(wrong + missing for wrong, missing, _ in own_counts)
        output, text = texts.outputs[judgments.systems[system]][segment], references[segment]
        source = texts.sources[segment]
        if not left[clean] or output is None or text is None or source is None:
            continue
        left[clean] -= 1
        counts = tuple(round(sum(one[side] for one in own_counts) / len(own_counts)) for side in (0, 1))
        spans: tuple[Span, ...] | None = () if clean else None
        severity = "major" if sum(one[2] for one in own_counts) * 2 >= len(own_counts) else "minor"
        for crosslingual in (False, True):
            made = Segment(output, () if crosslingual else (text,), source if crosslingual else None)
            languages = Languages(target, source_language)
            marked = None if clean else (counts[0], counts[1])
            found.append(Example(made, languages, crosslingual, spans, spans, severity, marked))
    return found


def label(examples: Sequence[Example], model: str, runtime: Runtime) -> list[Labeled]:
    """Score all examples and compute the features of their words."""
    groups: dict[tuple[Languages, bool], list[Example]] = {}
    for example in examples:
        groups.setdefault((example.languages, example.crosslingual), []).append(example)
    found: list[Labeled] = []
    for (languages, crosslingual), own in groups.items():
        metric: Metric = (
            PrismSrc(model=model, direction="both", overlong="truncate")
            if crosslingual
            else PrismRef(model=model, overlong="truncate")
        )
        reader = SpanReader(metric, runtime, languages)
        segments = [example.segment for example in own]
        traces = [result.tokens for result in metric.open(runtime, languages).score(segments, tokens=True)]
        for start in range(0, len(own), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            for example, [pair] in zip(own[chunk], reader.read(segments[chunk], traces[chunk]), strict=True):
                found += _labeled(example, pair)
    return found


def _labeled(example: Example, pair: Decoded) -> Iterable[Labeled]:
    wrong, missing = pair.tables()
    yield Labeled(wrong, _labels(pair.hypothesis, example.wrong, example.severity), "wrong", example)
    yield Labeled(missing, _labels(pair.other, example.missing, example.severity), "missing", example)


def _labels(side: Side, spans: tuple[Span, ...] | None, severity: str) -> NDArray[np.int64]:
    labels = np.zeros(len(side.units), dtype=np.int64)
    if spans is None:
        return labels + UNKNOWN
    for place, unit in enumerate(side.units):
        if any(unit.start < end and start < unit.end for start, end in spans):
            labels[place] = _SEVERITIES[severity]
    return labels
