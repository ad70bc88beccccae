"""`prism score`: how good are these translations?"""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from prism_mt._core.arguments import Command, option
from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt._core.progress import counter, track
from prism_mt.cli.encoders import EncoderOptions
from prism_mt.cli.inputs import InputOptions, Inputs, open_inputs
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import Metric, SegmentScore
from prism_mt.metrics.combined import parse_terms
from prism_mt.metrics.forced_decoding import LongPolicy
from prism_mt.metrics.parallel import ParallelText, evaluate
from prism_mt.metrics.paraphrased import ParaphraseOptions
from prism_mt.metrics.prism import Direction, PrismOptions
from prism_mt.metrics.registry import METRICS, ModelInUse, Setting, entry, make_metrics
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.report.scores import ScoreReport, TokenSpool, stream_segments
from prism_mt.report.wmt import write_wmt
from prism_mt.text.languages import language

_PRISM = "Prism's metrics"
_PARAPHRASED = "parbleu, parchrf++ and par:FOLDER"


@dataclass
class ScoreOptions(EncoderOptions, InputOptions):
    """Options of `prism score`."""

    metric: list[str] = option(
        f"one or more of {', '.join(METRICS)}; the folder of a trained metric, par:FOLDER for one with "
        "paraphrased references, src:FOLDER for one with the source instead; or a combination such as 0.4*laser+0.6*lm "
        "(default: prism-ref with --ref, prism-src with --src)",
        [],
        flags=("-m",),
        metavar="NAME",
    )
    model: str = option(
        "model: a folder, the original layout as folder or tar, hf:ORG/NAME, or a name of `prism models list`",
        DEFAULT_MODEL,
        flags=("--model-dir",),
        metavar="M",
    )
    segments: bool = option("a score per segment", False, flags=("--segment-scores",))
    tokens: bool = option("every piece with its log-probability, in every direction", False)
    format: Literal["text", "tsv", "json", "wmt"] = option(
        "text for people, tsv or json for programs; wmt writes .seg.score and .sys.score files into --output",
        "text",
    )
    output: Path | None = option("write here instead of standard output", None, flags=("-o",), metavar="FILE")
    direction: Direction | None = option(
        "forward: the output given reference or source; backward: the reverse "
        "(default: both with --ref, forward with --src)",
        None,
        group=_PRISM,
    )
    forward_weight: float = option(
        "share of the forward direction where both count", 0.5, metavar="W", group=_PRISM
    )
    reduction: Literal["mean", "sum"] = option(
        "mean log-probability per token, or their sum", "mean", group=_PRISM
    )
    references: Literal["mean", "max"] = option("how several references become one score", "mean", group=_PRISM)
    temperature: float = option("divides the logits before the softmax", 1.0, metavar="T", group=_PRISM)
    long: LongPolicy = option(
        "a segment longer than the model's positions: stop, cut it off, or score windows", "error", group=_PRISM
    )
    paraphrases: int | None = option(
        "paraphrases of each reference (default: 5, or 1 with --replace-reference)",
        None,
        metavar="N",
        group=_PARAPHRASED,
    )
    replace_reference: bool = option("paraphrases instead of the reference", False, group=_PARAPHRASED)
    paraphrase_file: Path | None = option(
        "paraphrases as `prism paraphrase --format jsonl` writes them, a line per segment "
        "(default: made by the model and kept in the cache)",
        None,
        metavar="FILE",
        group=_PARAPHRASED,
    )
    debug: bool = option("say what is being done", False)


def run(options: ScoreOptions, engine: EngineConfig) -> None:
    """Score, and write the report."""
    if options.debug:
        logging.getLogger("prism_mt").setLevel(logging.DEBUG)
    names = metric_names(options.metric)
    model, prism = ModelInUse(options.model, engine, options.temperature), _prism_options(options)
    paraphrases = ParaphraseOptions(options.paraphrases, options.replace_reference, options.paraphrase_file)
    if options.format == "wmt" and options.output is None:
        raise PrismError("--format wmt writes several files: give their folder with --output")
    if paraphrases != ParaphraseOptions() and not any("par" in name for name in names):
        raise PrismError(
            "options of paraphrases are for parbleu, parchrf++ and par:FOLDER: name one with --metric"
        )
    inputs = open_inputs(options, engine.offline, bool(names) and not any(entry(name).needs for name in names))
    if inputs.groups:
        raise PrismError("scores by group are those of `prism compare`: skip that column with -")
    check_sides(names, inputs.text)
    if engine.ray:
        check_cluster(names)
    code = language_code(names, inputs)
    setting = Setting(
        code, inputs.source_language, model, prism, paraphrases, options.encoder, options.language_model
    )
    metrics = make_metrics(names or default_metrics(inputs.text), setting)
    if _is_stream(options, metrics, inputs.text):
        _stream(options, metrics[0], inputs)
        return
    report = ScoreReport(options.segments, options.tokens)
    with counter("scoring", inputs.count * len(inputs.text.systems) * len(metrics)) as advance:
        for metric in metrics:
            _score(metric, inputs.text, report, advance)
    if options.format == "wmt":
        assert options.output is not None
        write_wmt(report.results, inputs.text, options.output)
        return
    with _destination(options.output) as handle:
        report.write(handle, options.format)


def _is_stream(options: ScoreOptions, metrics: list[Metric], text: ParallelText) -> bool:
    """Whether all that is wanted is a list of scores, which can be written while it is made."""
    lines = options.segments and not options.tokens and options.format in ("text", "tsv")
    return lines and len(metrics) == len(text.systems) == 1


def _stream(options: ScoreOptions, metric: Metric, inputs: Inputs) -> None:
    """Score one system, segment by segment from the input to the output."""
    scores = track(metric.score(inputs.text.segments()), "scoring", inputs.count)
    with _destination(options.output) as handle:
        kind: Literal["text", "tsv"] = "tsv" if options.format == "tsv" else "text"
        stream_segments(handle, kind, metric, inputs.text.systems[0][0], scores)


def _score(metric: Metric, text: ParallelText, report: ScoreReport, advance: Callable[[], None]) -> None:
    """Run one metric over all systems."""
    spool = TokenSpool(len(text.systems)) if report.tokens else None

    def watch(system: int, segment: int, result: SegmentScore) -> None:
        advance()
        if spool:
            spool.add(system, result)

    report.add(evaluate(metric, text, watch), spool)


def metric_names(given: list[str]) -> list[str]:
    """Each metric once, all of them known."""
    names = list(dict.fromkeys(name.lower() if name.lower() in METRICS else name for name in given))
    for name in names:
        entry(name)
    return names


def default_metrics(text: ParallelText) -> list[str]:
    """Prism against whatever is there."""
    return [*(["prism-ref"] if text.references else []), *(["prism-src"] if text.source else [])]


def check_sides(names: list[str], text: ParallelText) -> None:
    """Stop where a metric lacks the texts that it compares with."""
    present = {"ref": bool(text.references), "src": text.source is not None}
    for name in names:
        for side in entry(name).needs:
            if not present[side]:
                raise PrismError(
                    f"{name} needs {'references: give --ref' if side == 'ref' else 'sources: give --src'}"
                )


def check_cluster(names: list[str]) -> None:
    """Stop where a metric would not be computed by the cluster."""
    for name in names:
        if not name.startswith("prism-"):
            raise PrismError(f"--ray is for prism-ref, prism-src and prism-dual: run {name} without it")


def language_code(names: list[str], inputs: Inputs) -> str:
    """The language of the outputs; surface metrics do without one."""
    surface = bool(names) and not any(map(needs_language, names))
    if inputs.language is not None:
        return language(inputs.language).code if surface else inputs.language
    if surface:
        return ""
    raise PrismError("say which language the outputs are in: --lang XX, or --lang auto")


def needs_language(name: str) -> bool:
    """Whether a metric, or one in a combination, asks a model that has to know the language."""
    parts = [part for _, part in parse_terms(name)] or [name]
    return any(part.startswith("prism") for part in parts)


def _prism_options(options: ScoreOptions) -> PrismOptions:
    return PrismOptions(
        options.direction,
        options.forward_weight,
        options.reduction,
        options.references,
        options.long,
        options.tokens,
    )


@contextmanager
def _destination(path: Path | None) -> Iterator[IO[str]]:
    """The output file, which appears whole or not at all, or standard output."""
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
    else:
        with write_atomically(path) as handle:
            yield handle


COMMAND = Command(
    "score",
    "Score translations: how probable is an output given its reference (prism-ref) or its source (prism-src)?",
    (ScoreOptions, EngineConfig),
    run,
    epilog="""examples:
  prism score --cand out.txt --ref ref.txt --lang de
  prism score --cand A=a.txt B=b.txt --ref r1.txt r2.txt --lang de --metric prism-ref bleu chrf
  prism score --cand out.txt --src sacrebleu:wmt19:de-en --segments --format json
  prism score --input data.tsv --fields src ref cand --lang zh --tokens
""",
)
