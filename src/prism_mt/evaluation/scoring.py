"""Scores of the judged texts, computed here with any metric of the catalogue."""

import logging
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt._core.progress import track
from prism_mt.evaluation.judgments import Judgments, MetricScores, Texts
from prism_mt.metrics import registry
from prism_mt.metrics.base import Metric, Origin, Segment
from prism_mt.metrics.registry import Setting
from prism_mt.metrics.sacrebleu import SurfaceMetric

LOWER_IS_BETTER = {"ter"}
_LOG = logging.getLogger("prism_mt")


def _sentence_bleu(language: str) -> SurfaceMetric:
    """BLEU of sentences with exponential smoothing only, as in Bawden et al. 2020."""
    from sacrebleu.metrics.bleu import BLEU

    return SurfaceMetric("sentbleu", BLEU(trg_lang=language), BLEU(trg_lang=language))


def _chrf_bawden(language: str) -> SurfaceMetric:
    """chrF++ with single words and beta 3, as in Bawden et al. 2020."""
    from sacrebleu.metrics.chrf import CHRF

    return SurfaceMetric("chrf++-w1-b3", CHRF(word_order=1, beta=3), CHRF(word_order=1, beta=3))


# Variants that published tables need and nobody else.
PUBLISHED: dict[str, Callable[[str], SurfaceMetric]] = {"sentbleu": _sentence_bleu, "chrf++-w1-b3": _chrf_bawden}


def make_metric(name: str, setting: Setting) -> Metric:
    """A metric of the catalogue, or a variant that a published table used."""
    return PUBLISHED[name](setting.language) if name in PUBLISHED else registry.make_metric(name, setting)


def score_texts(
    metric: Metric, judgments: Judgments, reference: str | None = None, only_judged: bool = False
) -> MetricScores:
    """Score the outputs of the judged systems against a reference (may be left out where there is only one).

    Higher is better in the result: error rates are negated. An output without text or reference gets NaN.
    `only_judged` leaves out what nobody judged; system scores are then those of the judged outputs.
    """
    texts = judgments.texts
    if texts is None:
        raise PrismError(f"{judgments.place} has no texts to score: name them with --texts")
    reference = choose_reference(texts, reference, judgments.pair) if "ref" in metric.needs else None
    judged = judgments.judged() if only_judged else np.ones_like(judgments.scores, dtype=np.bool_)
    if reference in judgments.systems:
        _LOG.warning("%s: %s is the reference and not judged against itself", judgments.place, reference)
        judged = judged & (np.array(judgments.systems) != reference)[:, None]
    places = [(row, column) for column, row in np.argwhere(judged.T).tolist()]
    segments = list(_segments(texts, judgments.systems, places, reference, "src" in metric.needs))
    scores = np.full(judgments.scores.shape, np.nan)
    totals: dict[int, NDArray[np.float64]] = {}
    sign = -1.0 if metric.name in LOWER_IS_BETTER else 1.0
    results = track(
        metric.score(segment for _, segment in segments), f"{metric.name} {judgments.pair}", len(segments)
    )
    for (place, _), result in zip(segments, results, strict=True):
        scores[place] = sign * result.score
        statistics = np.asarray(result.statistics, dtype=np.float64)
        totals[place[0]] = totals[place[0]] + statistics if place[0] in totals else statistics
    system_scores = np.full(len(judgments.systems), np.nan)
    for row, total in totals.items():
        system_scores[row] = sign * metric.aggregate(total.tolist())
    return MetricScores(
        metric.name,
        judgments.pair,
        judgments.systems,
        judgments.segments,
        scores,
        system_scores,
        metric.signature() + (f"|reference:{reference}" if reference else ""),
    )


def choose_reference(texts: Texts, name: str | None, pair: str) -> str:
    """The reference of that name, or the only one."""
    known = list(texts.references)
    if name in known:
        return str(name)
    if name is None and len(known) == 1:
        return known[0]
    what = "which reference" if name is None else f"there is no reference {name!r}; which"
    raise PrismError(f"{pair}: {what} of {', '.join(known) or 'none'}? Name one with --reference")


def _segments(
    texts: Texts,
    systems: tuple[str, ...],
    places: list[tuple[int, int]],
    reference: str | None,
    needs_source: bool,
) -> Iterator[tuple[tuple[int, int], Segment]]:
    """The outputs at these places that have everything a metric needs, all systems of a segment together."""
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
