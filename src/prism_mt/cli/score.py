"""`prism score`: how good are these translations?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option, option_of
from prism_mt._core.progress import track
from prism_mt.cli.inputs import InputOptions, Inputs, open_inputs
from prism_mt.cli.metric_options import METRIC_HELP
from prism_mt.cli.output import TableOptions, destination
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import Metric, SegmentScore
from prism_mt.metrics.registry import make_metrics
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.score import default_metrics, score_text, stream
from prism_mt.report.scores import ScoreReport, TokenSpool, stream_segments, write_wmt


@dataclass(frozen=True)
class ScoreOptions(Config):
    """Options of `prism score`."""

    metric: list[str] = option(METRIC_HELP, [], flags=("-m",), metavar="NAME")
    segments: bool = option("a score per segment", False, flags=("--segment-scores",))
    tokens: bool = option("every piece with its log-probability, in every direction", False)
    spans: bool = option("errors: words that are wrong, and words that are missing, with severity", False)
    error_free: bool = option("the probability that a person would mark no error, per segment", False)
    format: Literal["text", "tsv", "json", "wmt"] = option(
        "text for people, tsv or json for programs; wmt writes .seg.score and .sys.score files (and .spans.tsv) into "
        "--output",
        "text",
    )
    output: Path | None = option_of(TableOptions, "output")


def run(options: ScoreOptions, given: InputOptions, engine: EngineConfig, metric_options: dict[str, Any]) -> None:
    """Score, and write the report."""
    if options.format == "wmt" and options.output is None:
        raise PrismError("--format wmt writes several files: set their folder with --output")
    if options.metric:
        make_metrics(options.metric, metric_options)  # report wrong names and options before files are read
    inputs = open_inputs(given, engine.offline)
    if inputs.groups:
        raise PrismError("scores by group need `prism compare`: skip that column with -")
    metrics = make_metrics(options.metric or default_metrics(inputs.text), metric_options)
    runtime = Runtime(engine)
    if _is_stream(options, metrics, inputs):
        _stream(options, metrics[0], inputs, runtime, given.language_check)
        return
    spools = {metric: TokenSpool(len(inputs.text.systems)) for metric in metrics} if options.tokens else {}

    def spool(metric: Metric, system: int, number: int, result: SegmentScore) -> None:
        spools[metric].add(system, result)

    scores = score_text(
        inputs.text,
        metrics,
        inputs.languages,
        runtime,
        spans=options.spans,
        error_free=options.error_free,
        statistics=inputs.text.documents is not None,
        spool=spool if options.tokens else None,
        check_language=given.language_check,
    )
    if options.format == "wmt":
        assert options.output is not None
        write_wmt(scores, options.output)
        return
    report = ScoreReport(scores, options.segments, list(spools.values()))
    with destination(options.output) as handle:
        report.write(handle, options.format)


def _is_stream(options: ScoreOptions, metrics: tuple[Metric, ...], inputs: Inputs) -> bool:
    """Whether all that is wanted is a list of scores, which can be written while it is made."""
    more = options.tokens or options.spans or options.error_free
    lines = options.segments and not more and options.format in ("text", "tsv")
    return lines and len(metrics) == len(inputs.text.systems) == 1


def _stream(options: ScoreOptions, metric: Metric, inputs: Inputs, runtime: Runtime, check_language: bool) -> None:
    """Score one system, segment by segment, as a stream from input to output."""
    scorer, results = stream(metric, inputs.text, inputs.languages, runtime, check_language)
    signature = scorer.signature(max(1, len(inputs.text.references)))
    results = track(results, "scoring", inputs.text.count())
    with destination(options.output) as handle:
        kind: Literal["text", "tsv"] = "tsv" if options.format == "tsv" else "text"
        stream_segments(handle, kind, metric.label, signature, inputs.text.names[0], results)


COMMAND = Command(
    "score",
    "Score translations: how probable is an output given its reference (prism-ref) or its source (prism-src)?",
    (ScoreOptions, InputOptions, EngineConfig),
    run,
    metrics=True,
    epilog="""examples:
  prism score --cand out.txt --ref ref.txt --lang de
  prism score --cand A=a.txt B=b.txt --ref r1.txt r2.txt --lang de --metric prism-ref bleu chrf
  prism score --cand out.txt --src sacrebleu:wmt19:de-en --segments --format json
  prism score --input data.tsv --fields src ref cand --lang zh --tokens
""",
)
