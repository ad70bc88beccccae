"""Which words systems get right: by frequency, as n-grams, and how long their outputs are."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_mt.text.parallel import ParallelText
from prism_mt.text.tokenize import word_splitter

Ngram = tuple[str, ...]
Words = list[list[str]]
"""The words of every segment."""

FREQUENCIES = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 99), (100, 999), (1000, None))
"""How often a word occurs in the references: bounds of the buckets."""
DIFFERENCES = ((None, -10), (-9, -5), (-4, -2), (-1, -1), (0, 0), (1, 1), (2, 4), (5, 9), (10, None))
"""Words of an output minus words of its reference: bounds of the buckets."""
_LONGEST = 4
_KEPT = 400


@dataclass(frozen=True)
class FrequencyBucket:
    """Words that occur about equally often in the references, and how well every system gets them."""

    low: int
    high: int | None
    words: int
    """Running words of the references."""
    f1: tuple[float, ...]
    """Harmonic mean of precision and recall, by system."""


@dataclass(frozen=True)
class NgramMatches:
    """How often systems have an n-gram where the reference has it."""

    words: Ngram
    reference: int
    matches: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class WordAnalysis:
    """Lengths, frequencies and n-grams of outputs compared with their (first) references."""

    systems: tuple[str, ...]
    ratios: tuple[float, ...]
    """Words of all outputs over words of all references."""
    differences: NDArray[np.int64]
    """Systems × buckets of `DIFFERENCES`: number of segments."""
    frequencies: tuple[FrequencyBucket, ...]
    ngrams: tuple[NgramMatches, ...]
    """Those that systems differ most in, the largest difference first."""


def analyze_words(text: ParallelText, language: str = "") -> WordAnalysis | None:
    """Compare the words of outputs with those of the first reference; None where there is none."""
    if not text.references:
        return None
    split = word_splitter(language)
    reference = [split(line) for line in text.references[0]]
    outputs = [[split(line) for line in lines] for _, lines in text.systems]
    total = sum(map(len, reference))
    return WordAnalysis(
        text.names,
        tuple(sum(map(len, own)) / max(total, 1) for own in outputs),
        np.array([_differences(own, reference) for own in outputs], dtype=np.int64),
        _frequencies(outputs, reference),
        _ngrams(outputs, reference),
    )


def _differences(output: Words, reference: Words) -> list[int]:
    found = [0] * len(DIFFERENCES)
    for own, other in zip(output, reference, strict=True):
        found[_bucket(len(own) - len(other), DIFFERENCES)] += 1
    return found


def _bucket(value: int, bounds: Sequence[tuple[int | None, int | None]]) -> int:
    return next(place for place, (_, high) in enumerate(bounds) if high is None or value <= high)


def _frequencies(outputs: Sequence[Words], reference: Words) -> tuple[FrequencyBucket, ...]:
    """F1 of the words of each bucket; words that no reference has are in none."""
    counts = Counter(itertools.chain.from_iterable(reference))
    place = {word: _bucket(count, FREQUENCIES) for word, count in counts.items()}
    matched = [np.zeros(len(FREQUENCIES)) for _ in outputs]
    made = [np.zeros(len(FREQUENCIES)) for _ in outputs]
    wanted = np.zeros(len(FREQUENCIES))
    for segment, words in enumerate(reference):
        own = Counter(words)
        for word, count in own.items():
            wanted[place[word]] += count
        for system, output in enumerate(outputs):
            for word, count in Counter(output[segment]).items():
                if word in place:
                    made[system][place[word]] += count
                    matched[system][place[word]] += min(count, own[word])
    return tuple(
        FrequencyBucket(
            low,
            high,
            int(wanted[bucket]),
            tuple(float(2 * m[bucket] / (w[bucket] + wanted[bucket])) for m, w in zip(matched, made, strict=True)),
        )
        for bucket, (low, high) in enumerate(FREQUENCIES)
        if wanted[bucket]
    )


def _ngrams(outputs: Sequence[Words], reference: Words) -> tuple[NgramMatches, ...]:
    totals: Counter[Ngram] = Counter()
    matches: list[Counter[Ngram]] = [Counter() for _ in outputs]
    for segment, words in enumerate(reference):
        own = Counter(_all_ngrams(words))
        totals.update(own)
        for system, output in enumerate(outputs):
            matches[system].update(own & Counter(_all_ngrams(output[segment])))
    rows = [(ngram, tuple(found[ngram] for found in matches)) for ngram in totals]
    apart = [(ngram, row) for ngram, row in rows if max(row) > min(row)]
    apart.sort(key=lambda item: (min(item[1]) - max(item[1]), -len(item[0]), item[0]))
    return tuple(NgramMatches(ngram, totals[ngram], row) for ngram, row in apart[:_KEPT])


def _all_ngrams(words: Sequence[str]) -> Iterable[Ngram]:
    for order in range(1, _LONGEST + 1):
        yield from (tuple(words[start : start + order]) for start in range(len(words) - order + 1))
