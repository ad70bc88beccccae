"""Scores of other tools, compared like our own."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.readers.scores import read_scores
from prism_mt.metrics.scores import Matrix, MetricScores


def read_external_scores(
    path: Path, systems: Sequence[str], count: int, lower_is_better: Sequence[str] = ()
) -> list[MetricScores]:
    """Read the metrics of a file or directory in any format of `prism metaeval`; they must score every output.

    Segments are in the order of their numbers, or of the file if they have other names. A system's score is the mean of
    its segments'.
    """
    found = read_scores(path, "xx-xx")
    names = [scores.metric for scores in found]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise PrismError(f"{path} has {', '.join(sorted(repeated))} for several language pairs: keep one of them")
    return [_fitting(path, scores, systems, count, scores.metric in lower_is_better) for scores in found]


def _fitting(path: Path, scores: MetricScores, systems: Sequence[str], count: int, lower: bool) -> MetricScores:
    where = f"{path}, {scores.metric}"
    if missing := [name for name in systems if name not in scores.systems]:
        raise PrismError(
            f"{where}: no scores of {', '.join(missing)}, only of {', '.join(scores.systems)}; "
            "name systems as the file does, with --cand NAME=FILE"
        )
    if len(scores.segment_ids) != count:
        raise PrismError(f"{where}: scores of {len(scores.segment_ids):,} segments, but there are {count:,}")
    columns = list(range(count))
    if all(name.isdecimal() for name in scores.segment_ids):
        columns.sort(key=lambda column: int(scores.segment_ids[column]))
    rows = [scores.systems.index(name) for name in systems]
    matrix: Matrix = scores.segments[np.ix_(rows, columns)]
    if np.isnan(matrix).any():
        row, column = np.argwhere(np.isnan(matrix))[0].tolist()
        raise PrismError(f"{where}: no score of segment {column + 1} of {systems[row]}")
    return replace(
        scores,
        systems=tuple(systems),
        segments=matrix,
        system_scores=matrix.mean(axis=1),
        signature=scores.signature or f"{scores.metric}|file:{path.name}|sys:mean",
        lower_is_better=lower,
        segment_ids=(),
    )
