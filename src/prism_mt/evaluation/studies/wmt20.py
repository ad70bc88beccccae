"""WMT20 metrics task (Mathur et al. 2020): correlations and taus from the published scores and agreements."""

from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.studies.base import Cells
from prism_mt.evaluation.studies.published import PublishedTable, read_paper
from prism_mt.evaluation.studies.registry import runs
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.stats.correlation import kendall_b, pearson
from prism_mt.stats.darr import darr_tau, find_preferences

_JUDGED, _SCORES = "wmt20_da_sys.tsv.xz", "wmt20_metric_sys_scores.tsv.xz"
_PAIRS, _RAW = "wmt20_darr_agree.tsv.xz", "wmt20_da_seg.tsv.xz"
_HUMAN = "HUMAN_RAW"
"""Judgments that are not standardized by rater, as a metric."""
_CALLED = {"bleurt-Yisi-combi": "bleurt-combi"}
"""Rows whose scores with the standard reference were published under another name."""
_LEFT_OUT = {
    "cs-en": ("CUNI-DocTransformer.1457", "zlabs-nlp.1149"),
    "iu-en": ("Facebook_AI.729", "NiuTrans.1206"),
}
"""Where systems other than the worst were left out: of all choices of so many, the only one that gives every
published correlation of the language pair."""


@runs(
    *(
        f"wmt20/{name}-{side}"
        for name in ("pearson", "kendall", "pearson-without-outliers")
        for side in ("to", "from")
    ),
    files=(_JUDGED, _SCORES),
)
def systems(work: Workspace, table: PublishedTable) -> Cells:
    """Correlate published system scores with people's."""
    statistic = kendall_b if "kendall" in table.id else pearson
    scores = {(one.metric, one.pair): one for one in work.scores(_SCORES)}
    found = {}
    for row, pair, _ in table.cells():
        judgments = work.judgments(_JUDGED, pair).without_humans()
        if "outliers" in table.id:
            judgments = _without_outliers(judgments, table)
        if row == "n":
            found[row, pair] = float(len(judgments.systems))
        elif row == _HUMAN:
            raw = work.judgments(_JUDGED, pair, "raw").select(judgments.systems)
            found[row, pair] = statistic(judgments.system_means(), raw.system_means())
        elif (metric := scores.get((_CALLED.get(row, row), pair))) is not None:
            # The published scores of error rates have their sign changed already.
            found[row, pair] = statistic(judgments.system_means(), metric.align_systems(judgments.systems))
    return found


@runs("wmt20/segments-to", "wmt20/segments-from", files=(_JUDGED, _PAIRS, _RAW))
def segments(work: Workspace, table: PublishedTable) -> Cells:
    """Count the pairs that raw judgments make, and take tau from the published agreements."""
    side = table.id.rpartition("-")[2]
    tables = {one.id: one for one in read_paper("wmt20").tables}
    found: dict[tuple[str, str], float] = {}
    for column in table.columns:
        pair, _, without = column.partition(" ")
        judgments = work.judgments(_PAIRS, pair)
        raw = work.judgments(_RAW, pair, "raw").without_humans()
        if without:
            judged = work.judgments(_JUDGED, pair).without_humans()
            kept = _without_outliers(judged, tables[f"wmt20/pearson-without-outliers-{side}"]).systems
            judgments, raw = judgments.select(kept), raw.select(kept)
        found["n", column] = float(len(find_preferences(raw.scores)[0]))
        agreements = judgments.preferences.agreements if judgments.preferences else {}
        found.update(((metric, column), darr_tau(values)) for metric, values in agreements.items())
    return found


def _without_outliers(judgments: Judgments, table: PublishedTable) -> Judgments:
    """The systems that people rate highest, as many as the table keeps, or all but those known to be left out."""
    if judgments.pair in _LEFT_OUT:
        return judgments.select([one for one in judgments.systems if one not in _LEFT_OUT[judgments.pair]])
    return judgments.top_systems(int(table.rows["n"][table.columns.index(judgments.pair)]))
