"""Prism (Thompson and Post 2020): what public texts suffice for and, with a model, the rows of Prism itself."""

from prism_mt.evaluation.bias import outputs_as_paraphrases, score_by_bleu, score_paraphrases
from prism_mt.evaluation.judgments import add_texts
from prism_mt.evaluation.readers.fields import records
from prism_mt.evaluation.references import choose_reference
from prism_mt.evaluation.studies.base import Cells
from prism_mt.evaluation.studies.bawden2020 import SCORES, read_system_scores
from prism_mt.evaluation.studies.published import PublishedTable
from prism_mt.evaluation.studies.registry import runs
from prism_mt.evaluation.studies.wmt19 import COMPLETE, DARR, JUDGED, TEXTS, correlation, task_bleu
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.generate.texts import translate
from prism_mt.metrics.base import Metric, Segment
from prism_mt.metrics.prism import PrismRef, PrismSrc
from prism_mt.metrics.sacrebleu import Bleu, Chrf

_JUDGED_2018, _DARR_2018 = "wmt18_da_sys.tsv.xz", "wmt18_darr_cs-en.tsv.xz"
_REFERENCE = "Jason went to school at the University of Madrid."
_PIECE = "piece "
_MARK = "▁"
_ONLINE = "online-"
"""Online services, which were not submissions."""
_LEXICAL: dict[str, Metric] = {
    "SENTBLEU": Bleu(effective_order=False),
    "CHRF": Chrf(beta=3, eps_smoothing=True),
    "CHRF+": Chrf(word_order=1, beta=3, eps_smoothing=True),
}
"""Metrics of the shared task that are computed from the texts."""


@runs("thompson2020/example", model="required")
def example(work: Workspace, table: PublishedTable) -> Cells:
    """Score the sentences of the example given the first, and find pieces in them."""
    texts = [row for row in table.rows if not row.startswith(_PIECE)]
    scorer = work.opened(PrismRef(model=_model(work), direction="forward"), "en-en").scorer
    found, pieces = {}, {}
    for text, score in zip(texts, scorer.score((Segment(one, (_REFERENCE,)) for one in texts), True), strict=True):
        found[text, table.columns[0]] = score.score
        trace = score.tokens[0]
        pieces[text] = dict(zip((piece.strip(_MARK) for piece in trace.pieces), trace.scores, strict=False))
    for row in table.rows:
        word = row.removeprefix(_PIECE)
        # The first sentence that has the word and is not the reference itself.
        values = [known[word] for text, known in pieces.items() if text != _REFERENCE and word in known]
        if row != word and values:
            found[row, table.columns[0]] = values[-1] if word in _REFERENCE else values[0]
    return found


@runs(
    "thompson2020/wmt19-segments",
    "thompson2020/wmt19-segments-to",
    "thompson2020/wmt19-qe",
    files=(DARR, TEXTS),
    model="optional",
    scores_texts=True,
)
def wmt19_segments(work: Workspace, table: PublishedTable) -> Cells:
    """Tau where all official preferences are public."""
    metrics = dict(_LEXICAL)
    if work.model is not None:
        metrics["Prism-ref"] = PrismRef(model=work.model, overlong="window")
        metrics["Prism-src"] = PrismSrc(model=work.model, overlong="window")
    found = {}
    for pair in COMPLETE:
        preferences = work.shorten(work.judgments(DARR, pair)).preferences
        found["n", pair] = float(len(preferences or ()))
        for row, metric in work.metrics_of(table, metrics).items():
            found[row, pair] = work.darr(metric, pair, DARR, TEXTS)
    return found


@runs("thompson2020/wmt19-top-systems", files=(JUDGED, TEXTS), model="optional", scores_texts=True)
def top_systems(work: Workspace, table: PublishedTable) -> Cells:
    """Pearson over the four systems that people rate highest."""
    found = {}
    for pair in table.columns:
        metrics: dict[str, Metric] = {"BLEU": task_bleu(pair)}
        if work.model is not None:
            metrics["Prism-ref"] = PrismRef(model=work.model, overlong="window")
        best = work.judgments(JUDGED, pair).top_systems(4)
        for row, metric in work.metrics_of(table, metrics).items():
            found[row, pair] = correlation(best, work.system_scores(metric, pair, JUDGED, TEXTS, best=4))
    return found


@runs("thompson2020/wmt18-systems-from", "thompson2020/wmt18-systems-to", files=(_JUDGED_2018, SCORES))
def wmt18_systems(work: Workspace, table: PublishedTable) -> Cells:
    """Numbers of systems, and Pearson of the sacreBLEU scores that were published for another paper."""
    published = read_system_scores(work)["newstest2018/sacreBLEU-syslevel"]
    found = {}
    for pair in table.columns:
        judgments = work.judgments(_JUDGED_2018, pair)
        found["n", pair] = float(len(judgments.systems))
        if pair in published:
            found["BLEU", pair] = correlation(judgments, published[pair])
    return found


@runs("thompson2020/wmt18-segments-to", files=(_DARR_2018,))
def wmt18_segments(work: Workspace, table: PublishedTable) -> Cells:
    """The number of official preferences of cs-en, which alone are public.

    Rows are counted: systems with equal outputs share a name in the file, so that some preferences look alike.
    """
    return {("n", "cs-en"): float(sum(1 for _ in records(work.data.find(_DARR_2018))))}


@runs("thompson2020/translation", files=(JUDGED, TEXTS), model="optional")
def translation(work: Workspace, table: PublishedTable) -> Cells:
    """BLEU of the best submission, and of a model's translations."""
    best, own, difference = table.columns
    found = {}
    for pair in table.rows:
        scores = work.system_scores(Bleu(), pair, JUDGED, TEXTS)
        submitted = [score for system, score in scores.items() if not system.startswith(_ONLINE)]
        found[pair, best] = round(max(submitted), 1)
        if work.model is not None:
            found[pair, own] = round(_translated(work, work.model, pair), 1)
            found[pair, difference] = found[pair, own] - found[pair, best]
    return found


@runs("thompson2020/figure3", files=(DARR, TEXTS), model="required", scores_texts=True)
def figure3(work: Workspace, table: PublishedTable) -> Cells:
    """Tau over the weight of the forward direction, for means and sums of log-probabilities."""
    found = {}
    for column, reduction in zip(table.columns, ("mean", "sum"), strict=True):
        for tenth in range(11):
            metric = PrismRef(
                model=_model(work),
                forward_weight=tenth / 10,
                reduction=reduction,  # type: ignore[arg-type]
                overlong="window",
            )
            found[f"{tenth / 10:g}", column] = work.darr(metric, COMPLETE[0], DARR, TEXTS)
    return found


@runs("thompson2020/figure4", files=(JUDGED, TEXTS), model="required", scores_texts=True)
def figure4(work: Workspace, table: PublishedTable) -> Cells:
    """Mean score of outputs given their reference, in bins of sentence-BLEU; nothing is generated."""
    pair = COMPLETE[0]
    scorer = work.opened(PrismRef(model=_model(work), direction="forward", overlong="window"), pair)

    def compute() -> dict[str, float]:
        judgments = work.shorten(add_texts(work.judgments(JUDGED, pair), work.judgments(TEXTS, pair)))
        texts = outputs_as_paraphrases(judgments, choose_reference(judgments))
        bins = score_by_bleu(score_paraphrases(texts, scorer.scorer))
        return {f"{(one.low + one.high) / 2:g}": one.score for one in bins if one.count}

    found = work.remember(f"bias {pair} {scorer.scorer.signature()}{work.part}", (JUDGED, TEXTS), compute)
    return {(middle, table.columns[0]): score for middle, score in found.items()}


def _translated(work: Workspace, model: str, pair: str) -> float:
    """BLEU of a model's translations of a test set's sources."""
    digest = work.runtime.model(model).digest

    def compute() -> float:
        texts = work.judgments(TEXTS, pair).texts
        if texts is None:
            return float("nan")
        [references] = texts.references.values()
        known = [(s, r) for s, r in zip(texts.sources, references, strict=True) if s is not None and r is not None]
        source, target = pair.split("-")
        outputs = translate(
            [one for one, _ in known], to=target, src_lang=source, model=model, config=work.runtime.config
        )
        metric = Bleu()
        scored = work.opened(metric, pair).score(
            Segment(output, (reference,)) for output, (_, reference) in zip(outputs, known, strict=True)
        )
        return metric.aggregate([sum(counts) for counts in zip(*(one.statistics for one in scored), strict=True)])

    return work.remember(f"translation {pair} {digest}", (TEXTS,), compute)


def _model(work: Workspace) -> str:
    """Return the model, which is checked for before the study starts."""
    assert work.model is not None
    return work.model
