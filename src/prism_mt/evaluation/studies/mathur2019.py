"""BERTr and trained metrics on WMT17 (Mathur et al. 2019), from the texts."""

import numpy as np

from prism_mt.evaluation.studies.base import Cells
from prism_mt.evaluation.studies.published import PublishedTable
from prism_mt.evaluation.studies.registry import runs
from prism_mt.evaluation.studies.wmt19 import correlation, task_bleu
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.metrics.base import Metric
from prism_mt.metrics.sacrebleu import Bleu, Chrf

_SEGMENTS, _SYSTEMS = "wmt17_da_seg.tsv.xz", "wmt17_da_sys.tsv.xz"
_TEXTS = "wmt17_metrics_task.jsonl.xz"
_CHRF = Chrf(eps_smoothing=True)
_METRICS: dict[str, Metric] = {"BLEU": Bleu(), "SENT-BLEU": Bleu(), "CHRF": _CHRF}
_FROM = ("en-ru", "en-zh")
"""Language pairs from English whose segments were judged one by one."""


@runs("mathur2019/segments-to", "mathur2019/segments-from", files=(_SEGMENTS,), scores_texts=True)
def segments(work: Workspace, table: PublishedTable) -> Cells:
    """Pearson of segments where these were judged one by one."""
    pairs = [column for column in table.columns if column.endswith("-en") or column in _FROM]
    found = {}
    for row, metric in work.metrics_of(table, _METRICS).items():
        values = {pair: work.segment_pearson(metric, pair, _SEGMENTS) for pair in pairs}
        found.update({(row, pair): value for pair, value in values.items()})
        if "mean" in table.columns:
            found[row, "mean"] = float(np.mean(list(values.values())))
    return found


@runs("mathur2019/systems-to", "mathur2019/systems-from", files=(_SYSTEMS, _TEXTS), scores_texts=True)
def systems(work: Workspace, table: PublishedTable) -> Cells:
    """Pearson of systems; the shared task's chrF of a system is the mean of its segments."""
    found = {}
    for pair in table.columns:
        judgments = work.judgments(_SYSTEMS, pair)
        found["n", pair] = float(len(judgments.systems))
        for row, metric in work.metrics_of(table, {"BLEU": task_bleu(pair), "CHRF": _CHRF}).items():
            scores = work.system_scores(metric, pair, _SYSTEMS, _TEXTS, means=row == "CHRF")
            found[row, pair] = correlation(judgments, scores)
    return found
