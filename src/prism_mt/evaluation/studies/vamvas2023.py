"""Prism+FT and machine-translated references (Vamvas et al. 2023), mostly from the authors' published scores."""

from dataclasses import replace

import numpy as np

from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.machine_references import (
    ReferencePlan,
    StudiedMetric,
    StudyLevel,
    StudyOptions,
    error_free,
    study_references,
)
from prism_mt.evaluation.mqm import score_from_errors
from prism_mt.evaluation.ranking_pairs import count_pairs, rank_segments
from prism_mt.evaluation.references import choose_reference
from prism_mt.evaluation.scoring import score_texts
from prism_mt.evaluation.studies.base import Cells
from prism_mt.evaluation.studies.published import PublishedTable
from prism_mt.evaluation.studies.registry import runs
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.evaluation.sweep import find_metric
from prism_mt.metrics.base import Metric
from prism_mt.metrics.prism import PrismRef
from prism_mt.metrics.sacrebleu import Bleu, Chrf
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.accuracy import pairwise_accuracy
from prism_mt.stats.arrays import Matrix, row_means
from prism_mt.stats.correlation import Correlation

_PAIRS = ("en-de", "en-ru", "zh-en")
_DOMAINS = {"news": "wmt21.news", "ted": "wmt21.tedtalks"}
_NORMALIZED = "en-ru"
"""Judged by other annotators, whose official scores are divided by the number of words."""
_STANDARD = {("news", "en-de"): "ref-C", ("news", "zh-en"): "ref-B"}
_PUBLISHED = {
    "BLEU": "SentBLEU",
    "chrF": "ChrF",
    "Prism": "Prism-ref",
    "Prism+FT": "Prism-paper_main_checkpoint1.pt",
    "COMET": "COMET",
    "without cross-entropy": "Prism-paper_ablation_no_cross_entropy_checkpoint1.pt",
    "without forward ranking": "Prism-paper_ablation_no_forward_checkpoint1.pt",
    "without backward ranking": "Prism-paper_ablation_no_backward_checkpoint1.pt",
}
"""Rows of the tables, and what the published scores call them."""
_COMPUTED: dict[str, Metric] = {"BLEU": Bleu(), "chrF": Chrf()}
_PRISM = "Prism"
_AUTHORS_PRICE = 5.0
"""Penalty of a non-translation in the authors' code."""
_DRAWS = 20
_TAU = Correlation("kendall-b")


def _judged(domain: str, pair: str) -> str:
    return f"wmt21_mqm_{domain}_{pair}.jsonl.xz"


def _scored(domain: str, pair: str) -> str:
    return f"prismft_predictions_{_DOMAINS[domain]}_{pair}.json.xz"


def _files(*domains: str, scores: bool = True) -> tuple[str, ...]:
    judged = [_judged(domain, pair) for domain in domains for pair in _PAIRS]
    return (*judged, *(_scored(domain, pair) for domain in domains for pair in _PAIRS if scores))


@runs("vamvas2023/table2", files=_files("news", "ted"), model="optional")
def correlations(work: Workspace, table: PublishedTable) -> Cells:
    """Tau-b over all judged outputs; with a model, the rows of Prism are computed with it."""
    found = {}
    for row in table.rows:
        name, _, domain = row.rpartition(" ")
        for pair in _PAIRS:
            judgments, scores = _read(work, domain.lower(), pair, name)
            found[row, pair] = 100 * _TAU(judgments.scores, scores)
    return found


@runs("vamvas2023/tableA1", files=_files("news"))
def ablation(work: Workspace, table: PublishedTable) -> Cells:
    """Means of three language pairs: tau, accuracy over pairs of systems, and magnitude.

    The published scores are 2 to the power of a mean log-probability; magnitude is their mean over all outputs,
    judged or not, those of people included.
    """
    found: dict[tuple[str, str], float] = {}
    for row in table.rows:
        values = []
        for pair in _PAIRS:
            judgments = _judgments(work, "news", pair)
            published = _scores(work, judgments, "news", pair, row)
            scores = published.align(judgments.systems, judgments.segments)
            judged = np.where(np.isnan(judgments.scores), np.nan, scores)
            accuracy = pairwise_accuracy(judgments.system_means(), row_means(judged))
            magnitude = float(np.nanmean(published.segments))
            values.append((100 * _TAU(judgments.scores, scores), 100 * accuracy, magnitude))
        means = np.mean(values, axis=0).tolist()
        found.update(zip([(row, name) for name in ("tau", "accuracy", "magnitude")], means, strict=True))
    return found


@runs("vamvas2023/table3", "vamvas2023/table4", files=_files("news"), model="optional")
def news_references(work: Workspace, table: PublishedTable) -> Cells:
    """Both kinds of references on news: segments in table 3, systems in table 4."""
    return _references(work, table, "news", "segments" if table.id.endswith("table3") else "systems")


@runs("vamvas2023/tableA2", "vamvas2023/tableA3", files=_files("ted"), model="optional")
def ted_references(work: Workspace, table: PublishedTable) -> Cells:
    """Both kinds of references on TED talks: segments in table A2, systems in table A3."""
    return _references(work, table, "ted", "segments" if table.id.endswith("A2") else "systems")


@runs("vamvas2023/tableA5", files=_files("news", "ted", scores=False))
def reference_counts(work: Workspace, table: PublishedTable) -> Cells:
    """Segments with a machine-translated reference, on average over pairs of systems."""
    found = {}
    for row in table.rows:
        for pair in _PAIRS:
            judgments = _judgments(work, row.lower(), pair)
            free = error_free(judgments, _options(pair, "segments").error_free)
            found[row, pair] = ReferencePlan(judgments, free).mean_segments()
    return found


@runs("vamvas2023/data", files=("wmt20_mqm_en-de.jsonl.xz", "wmt20_mqm_zh-en.jsonl.xz"))
def training_pairs(work: Workspace, table: PublishedTable) -> Cells:
    """Sizes of the training data, with the authors' penalty for a non-translation."""
    found = {}
    for pair in table.columns:
        judgments = score_from_errors(work.judgments(f"wmt20_mqm_{pair}.jsonl.xz", pair), _AUTHORS_PRICE)
        ranked = rank_segments(judgments, reference="Human-A.0")
        rated = ~np.isnan(judgments.scores)
        rows = {
            "systems incl. human": rated.any(axis=1).sum(),
            "annotated segments": rated.any(axis=0).sum(),
            "used": len(ranked),
            "annotated outputs": rated.sum(),
            "rankings": count_pairs(ranked),
        }
        found.update({(row, pair): float(value) for row, value in rows.items()})
    return found


def _references(work: Workspace, table: PublishedTable, domain: str, level: StudyLevel) -> Cells:
    found: dict[tuple[str, str], float] = {}
    for row in table.rows:
        values = [_effect(work, domain, pair, level, row) for pair in _PAIRS]
        for kind, each in zip(("standard", "machine"), zip(*values, strict=True), strict=True):
            found.update({(row, f"{pair} {kind}"): value for pair, value in zip(_PAIRS, each, strict=True)})
            found[row, f"mean {kind}"] = float(np.mean(each))
    return found


def _effect(work: Workspace, domain: str, pair: str, level: StudyLevel, row: str) -> tuple[float, float]:
    """A metric under standard and under machine-translated references, times 100."""
    metric = PrismRef(model=work.model) if row == _PRISM and work.model else _COMPUTED.get(row)
    scorer = work.opened(metric, pair) if metric else None

    def compute() -> tuple[float, float]:
        judgments = _judgments(work, domain, pair)
        standard = _scores(work, judgments, domain, pair, row)
        studied = StudiedMetric(standard, scorer)
        [effect] = study_references(judgments, [studied], _options(pair, level)).effects
        return 100 * effect.standard, 100 * effect.machine

    files = _judged(domain, pair), _scored(domain, pair)
    signature = scorer.scorer.signature() if scorer else "published"
    standard, machine = work.remember(f"references {level} {row} {signature}", files, compute)
    return standard, machine


def _options(pair: str, level: StudyLevel) -> StudyOptions:
    return StudyOptions(level=level, draws=_DRAWS, error_free="score" if pair == _NORMALIZED else "errors")


def _read(work: Workspace, domain: str, pair: str, row: str) -> tuple[Judgments, Matrix]:
    judgments = _judgments(work, domain, pair)
    scores = _scores(work, judgments, domain, pair, row)
    return judgments, scores.align(judgments.systems, judgments.segments)


def _scores(work: Workspace, judgments: Judgments, domain: str, pair: str, row: str) -> MetricScores:
    """A row's scores: the published ones, or with a model those of Prism with it."""
    if row != _PRISM or work.model is None:
        return find_metric(work.scores(_scored(domain, pair)), _PUBLISHED[row])
    reference = choose_reference(judgments, _STANDARD.get((domain, pair), "ref-A"))
    return score_texts(work.opened(PrismRef(model=work.model), pair), judgments, reference, only_judged=True)


def _judgments(work: Workspace, domain: str, pair: str) -> Judgments:
    """Judgments of machine translation; those of Russian as their official scores are, divided by words."""
    judgments = work.judgments(_judged(domain, pair), pair).without_humans()
    return _per_word(judgments) if pair == _NORMALIZED else judgments


def _per_word(judgments: Judgments) -> Judgments:
    """Share of words without a penalty: 1 minus penalties per word of the source (of the output without one)."""
    texts, ratings = judgments.texts, judgments.ratings
    if texts is None:
        return judgments
    words = []
    for system, segment in zip(ratings.system.tolist(), ratings.segment.tolist(), strict=True):
        text = texts.sources[segment] or texts.outputs[judgments.systems[system]][segment] or ""
        words.append(max(1, len(text.split())))
    return replace(
        judgments, ratings=replace(ratings, score=1 + ratings.score / np.array(words)), system_scores=None
    )
