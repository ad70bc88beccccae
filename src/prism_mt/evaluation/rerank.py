"""Choose the best of several translations with any metric: minimum Bayes risk, or the candidate's own score."""

from collections.abc import Iterable, Iterator, Sequence

from prism_mt._core.errors import PrismError
from prism_mt.engines.factory import EngineConfig
from prism_mt.generate.generator import Hypothesis
from prism_mt.generate.mbr import HypothesisPair, Utility
from prism_mt.generate.mbr import rerank as rerank_records
from prism_mt.generate.nbest import Record
from prism_mt.metrics.base import Languages, Metric, Scorer, Segment
from prism_mt.metrics.registry import make_metric
from prism_mt.metrics.runtime import Runtime


def rerank(
    candidates: Iterable[Sequence[str]],
    *,
    src: Iterable[str] | None = None,
    pseudo_refs: Iterable[Sequence[str]] | None = None,
    metric: str | Metric = "prism-ref",
    lang: str = "",
    src_lang: str = "",
    config: EngineConfig | None = None,
    runtime: Runtime | None = None,
) -> list[list[Hypothesis]]:
    """Sort the distinct candidates of every segment, best first, each with its score.

    A metric that needs a reference takes all candidates, or the `pseudo_refs` of the segment, as references (minimum
    Bayes risk); others score a candidate by itself or given its source. Higher scores are better, whatever the metric:
    error rates are negated.
    """
    chosen = make_metric(metric)
    lists = [list(texts) for texts in candidates]
    sources = [""] * len(lists) if src is None else list(src)
    if len(sources) != len(lists):
        raise PrismError(f"src has {len(sources):,} segments, but there are candidates for {len(lists):,}")
    others = None if pseudo_refs is None else [list(texts) for texts in pseudo_refs]
    check_rerank(chosen, lang, src is not None)
    check_pseudo_references(chosen, others, len(lists))
    scorer = chosen.open(runtime or Runtime(config), Languages(lang, src_lang))
    records = (
        Record(source, [Hypothesis(text, 0.0) for text in texts])
        for source, texts in zip(sources, lists, strict=True)
    )
    return [list(record.hypotheses) for record in rerank_with(records, chosen, scorer, references=others)]


def rerank_with(
    records: Iterable[Record],
    metric: Metric,
    scorer: Scorer,
    first: int = 1,
    references: Iterable[Sequence[str]] | None = None,
) -> Iterator[Record]:
    """Rerank n-best lists as they come; `first` is the number of the first, for messages."""
    return rerank_records(records, utility(metric, scorer), "ref" not in metric.needs, first, references)


def check_pseudo_references(metric: Metric, references: Sequence[Sequence[str]] | None, count: int) -> None:
    """Fail if pseudo-references are of no use, or missing for some of the `count` segments."""
    if references is None:
        return
    if "ref" not in metric.needs:
        raise PrismError(f"{metric.label} uses no reference: omit `pseudo_refs=`")
    if len(references) != count:
        raise PrismError(f"there are pseudo-references for {len(references):,} segments, candidates for {count:,}")
    empty = next((number for number, texts in enumerate(references, start=1) if not texts), None)
    if empty is not None:
        raise PrismError(f"segment {empty:,} has no pseudo-references")


def check_rerank(metric: Metric, lang: str, has_sources: bool) -> None:
    """Fail if a metric lacks what it needs."""
    if metric.needs_language and not lang:
        raise PrismError(f"{metric.label} needs the language of the candidates: set `lang=`")
    if "src" in metric.needs and not has_sources:
        raise PrismError(f"{metric.label} needs sources: set `src=`")


def utility(metric: Metric, scorer: Scorer) -> Utility:
    """Make a utility from a metric: the other candidate serves as the reference, and higher is better."""
    sign = -1.0 if metric.lower_is_better else 1.0

    def values(comparisons: Iterable[HypothesisPair]) -> Iterator[float]:
        segments = (
            Segment(hypothesis, () if reference is None else (reference,), source, number)
            for hypothesis, reference, source, number in comparisons
        )
        return (sign * result.score for result in scorer.score(segments))

    return values
