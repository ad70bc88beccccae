"""What tests of judging share: small judgments and scores from matrices."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.ratings import Ratings
from prism_mt.evaluation.scoring import TextScorer
from prism_mt.metrics.base import Languages, Metric
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.arrays import Matrix, Vector, row_means


def judged(
    name: str, pair: str, systems: Sequence[str], segments: Sequence[str], scores: Matrix, **more: Any
) -> Judgments:
    """Judgments with one rating per known score."""
    return Judgments(name, pair, tuple(systems), tuple(segments), Ratings.from_matrix(scores), **more)


def scored(
    metric: str,
    systems: Sequence[str],
    segments: Sequence[str],
    scores: Matrix,
    system_scores: Vector | None = None,
    lower_is_better: bool = False,
) -> MetricScores:
    """A metric's scores; those of systems are means where none are given."""
    own = row_means(scores) if system_scores is None else np.asarray(system_scores)
    return MetricScores(
        metric,
        tuple(systems),
        scores,
        own,
        lower_is_better=lower_is_better,
        segment_ids=tuple(segments),
        pair="en-de",
    )


def opened(metric: Metric, pair: str = "xx-en") -> TextScorer:
    """A metric ready for a language pair."""
    source, target = pair.split("-")
    return TextScorer(metric, metric.open(Runtime(), Languages(target, source)))


def write_rows(path: Path, *rows: str) -> Path:
    """Write lines, in a folder that need not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return path
