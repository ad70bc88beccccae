"""parBLEU and parchrF++ at WMT20 (Bawden et al. 2020): references with paraphrases of a model beside them."""

from collections.abc import Callable

from prism_mt.evaluation.studies.base import Cells
from prism_mt.evaluation.studies.published import PublishedTable
from prism_mt.evaluation.studies.registry import runs
from prism_mt.evaluation.studies.wmt19 import COMPLETE, DARR, JUDGED, TEXTS, correlation, system_pearson
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.generate.options import Method
from prism_mt.metrics.base import Metric
from prism_mt.metrics.paraphrased import ParBleu, ParChrf
from prism_mt.models.resolve import DEFAULT_MODEL

_BEAMS = 100
"""The paper takes the first paraphrases of one list of this length."""
_METHODS: dict[str, Method] = {"sampled": "sample", "n-best": "beam", "diverse": "diverse"}


@runs(
    *(
        f"bawden2020wmt/{name}"
        for name in ("parbleu-systems", "parchrf-systems", "replaced-systems", "kinds-systems")
    ),
    "bawden2020wmt/outliers",
    files=(JUDGED, TEXTS),
    model="optional",
)
def systems(work: Workspace, table: PublishedTable) -> Cells:
    """Pearson of systems; without a model only where no paraphrases are needed."""

    def value(metric: Metric, pair: str) -> float:
        if not table.id.endswith("outliers"):
            return system_pearson(work, metric, pair)
        kept = work.judgments(JUDGED, pair).without_outliers()
        return correlation(kept, work.system_scores(metric, pair, JUDGED, TEXTS))

    return _cells(work, table, table.columns, value)


@runs(
    *(f"bawden2020wmt/{name}-segments" for name in ("parbleu", "parchrf", "replaced", "kinds")),
    files=(DARR, TEXTS),
    model="optional",
)
def segments(work: Workspace, table: PublishedTable) -> Cells:
    """Tau on official preferences; without a model only where no paraphrases are needed."""
    return _cells(work, table, COMPLETE, lambda metric, pair: work.darr(metric, pair, DARR, TEXTS))


def _cells(
    work: Workspace,
    table: PublishedTable,
    pairs: list[str] | tuple[str, ...],
    value: Callable[[Metric, str], float],
) -> Cells:
    found = {}
    for row in table.rows:
        metric = _metric(table.id, row, work.model)
        if metric is not None:
            found.update({(row, pair): value(metric, pair) for pair in pairs})
    return found


def _metric(table: str, row: str, model: str | None) -> Metric | None:
    """The metric of a row, such as `25` or `sampled 10`; None where it needs a model and there is none."""
    kind, _, number = row.rpartition(" ")
    replaced = row == "Paraphrased"
    count = int(number) if number.isdigit() else int(replaced)
    if count and model is None:
        return None
    method = _METHODS.get(kind, "diverse")
    beams = None if method == "sample" or not count else _BEAMS
    make = ParChrf if "parchrf" in table else ParBleu
    if not count:
        return make(paraphrases=0).plain  # shares its scores with other tables
    return make(
        model=model or DEFAULT_MODEL,
        paraphrases=count,
        replace_reference=replaced,
        paraphrase_method=method,
        paraphrase_beam=beams,
    )
