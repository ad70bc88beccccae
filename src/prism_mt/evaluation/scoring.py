"""Compute metric scores of the judged texts."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt._core.progress import track
from prism_mt.evaluation.judgments import Judgments, Texts
from prism_mt.evaluation.references import choose_reference
from prism_mt.metrics.base import Metric, Origin, Scorer, Segment, SegmentScore
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.arrays import Matrix, row_means

_LOG = logging.getLogger("prism_mt")


@dataclass(frozen=True)
class TextScorer:
    """A metric opened for one language pair."""

    metric: Metric
    scorer: Scorer
    label: str = ""
    """Name in tables, if it differs from the metric's own."""

    @property
    def name(self) -> str:
        """The metric's name in tables."""
        return self.label or self.metric.label

    def score(self, segments: Iterable[Segment]) -> Iterator[SegmentScore]:
        """Score segments in order."""
        return self.scorer.score(segments)


def score_texts(
    metric: TextScorer, judgments: Judgments, reference: str | None = None, only_judged: bool = False
) -> MetricScores:
    """Score the outputs of the judged systems against a reference (may be omitted if there is only one).

    An output without text or reference gets NaN. `only_judged` leaves out outputs without judgments; system scores are
    then those of the judged outputs.
    """
    texts = judgments.texts
    if texts is None:
        raise PrismError(f"{judgments.place} has no texts to score: name a file that has them")
    reference = choose_reference(judgments, reference) if "ref" in metric.metric.needs else None
    judged = judgments.judged() if only_judged else np.ones_like(judgments.scores, dtype=np.bool_)
    if reference in judgments.systems:
        _LOG.warning("%s: %s is the reference and is not judged against itself", judgments.place, reference)
        judged = judged & (np.array(judgments.systems) != reference)[:, None]
    places = [(row, column) for column, row in np.argwhere(judged.T).tolist()]
    found = _segments(texts, judgments.systems, places, reference, "src" in metric.metric.needs)
    segments = list(_in_context(found, judgments, texts, reference, metric.metric))
    scores = np.full(judgments.scores.shape, np.nan)
    statistics: list[Matrix] = []
    results = track(
        metric.score(segment for _, segment in segments), f"{metric.name} {judgments.pair}", len(segments)
    )
    for ((row, column), _), result in zip(segments, results, strict=True):
        scores[row, column] = result.score
        if len(result.statistics):
            statistics = statistics or [
                np.zeros((len(judgments.segments), len(result.statistics))) for _ in scores
            ]
            statistics[row][column] = result.statistics
    system_scores = row_means(scores)
    for row, counts in enumerate(statistics):
        if not np.isnan(scores[row]).all():
            system_scores[row] = metric.metric.aggregate(counts.sum(axis=0).tolist())
    return MetricScores(
        metric.name,
        judgments.systems,
        scores,
        system_scores,
        metric.scorer.signature() + (f"|reference:{reference}" if reference else ""),
        metric.metric.lower_is_better,
        tuple(statistics) or None,
        metric.metric.aggregate if statistics else None,
        segment_ids=judgments.segments,
        pair=judgments.pair,
        needs=metric.metric.needs,
    )


def _in_context(
    segments: Iterable[tuple[tuple[int, int], Segment]],
    judgments: Judgments,
    texts: Texts,
    reference: str | None,
    metric: Metric,
) -> Iterator[tuple[tuple[int, int], Segment]]:
    """Give every output the earlier ones of its document, judged or not, where the metric reads them.

    Where a test set names documents, segments without one have no context.
    """
    if metric.context_segments and not judgments.documents:
        raise PrismError(f"{metric.label} reads earlier segments of a document, and {judgments.place} names none")
    for (row, column), segment in segments:
        first = max(0, column - metric.context_segments)
        same = [
            (row, place)
            for place in range(first, column)
            if judgments.documents[column] and judgments.documents[place] == judgments.documents[column]
        ]
        earlier = _segments(texts, judgments.systems, same, reference, "src" in metric.needs)
        yield (row, column), replace(segment, context=tuple(one for _, one in earlier))


def _segments(
    texts: Texts,
    systems: tuple[str, ...],
    places: list[tuple[int, int]],
    reference: str | None,
    needs_source: bool,
) -> Iterator[tuple[tuple[int, int], Segment]]:
    """The outputs at these indices that have everything a metric needs, all systems of a segment together."""
    missing = [system for system in systems if system not in texts.outputs]
    if missing:
        raise PrismError(f"no texts of {', '.join(missing)}, but they are judged")
    for row, column in places:
        output = texts.outputs[systems[row]][column]
        text = texts.references[reference][column] if reference else None
        source = texts.sources[column]
        if output is None or (reference and text is None) or (needs_source and source is None):
            continue
        origin = Origin(systems[row], (reference,) if reference else ())
        given = () if text is None else (text,)
        yield (row, column), Segment(output, given, source, number=column + 1, origin=origin)
