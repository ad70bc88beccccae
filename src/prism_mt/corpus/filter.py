"""Bitext filtering with dual conditional cross-entropy."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from prism_mt._core.errors import PrismError
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import Languages
from prism_mt.metrics.prism import PrismDual
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.score import check_needs
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.text.parallel import ParallelText, Texts, parallel_text, warn_empty


class FilteredPair(NamedTuple):
    """A sentence pair with its score between 0 and 1."""

    score: float
    source: str
    target: str


def filter(
    source: Texts,
    target: Texts,
    *,
    src_lang: str,
    lang: str,
    threshold: float = 0.0,
    model: str = DEFAULT_MODEL,
    config: EngineConfig | None = None,
    runtime: Runtime | None = None,
) -> list[FilteredPair]:
    """Keep the sentence pairs that score at least `threshold`.

    A pair is good when the model finds each side probable given the other, and both about equally
    (Junczys-Dowmunt 2018).
    """
    text = parallel_text(target, src=source)
    text.count()
    metric = PrismDual(model=model, overlong="truncate")
    scored = score_bitext(text, metric, Languages(lang, src_lang), runtime or Runtime(config))
    return [pair for pair in scored if pair.score >= check_threshold(threshold)]


def check_threshold(threshold: float) -> float:
    """Check that a threshold is between 0 and 1."""
    if not 0 <= threshold <= 1:
        raise PrismError(f"the threshold must be between 0 and 1, not {threshold:g}")
    return threshold


def score_bitext(
    text: ParallelText, metric: PrismDual, languages: Languages, runtime: Runtime
) -> Iterator[FilteredPair]:
    """Score a bitext whose target side is the only system, yielding pairs as scores arrive."""
    check_needs([metric], text, languages)
    for lines in (text.source, text.systems[0][1]):
        if lines is not None:
            warn_empty(lines)
    results = metric.open(runtime, languages).score(text.segments())
    # The texts are read a second time: scores arrive one window later than their texts.
    for result, segment in zip(results, text.segments(), strict=True):
        yield FilteredPair(math.exp(result.score), segment.source or "", segment.hypothesis)
