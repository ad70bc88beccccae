"""parBLEU, parchrF++ and parESIM at WMT20 (Bawden et al. 2020): references augmented with a model's paraphrases."""

from collections.abc import Callable

from prism_mt.evaluation.studies.base import Cells
from prism_mt.evaluation.studies.published import PublishedTable
from prism_mt.evaluation.studies.registry import runs
from prism_mt.evaluation.studies.wmt19 import COMPLETE, DARR, JUDGED, TEXTS, correlation, system_pearson
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.generate.options import Method
from prism_mt.metrics.base import Metric
from prism_mt.metrics.embedded import ParEsim
from prism_mt.metrics.paraphrased import Paraphrased, ParBleu, ParChrf
from prism_mt.models.resolve import DEFAULT_MODEL

_BEAMS = 100
"""The paper takes the first paraphrases of one list of this length."""
_FAMILIES: dict[str, type[Paraphrased]] = {"parchrf": ParChrf, "paresim": ParEsim, "": ParBleu}
"""Metrics by what is in the names of their tables; that of ESIM has the package's own weights."""
_METHODS: dict[str, Method] = {"sampled": "sample", "n-best": "beam", "diverse": "diverse"}


@runs(
    *(
        f"bawden2020wmt/{name}"
        for name in ("parbleu-systems", "parchrf-systems", "replaced-systems", "kinds-systems")
    ),
    "bawden2020wmt/outliers",
    "bawden2020wmt/paresim-systems",
    files=(JUDGED, TEXTS),
    model="optional",
    scores_texts=True,
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
    *(f"bawden2020wmt/{name}-segments" for name in ("parbleu", "parchrf", "paresim", "replaced", "kinds")),
    files=(DARR, TEXTS),
    model="optional",
    scores_texts=True,
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
    made = {row: _metric(table.id, row, work.model) for row in table.rows}
    metrics = work.metrics_of(table, {row: metric for row, metric in made.items() if metric is not None})
    return {(row, pair): value(metric, pair) for row, metric in metrics.items() for pair in pairs}


def _metric(table: str, row: str, model: str | None) -> Metric | None:
    """The metric of a row, such as `25` or `sampled 10`; None where it needs a model and there is none."""
    kind, _, number = row.rpartition(" ")
    replaced = row == "Paraphrased"
    count = int(number) if number.isdigit() else int(replaced)
    family = next(made for name, made in _FAMILIES.items() if name in table)
    if model is None and (count or family is ParEsim):
        return None
    method = _METHODS.get(kind, "diverse")
    beams = None if method == "sample" or not count else _BEAMS
    if not count:
        return family(paraphrases=0).plain  # shares its scores with other tables
    return family(
        model=model or DEFAULT_MODEL,
        paraphrases=count,
        replace_reference=replaced,
        paraphrase_method=method,
        paraphrase_beam=beams,
    )
