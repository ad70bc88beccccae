"""`prism rerank`: choose the best of several translations."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import option, option_of
from prism_mt._core.progress import counter
from prism_mt.cli.encoders import EncoderOptions
from prism_mt.cli.score import metric_names, needs_language
from prism_mt.cli.translate import NBestOptions
from prism_mt.engines.config import EngineConfig
from prism_mt.generate.mbr import Comparison, Utility, rerank
from prism_mt.generate.nbest import Record, fingerprint, open_lists, write_lists
from prism_mt.generate.options import SearchConfig
from prism_mt.generate.texts import open_translator
from prism_mt.metrics.base import Metric, Segment
from prism_mt.metrics.prism import PrismOptions
from prism_mt.metrics.registry import METRICS, ModelInUse, Setting, entry, make_metric
from prism_mt.text.lines import Lines, open_lines


@dataclass(frozen=True, kw_only=True)
class RerankOptions(NBestOptions):
    """Options of `prism rerank`."""

    file: str = option(
        "lists as `prism translate -n N --format jsonl` writes them, or, with --samples, texts to translate "
        "(default: standard input)",
        "-",
        positional=True,
    )
    metric: str = option(
        f"one of {', '.join(METRICS)}, or the folder of a trained one; those that need no reference (prism-src, "
        "prism-dual, …, lm) choose what is best by itself or given the source, all others what is best on average when "
        "the other candidates are its references (minimum Bayes risk)",
        "prism-ref",
        flags=("-m",),
        metavar="NAME",
    )
    n: int = option("how many of the best to write", 1, flags=("-n",), metavar="N")
    lang: str | None = option("language of the candidates", None, flags=("--to", "-l"), metavar="XX")
    src_lang: str | None = option(
        "language of the sources, where the model needs it", None, flags=("--from",), metavar="XX"
    )
    samples: int | None = option("draw so many candidates from the model itself", None, metavar="N")
    temperature: float = option_of(SearchConfig, "temperature")
    top_k: int = option_of(SearchConfig, "top_k")
    top_p: float = option_of(SearchConfig, "top_p")
    seed: int = option_of(SearchConfig, "seed")


class Candidates(NamedTuple):
    """Lists to choose from."""

    lines: Lines
    """What they are read or made from."""
    origin: str
    """How they are made, for the identity of a run."""
    records: Callable[[int], Iterator[Record]]
    """The lists from a place, counted from 0, on."""


def run(options: RerankOptions, encoders: EncoderOptions, engine: EngineConfig) -> None:
    """Rerank, and write the best."""
    [name] = metric_names([options.metric])
    by_source = "ref" not in entry(name).needs
    if options.n < 1:
        raise PrismError(f"at least 1 hypothesis must be written, not {options.n}")
    if options.lang is None and (options.samples is not None or needs_language(name)):
        raise PrismError("say which language the candidates are in: --to XX")
    needs_source = "src" in entry(name).needs
    candidates = (
        _read(options.file, needs_source)
        if options.samples is None
        else _sampled(options, engine, options.samples)
    )
    count = candidates.lines.count()
    if count == 0:
        raise PrismError(f"{candidates.lines.name} is empty: there is nothing to rerank")
    model = ModelInUse(options.model, engine, task="rerank")
    # A bad sample can be longer than the model can read again, and should not stop the run: a warning tells of it.
    prism = PrismOptions(long="truncate")
    setting = Setting(
        options.lang or "",
        options.src_lang,
        model,
        prism,
        encoder=encoders.encoder,
        language_model=encoders.language_model,
    )
    metric = make_metric(name, setting)
    run = fingerprint(candidates.lines, metric.signature(), candidates.origin, options.n)
    with counter("reranking", count) as advance:

        def records(done: int) -> Iterator[Record]:
            for _ in range(done):
                advance()
            for record in rerank(candidates.records(done), utility(metric), by_source, done + 1):
                yield Record(record.source, record.hypotheses[: options.n])
                advance()

        write_lists(options.output, "translations", options.format, run, records)


def utility(metric: Metric) -> Utility:
    """A metric as a utility: the other candidate takes the place of the reference, and higher is better."""
    sign = -1.0 if metric.name == "ter" else 1.0

    def values(comparisons: Iterable[Comparison]) -> Iterator[float]:
        segments = (
            Segment(hypothesis, () if reference is None else (reference,), source, number)
            for hypothesis, reference, source, number in comparisons
        )
        return (sign * result.score for result in metric.score(segments))

    return values


def _read(file: str, needs_source: bool) -> Candidates:
    """Lists from a JSONL file."""
    lists = open_lists(file)

    def records(done: int) -> Iterator[Record]:
        for number, record in enumerate(lists, start=1):
            if not record.hypotheses:
                raise PrismError(f"{lists.name}, line {number} has no candidates")
            if needs_source and not record.source.strip() and any(one.text.strip() for one in record.hypotheses):
                raise PrismError(f"{lists.name}, line {number} has no source, which the metric needs")
            if number > done:
                yield record

    return Candidates(lists.lines, "read", records)


def _sampled(options: RerankOptions, engine: EngineConfig, samples: int) -> Candidates:
    """Samples of the model's translations of plain texts."""
    search = SearchConfig(
        method="sample",
        n=samples,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        seed=options.seed,
    )
    texts = open_lines(options.file)
    translator = open_translator(
        to=options.lang or "",
        src_lang=options.src_lang,
        model=options.model,
        search=search,
        config=replace(engine, engine="torch", precision="float32", workers=None),
    )
    translator.check(texts)
    return Candidates(texts, repr(translator.identity), lambda done: translator.records(texts, done))


COMMAND = Command(
    "rerank",
    "Choose the best of several translations by minimum Bayes risk, or by their probability given the source.",
    (RerankOptions, EncoderOptions, EngineConfig),
    run,
    epilog="""examples:
  prism translate --to de -n 20 --format jsonl input.txt | prism rerank --to de
  prism rerank --metric chrf lists.jsonl
  prism rerank --to de --samples 32 --top-p 0.95 input.txt -o output.txt
""",
)
