"""System scores of the shared tasks' outputs, which the tables of several papers share."""

import math

import numpy as np

from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.metrics.base import Metric
from prism_mt.metrics.sacrebleu import Bleu
from prism_mt.stats.arrays import Vector
from prism_mt.stats.correlation import pearson

JUDGED, TEXTS = "wmt19_da_sys.tsv.xz", "wmt19_metrics_task.jsonl.xz"
DARR = "wmt19_darr_gu-kk-lt.tsv.xz"
COMPLETE = ("lt-en",)
"""Language pairs of which all official preferences are in `DARR`."""


def task_bleu(pair: str) -> Bleu:
    """BLEU that best fits the published figures of the shared tasks of 2017 and 2019: international tokens, no case.

    Chinese is split into characters.
    """
    return Bleu() if pair.endswith("-zh") else Bleu(tokenize="intl", lowercase=True)


def correlation(judgments: Judgments, scores: dict[str, float]) -> float:
    """Pearson of system scores with people's."""
    return pearson(judgments.system_means(), aligned(judgments, scores))


def aligned(judgments: Judgments, scores: dict[str, float]) -> Vector:
    """System scores in the order of the judgments."""
    return np.array([scores.get(system, math.nan) for system in judgments.systems])


def system_pearson(work: Workspace, metric: Metric, pair: str) -> float:
    """Pearson of a metric over all judged systems, computed from the texts."""
    return correlation(work.judgments(JUDGED, pair), work.system_scores(metric, pair, JUDGED, TEXTS))
