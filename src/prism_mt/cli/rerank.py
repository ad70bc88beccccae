"""`prism rerank`: choose the best of several translations."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt._core.progress import counter
from prism_mt.cli.output import ListOptions
from prism_mt.engines.config import resolve_engine
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.rerank import check_pseudo_references, check_rerank, rerank_with
from prism_mt.generate.nbest import (
    Lists,
    PlainLists,
    Record,
    fingerprint,
    open_lists,
    open_plain_lists,
    write_lists,
)
from prism_mt.generate.options import SearchConfig
from prism_mt.generate.texts import open_translator
from prism_mt.metrics.base import Languages, Metric
from prism_mt.metrics.registry import has_option, make_metric, make_metrics
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.text.lines import Lines, open_lines


@dataclass(frozen=True, kw_only=True)
class RerankOptions(ListOptions):
    """Options of `prism rerank`."""

    file: str = option(
        "lists as `prism translate -n N --format jsonl` writes them; with --candidates, plain text; with --samples, "
        "texts to translate (default: standard input)",
        "-",
        positional=True,
    )
    metric: str = option(
        "a metric, as for `prism score`; those without reference score each candidate by itself or given the "
        "source, all others use the other candidates as references (minimum Bayes risk)",
        "prism-ref",
        flags=("-m",),
        metavar="NAME",
    )
    candidates: int | None = option(
        "the file is plain text: so many candidates of a segment, one a line, segment after segment",
        None,
        metavar="N",
        low=1,
    )
    src: str | None = option("sources of plain-text candidates, where the metric needs them", None, metavar="FILE")
    pseudo_refs: str | None = option(
        "pseudo-references to take in place of the candidates: lists in JSONL, or plain text with as many lines for "
        "each segment",
        None,
        metavar="FILE",
    )
    n: int = option("how many of the best to write", 1, flags=("-n",), metavar="N", low=1)
    lang: str = option("language of the candidates", "", flags=("--to", "-l"), metavar="XX")
    src_lang: str = option("language of the sources, if the model needs it", "", flags=("--from",), metavar="XX")
    samples: int | None = option("sample this many candidates from the model itself", None, metavar="N", low=1)
    sample_temperature: float = option("divides the logits of samples", 1.0, metavar="T", low=1e-3, high=1e3)
    sample_top_k: int = option("sample from the K most probable tokens; 0: all", 0, metavar="K", low=0)
    sample_top_p: float = option(
        "sample from the smallest set of tokens with total probability P", 1.0, metavar="P", low=1e-9, high=1
    )
    sample_seed: int = option("another seed gives other samples", 0, metavar="N", low=0, high=2**63 - 1)


class _Candidates(NamedTuple):
    """Lists to choose from: what they are read from, how many, how they are made, and the lists from a place on."""

    lines: Lines
    size: int
    origin: str
    records: Callable[[int], Iterator[Record]]


def run(options: RerankOptions, engine: EngineConfig, metric_options: dict[str, Any]) -> None:
    """Rerank, and write the best."""
    # A bad sample can be longer than the model can read again, which should not stop the run but cause a warning.
    if has_option(make_metric(options.metric), "overlong"):
        metric_options = {"overlong": "truncate", **metric_options}
    [metric] = make_metrics([options.metric], _without_sampler(options, metric_options))
    check_rerank(metric, options.lang, has_sources=True)
    if options.samples is not None and not options.lang:
        raise PrismError("set the language of the candidates: --to XX")
    candidates = (
        _read(options, metric)
        if options.samples is None
        else _sampled(options, options.samples, metric_options.get("model", DEFAULT_MODEL), engine)
    )
    count = candidates.size
    if count == 0:
        raise PrismError(f"{candidates.lines.name} is empty: nothing to rerank")
    references = None if options.pseudo_refs is None else _references(options.pseudo_refs, count)
    check_pseudo_references(metric, references, count)
    runtime = Runtime(resolve_engine(engine, "rerank"))
    scorer = metric.open(runtime, Languages(options.lang, options.src_lang))
    digest = fingerprint(candidates.lines, scorer.signature(), candidates.origin, options.n, references)
    with counter("reranking", count) as advance:

        def records(done: int) -> Iterator[Record]:
            for _ in range(done):
                advance()
            others = references and references[done:]
            for record in rerank_with(candidates.records(done), metric, scorer, done + 1, others):
                yield Record(record.source, record.hypotheses[: options.n])
                advance()

        write_lists(options.output, "translations", options.format, digest, records)


def _without_sampler(options: RerankOptions, metric_options: dict[str, Any]) -> dict[str, Any]:
    """Drop the model option if it only draws the samples."""
    if options.samples is None or has_option(make_metric(options.metric), "model"):
        return metric_options
    return {name: value for name, value in metric_options.items() if name != "model"}


def _references(file: str, count: int) -> list[list[str]]:
    """Read pseudo-references; of plain text every segment has as many."""
    lines = open_lines(file)  # once: a pipe cannot be read again
    lists: Iterable[Record] = Lists(lines)
    if not next(iter(lines), "").startswith("{"):
        total = lines.count()
        if not total or total % count:
            raise PrismError(f"{lines.name} has {total:,} lines, which is no multiple of {count:,} segments")
        lists = PlainLists(lines, total // count)
    return [[one.text for one in record.hypotheses] for record in lists]


def _read(options: RerankOptions, metric: Metric) -> _Candidates:
    """Read lists from JSONL or from plain text."""
    sources = None if options.src is None else open_lines(options.src)
    if sources is not None and options.candidates is None:
        raise PrismError("lists in JSONL have their sources: `src=` goes with `candidates=`")
    if options.candidates is None:
        lists = open_lists(options.file)
        if not next(iter(lists.lines), "{").lstrip().startswith("{"):
            raise PrismError(
                f"{lists.name} is plain text, not lists in JSONL: set `candidates=` to the number of candidates "
                "that each segment has, or `samples=` to translate it"
            )
    else:
        lists = open_plain_lists(options.file, options.candidates, sources)
    needs_source = "src" in metric.needs

    def records(done: int) -> Iterator[Record]:
        for number, record in enumerate(lists, start=1):
            if not record.hypotheses:
                raise PrismError(f"{lists.name}, line {number} has no candidates")
            if needs_source and not record.source.strip() and any(one.text.strip() for one in record.hypotheses):
                raise PrismError(f"{lists.name}, line {number} has no source, which the metric needs")
            if number > done:
                yield record

    return _Candidates(lists.lines, lists.count(), f"read {options.candidates}", records)


def _sampled(options: RerankOptions, samples: int, model: str, engine: EngineConfig) -> _Candidates:
    """Sample translations of plain texts from the model."""
    search = SearchConfig(
        method="sample",
        n=samples,
        temperature=options.sample_temperature,
        top_k=options.sample_top_k,
        top_p=options.sample_top_p,
        seed=options.sample_seed,
    )
    texts = open_lines(options.file)
    opened = open_translator(
        to=options.lang, src_lang=options.src_lang or None, model=model, search=search, config=engine
    )
    return _Candidates(texts, texts.count(), str(opened.identity), lambda done: opened.records(texts, done))


COMMAND = Command(
    "rerank",
    "Choose the best of several translations by minimum Bayes risk, or by their probability given the source.",
    (RerankOptions, EngineConfig),
    run,
    metrics=True,
    epilog="""examples:
  prism translate --to de -n 20 --format jsonl input.txt | prism rerank --to de
  prism rerank --metric chrf lists.jsonl
  prism rerank --metric chrf --candidates 20 candidates.txt --pseudo-refs samples.txt
  prism rerank --to de --samples 32 --sample-top-p 0.95 input.txt -o output.txt
""",
)
