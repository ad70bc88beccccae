"""Score systems with metrics: the function behind `prism score`, `compare`, `metaeval` and every other command."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count as count_from

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt._core.progress import counter
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import ErrorSpan, Languages, Metric, Scorer, SegmentScore, TokenTrace
from prism_mt.metrics.registry import make_metrics, metric_labels
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.scores import MetricScores, Scores
from prism_mt.metrics.spans.scorer import check_errors, open_scorer
from prism_mt.text.parallel import ParallelText, Texts, parallel_text, resolve_languages, warn_about

Watch = Callable[[Metric, int, int, SegmentScore], None]
"""Called with metric, system index, segment number (from 1) and score, as scores arrive."""


def score(
    hypotheses: Texts | Mapping[str, Texts],
    *,
    ref: Texts | Sequence[Texts] | None = None,
    src: Texts | None = None,
    lang: str | Sequence[str] = "",
    src_lang: str | Sequence[str] = "",
    metrics: Sequence[str | Metric] | str | Metric | None = None,
    model: str | None = None,
    documents: Texts | None = None,
    tokens: bool = False,
    spans: bool = False,
    error_free: bool = False,
    config: EngineConfig | None = None,
    runtime: Runtime | None = None,
) -> Scores:
    """Score the outputs of one system, or of several by name, against references and/or the source.

    `ref` is a list of references or a list of several such lists. `lang` and `src_lang` are codes or names of
    languages, or `auto`; a list gives every segment its own. `metrics` are names or metric objects (default: Prism
    against whatever is there); `model` is that of all metrics named by a string. `documents` names the document of
    every segment, for metrics with `context`. `tokens` keeps the pieces behind every score, `spans` the errors that
    were found, and `error_free` the probability that a person would mark none. Models stay loaded in a `runtime` that
    several calls share.
    """
    text = parallel_text(hypotheses, ref, src, documents)
    count = text.count()
    given = [metrics] if isinstance(metrics, str | Metric) else metrics
    chosen = make_metrics(given or default_metrics(text), {} if model is None else {"model": model})
    if runtime is not None and config is not None:
        raise PrismError("pass either runtime or config: a runtime has its own config")
    languages = _languages(lang, src_lang, count)
    chosen_runtime = runtime or Runtime(config)
    return score_text(text, chosen, languages, chosen_runtime, tokens=tokens, spans=spans, error_free=error_free)


def default_metrics(text: ParallelText) -> list[str]:
    """Choose Prism against references, source, or both, whichever are given."""
    found = [*(["prism-ref"] if text.references else []), *(["prism-src"] if text.source else [])]
    if not found:
        raise PrismError("nothing to compare outputs with: set `ref=`, `src=`, or both")
    return found


def score_text(
    text: ParallelText,
    metrics: Sequence[Metric],
    languages: "Languages | Sequence[Languages]",
    runtime: Runtime,
    *,
    tokens: bool = False,
    spans: bool = False,
    error_free: bool = False,
    statistics: bool = True,
    check_language: bool = True,
    spool: Watch | None = None,
) -> Scores:
    """Score parallel text, whose sides must have been counted.

    `languages` applies to all segments, or has one entry per segment. Without `statistics`, which resampling needs, the
    counts behind system scores are not kept. `spool` receives every score with its tokens, which are then not kept.
    """
    whole = languages if isinstance(languages, Languages) else None
    if whole is not None:
        languages = whole = resolve_languages(text, whole)
    check_needs(metrics, text, languages)
    check_cluster(metrics, runtime.config)
    if spans or error_free:
        check_errors(metrics)
    warn_about(text, whole.target if whole else "", check_language)
    segments = text.count()
    found = []
    with counter("scoring", segments * len(text.systems) * len(metrics)) as advance:

        def seen(metric: Metric, system: int, number: int, result: SegmentScore) -> None:
            advance()
            if spool:
                spool(metric, system, number, result)

        for metric, label in zip(metrics, metric_labels(metrics), strict=True):
            collector = _Collector(metric, label, text.names, segments, statistics, tokens, spans)
            keeps = tokens or spool is not None
            open_pair = partial(open_scorer, metric, runtime, spans=spans, error_free=error_free)
            signature = _run(metric, text, languages, open_pair, keeps, collector, seen)
            found.append(collector.scores(signature))
    return Scores(found, text, whole or Languages())


def stream(
    metric: Metric, text: ParallelText, languages: Languages, runtime: Runtime, check_language: bool = True
) -> tuple[Scorer, Iterator[SegmentScore]]:
    """Score one system segment by segment, as a stream from input to output."""
    languages = resolve_languages(text, languages)
    check_needs([metric], text, languages)
    check_cluster([metric], runtime.config)
    warn_about(text, languages.target, check_language)
    scorer = metric.open(runtime, languages)
    return scorer, _checked(scorer.score(text.segments(metric.context_segments)), metric, text.names[0])


def check_needs(
    metrics: Sequence[Metric], text: ParallelText, languages: "Languages | Sequence[Languages]"
) -> None:
    """Fail if a metric lacks the texts or the language that it needs, before any model is loaded."""
    present = {"ref": bool(text.references), "src": text.source is not None}
    known = languages.target if isinstance(languages, Languages) else all(one.target for one in languages)
    for metric in metrics:
        for side in sorted(metric.needs):
            if not present[side]:
                word = "references" if side == "ref" else "sources"
                raise PrismError(f"{metric.label} needs {word}: set `{side}=`")
        if metric.context_segments and text.documents is None:
            raise PrismError(f"{metric.label} reads earlier segments of a document: set `documents=`")
        if metric.needs_language and not known:
            raise PrismError(f"{metric.label} needs the language of the outputs: set `lang=`")


def check_cluster(metrics: Sequence[Metric], config: EngineConfig) -> None:
    """Fail if a metric cannot run on the requested Ray cluster."""
    for metric in metrics:
        if config.ray and not metric.runs_on_ray:
            raise PrismError(f"`ray=` only works with forced decoding: run {metric.label} without it")


def _languages(
    lang: str | Sequence[str], src_lang: str | Sequence[str], count: int
) -> Languages | list[Languages]:
    if isinstance(lang, str) and isinstance(src_lang, str):
        return Languages(lang, src_lang)
    columns = []
    for name, given in (("lang", lang), ("src_lang", src_lang)):
        values = [given] * count if isinstance(given, str) else list(given)
        if len(values) != count:
            raise PrismError(f"{name} has length {len(values):,}, but there are {count:,} segments")
        for number, value in enumerate(values, start=1):
            if not isinstance(value, str):
                raise PrismError(f"{name}, segment {number:,}: expected a string, not {type(value).__name__}")
        columns.append(values)
    return [Languages(*pair) for pair in zip(*columns, strict=True)]


def _run(
    metric: Metric,
    text: ParallelText,
    languages: "Languages | Sequence[Languages]",
    open_pair: Callable[[Languages], Scorer],
    tokens: bool,
    collector: "_Collector",
    watch: Watch,
) -> str:
    """Score all segments, one language pair after the other, and return the signature."""
    places: dict[Languages, list[int] | None] = {}
    if isinstance(languages, Languages):
        places[languages] = None
    else:
        for place, one in enumerate(languages):
            places.setdefault(one, []).append(place)  # type: ignore[union-attr]
    signatures, systems = [], len(text.systems)
    for pair, chosen in places.items():
        scorer = open_pair(pair)
        wanted = None if chosen is None else frozenset(chosen)
        read = text.segments(metric.context_segments)
        segments = (one for one in read if wanted is None or one.number - 1 in wanted)
        numbers: Iterator[int] = count_from(1) if chosen is None else (place + 1 for place in chosen)
        number = 0
        for index, result in enumerate(scorer.score(segments, tokens)):
            system = index % systems
            number = next(numbers) if system == 0 else number
            collector.add(system, number, result)
            watch(metric, system, number, result)
        signatures.append(scorer.signature(max(1, len(text.references))))
    return " / ".join(dict.fromkeys(signatures))


def collect_scores(
    metric: Metric,
    signature: str,
    systems: tuple[str, ...],
    results: Sequence[SegmentScore],
    tokens: bool = False,
) -> MetricScores:
    """Collect results that iterate over all systems segment by segment."""
    count = len(results) // len(systems)
    collector = _Collector(metric, metric.label, systems, count, statistics=True, tokens=tokens)
    for index, result in enumerate(results):
        collector.add(index % len(systems), index // len(systems) + 1, result)
    return collector.scores(signature)


class _Collector:
    """Collects the results of one metric in arrays."""

    def __init__(
        self,
        metric: Metric,
        label: str,
        systems: tuple[str, ...],
        segments: int,
        statistics: bool,
        tokens: bool,
        spans: bool = False,
    ) -> None:
        self._metric, self._label, self._systems = metric, label, systems
        self._segments = np.full((len(systems), segments), np.nan)
        self._keep = statistics
        self._totals: list[NDArray[np.float64] | None] = [None] * len(systems)
        self._statistics: list[NDArray[np.float64]] | None = None
        self._tokens: list[list[tuple[TokenTrace, ...]]] | None = None
        if tokens and metric.has_tokens:
            self._tokens = [[()] * segments for _ in systems]
        self._spans: list[list[tuple[ErrorSpan, ...]]] | None = None
        if spans and metric.has_both_directions:
            self._spans = [[()] * segments for _ in systems]
        self._error_free = np.full((len(systems), segments), np.nan)

    def add(self, system: int, number: int, result: SegmentScore) -> None:
        """Add one segment's score."""
        _check_finite(result, self._metric, self._systems[system], number)
        self._segments[system, number - 1] = result.score
        if self._tokens is not None:
            self._tokens[system][number - 1] = result.tokens
        if self._spans is not None:
            self._spans[system][number - 1] = result.spans
        if result.error_free is not None:
            self._error_free[system, number - 1] = result.error_free
        if not len(result.statistics):
            return
        row = np.asarray(result.statistics, dtype=np.float64)
        total = self._totals[system]
        self._totals[system] = row if total is None else total + row
        if self._keep:
            if self._statistics is None:
                shape = (self._segments.shape[1], len(row))
                self._statistics = [np.zeros(shape) for _ in self._systems]
            self._statistics[system][number - 1] = row

    def scores(self, signature: str) -> MetricScores:
        """Return the scores of all systems."""
        metric = self._metric
        if self._totals[0] is None:
            system_scores = self._segments.mean(axis=1)
        else:
            system_scores = np.array(
                [metric.aggregate(total.tolist()) for total in self._totals if total is not None]
            )
        return MetricScores(
            self._label,
            self._systems,
            self._segments,
            system_scores,
            signature,
            metric.lower_is_better,
            None if self._statistics is None else tuple(self._statistics),
            None if self._totals[0] is None else metric.aggregate,
            tokens=None if self._tokens is None else tuple(tuple(own) for own in self._tokens),
            needs=metric.needs,
            parts=self._parts(),
            spans=None if self._spans is None else tuple(tuple(own) for own in self._spans),
            error_free=None if np.isnan(self._error_free).all() else self._error_free,
        )

    def _parts(self) -> tuple[Mapping[str, float], ...]:
        found = [self._metric.parts(total.tolist()) for total in self._totals if total is not None]
        return tuple(found) if all(found) else ()


def _checked(results: Iterator[SegmentScore], metric: Metric, system: str) -> Iterator[SegmentScore]:
    for number, result in enumerate(results, start=1):
        _check_finite(result, metric, system, number)
        yield result


def _check_finite(result: SegmentScore, metric: Metric, system: str, number: int) -> None:
    if not math.isfinite(result.score):
        models = ", ".join(sorted(metric.models)) or "it uses"
        raise PrismError(
            f"{metric.label} of {system}, segment {number:,}, is not a finite number: the weights of the model "
            f"({models}) are damaged or too large"
        )
