"""Judgments together with the metrics to judge: scores from files, or computed from the texts."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, add_texts
from prism_mt.evaluation.overlap import warn_of_overlap
from prism_mt.evaluation.protocols import Protocol
from prism_mt.evaluation.readers import read_all_judgments
from prism_mt.evaluation.readers.mtme import is_score_folder, uses_references
from prism_mt.evaluation.readers.scores import read_all_scores, read_scores
from prism_mt.evaluation.references import choose_reference
from prism_mt.evaluation.scoring import TextScorer, score_texts
from prism_mt.evaluation.sweep import find_metric, is_called
from prism_mt.metrics.base import Languages, Metric
from prism_mt.metrics.registry import metric_labels
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.scores import MetricScores

_LOG = logging.getLogger("prism_mt")


@dataclass(frozen=True)
class JudgedMetrics:
    """Judgments together with the metrics to judge, and the reference that these used."""

    judgments: Judgments
    metrics: list[MetricScores]
    reference: str | None = None
    folder: Path | None = None
    """The mt-metrics-eval folder that the judgments come from."""


@dataclass(frozen=True)
class JudgmentQuery:
    """Which judgments to read from files, and how."""

    pairs: Sequence[str] = ()
    human_score: str | None = None
    humans: bool = False
    """Whether to judge human translations, too."""
    texts: Path | None = None
    """Outputs and references for judgments without texts."""


def read_judged(paths: Sequence[Path], query: JudgmentQuery, protocol: Protocol) -> list[JudgedMetrics]:
    """Read judgments, without metrics yet."""
    sources = read_all_judgments([query.texts], pairs=query.pairs) if query.texts else []
    found = []
    for path in paths:
        for judgments in read_all_judgments(
            [path], pairs=query.pairs, human_score=query.human_score, prefer=protocol.human_scores
        ):
            if not query.humans:
                judgments = judgments.without_humans()
            if query.texts:
                judgments = add_texts(judgments, _matching(sources, judgments, query.texts))
            found.append(JudgedMetrics(judgments, [], folder=path if path.is_dir() else None))
    return found


def read_metric_scores(
    paths: Sequence[Path],
    pairs: Sequence[str] = (),
    reference: str | None = None,
    lower_is_better: Sequence[str] = (),
) -> list[MetricScores]:
    """Read metric scores from files; those named in `lower_is_better` count errors."""
    pair = pairs[0] if len(pairs) == 1 else None
    read = read_all_scores(paths, pair, pairs, reference)
    for name in lower_is_better:
        if not any(is_called(metric, name) for metric in read):
            raise PrismError(f"the scores have no metric {name}, which was said to count errors")
    return [replace(one, lower_is_better=any(is_called(one, name) for name in lower_is_better)) for one in read]


def add_metrics(
    judged: Sequence[JudgedMetrics],
    read: Sequence[MetricScores],
    metrics: Sequence[Metric],
    runtime: Runtime,
    protocol: Protocol,
    *,
    reference: str | None = None,
    select: Sequence[str] = (),
) -> list[JudgedMetrics]:
    """Add metrics to judgments: from files, from their mt-metrics-eval directory, and computed from the texts."""
    several = {pair for pair, count in Counter(one.judgments.pair for one in judged).items() if count > 1}
    if doubtful := several & {metric.pair for metric in read}:
        raise PrismError(
            f"there are several test sets of {', '.join(sorted(doubtful))}, and the scores do not say "
            "which one they are from: judge one at a time"
        )
    found = []
    for item in judged:
        judgments = item.judgments
        stored = _stored_scores(item)
        needed = any("ref" in metric.needs for metric in metrics) or bool(stored and uses_references(stored))
        chosen = reference_for(judgments, needed, reference, protocol)
        judgments = _without_reference(judgments, chosen)
        here = [_in_words_of(metric, judgments) for metric in read if metric.pair == judgments.pair]
        if stored:
            here += read_scores(stored, judgments.pair, reference=chosen)
        if select and here:
            here = [find_metric(here, name) for name in select]
        only_judged = protocol.level != "systems"
        here += [
            score_texts(scorer, judgments, chosen, only_judged)
            for scorer in open_metrics(metrics, judgments, runtime)
        ]
        found.append(replace(item, judgments=judgments, metrics=[*item.metrics, *here], reference=chosen))
    return found


def reference_for(
    judgments: Judgments, needed: bool, reference: str | None, protocol: Protocol | None
) -> str | None:
    """Return the requested or the standard reference; None if none is needed or texts are missing."""
    if judgments.texts is None:
        return reference
    if not needed and reference is None:
        return None
    return choose_reference(judgments, reference, protocol)


def _stored_scores(item: JudgedMetrics) -> Path | None:
    """The directory of metric scores that mt-metrics-eval has for these judgments."""
    folder = item.folder / "metric-scores" / item.judgments.pair if item.folder else None
    return folder if folder is not None and is_score_folder(folder) else None


def _in_words_of(metric: MetricScores, judgments: Judgments) -> MetricScores:
    """Rename segments to the judgments' names: submissions call them DOCUMENT::SEGMENT."""
    named = zip(judgments.documents, judgments.segments, strict=False)
    names = {f"{document}::{segment}": segment for document, segment in named}
    if not names or not set(metric.segment_ids) <= names.keys():
        return metric
    return replace(metric, segment_ids=tuple(names[one] for one in metric.segment_ids))


def _without_reference(judgments: Judgments, reference: str | None) -> Judgments:
    """Drop the human translation that serves as the reference: no metric may judge it against itself."""
    if reference not in judgments.systems:
        return judgments
    _LOG.warning("%s: %s is the reference and is not judged against itself", judgments.place, reference)
    return judgments.select(name for name in judgments.systems if name != reference)


def open_metrics(metrics: Sequence[Metric], judgments: Judgments, runtime: Runtime) -> list[TextScorer]:
    """Open metrics for a language pair, warning if a model was trained on the judgments."""
    for model in sorted(frozenset[str]().union(*(metric.models for metric in metrics))):
        warn_of_overlap(runtime.model(model).judged, judgments, model)
    source, _, target = judgments.pair.partition("-")
    languages = Languages(target, source)
    return [
        TextScorer(metric, metric.open(runtime, languages), label)
        for metric, label in zip(metrics, metric_labels(metrics), strict=True)
    ]


def _matching(sources: Sequence[Judgments], judgments: Judgments, path: Path) -> Judgments:
    found = [source for source in sources if source.pair == judgments.pair]
    if not found:
        raise PrismError(f"{path} has no texts of {judgments.pair}")
    found = [source for source in found if source.name == judgments.name] or found
    if len(found) > 1:
        raise PrismError(f"{path} has texts of several test sets of {judgments.pair}, none named {judgments.name}")
    return found[0]
