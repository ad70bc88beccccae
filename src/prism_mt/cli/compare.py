"""`prism compare`: which system is better, and could it be chance?"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from prism_mt._core.arguments import Command, command_line
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.cli.inputs import InputOptions, Inputs, open_inputs
from prism_mt.cli.metric_options import METRIC_HELP
from prism_mt.cli.output import PlotOptions, TableOptions, tell_written, write_text
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.buckets import Buckets, by_length, by_name, by_value
from prism_mt.evaluation.compare import Test
from prism_mt.evaluation.external_scores import read_external_scores
from prism_mt.metrics.prism import PrismSrc
from prism_mt.metrics.registry import has_option, make_metric, make_metrics
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.score import default_metrics, score_text
from prism_mt.metrics.scores import MetricScores, Scores
from prism_mt.report.plots import plot_comparison
from prism_mt.report.systems import compare
from prism_mt.text.lines import check_parallel, open_lines
from prism_mt.text.parallel import ParallelText


@dataclass(frozen=True)
class CompareOptions(Config):
    """Options of `prism compare`."""

    metric: list[str] = option(METRIC_HELP, [], flags=("-m",), metavar="NAME")
    scores: list[Path] = option(
        "scores of other tools for the same outputs: TSV (metric, system, segment, score), .seg.score files, JSON",
        [],
        flags=("-s",),
        metavar="FILE",
    )
    lower_is_better: list[str] = option("metrics in --scores for which lower is better", [], metavar="NAME")
    baseline: str | None = option("system to compare the others with (default: the first)", None, metavar="NAME")
    test: Test = option("significance test", "bootstrap")
    draws: int | None = option(
        "number of draws of the test (default: 1000 for bootstrap, 10000 for randomization)", None, metavar="N"
    )
    seed: int = option("random seed", 12345, metavar="N", low=0)
    bucket: list[Literal["length", "likelihood"]] = option(
        "also score parts of the test set: by reference length, or by likelihood of the reference given the source "
        "(needs --ref and --src)",
        [],
        metavar="PROPERTY",
    )
    groups: str | None = option(
        "file with the document or domain of every segment, one per line: also score each (in a table: field group)",
        None,
        metavar="FILE",
    )
    html: Path | None = option(
        "also write a self-contained HTML page with plots and all segments", None, metavar="FILE"
    )
    spans: bool = option("mark errors on the page: words that are wrong, and words that are missing", False)
    title: str = option("title of the page (default: how many systems are compared)", "", metavar="TEXT")
    wide: bool = option("one table with a row per system and all metrics side by side", False)
    quiet: bool = option("print the verdict only", False, flags=("-q",))


def run(
    options: CompareOptions,
    given: InputOptions,
    output: TableOptions,
    plots: PlotOptions,
    engine: EngineConfig,
    metric_options: dict[str, Any],
) -> None:
    """Score all systems, compare them, and write the tables."""
    plots.check()
    if options.quiet and output.format != "text":
        raise PrismError("--quiet prints the verdict as text: omit it, or --format (json has the verdict, too)")
    if options.spans and options.html is None:
        raise PrismError("--spans marks errors on a page: set its file with --html, or use `prism score --spans`")
    inputs = open_inputs(given, engine.offline)
    names = options.metric or ([] if options.scores else default_metrics(inputs.text))
    metrics = make_metrics(names, _options_of_metrics(options, names, metric_options))
    runtime = Runtime(engine)
    external = _external(options, inputs)
    parts = _parts(options, inputs, runtime, metric_options)
    scores = score_text(
        inputs.text,
        metrics,
        inputs.languages,
        runtime,
        tokens=options.html is not None,
        spans=options.spans,
        check_language=given.language_check,
    )
    found = compare(
        Scores([*scores.values(), *external], inputs.text, inputs.languages),
        test=options.test,
        draws=options.draws,
        seed=options.seed,
        baseline=options.baseline,
        buckets=parts,
    )
    if options.html:
        command = command_line("compare", [options, given, output, plots, engine], metric_options)
        found.to_html(options.html, title=options.title, test_set=_test_set(given), command=command)
        tell_written(options.html)
    plots.draw(partial(plot_comparison, found.comparisons))
    if options.quiet:
        write_text("\n".join(found.verdicts) + "\n", output)
    else:
        write_text(found.to_text(output.format, output.width, options.wide), output)


def _test_set(given: InputOptions) -> str:
    """Name the test set after its files."""
    return ", ".join(Path(name).name for name in (given.input, given.src, *given.ref) if name)


def _options_of_metrics(
    options: CompareOptions, names: list[str], metric_options: dict[str, Any]
) -> dict[str, Any]:
    """Drop the model option if only the likelihood of references needs it."""
    if "likelihood" not in options.bucket or any(has_option(make_metric(name), "model") for name in names):
        return metric_options
    return {name: value for name, value in metric_options.items() if name != "model"}


def _external(options: CompareOptions, inputs: Inputs) -> list[MetricScores]:
    text = inputs.text
    found = [
        one
        for path in options.scores
        for one in read_external_scores(path, text.names, text.count(), options.lower_is_better)
    ]
    if unknown := set(options.lower_is_better) - {one.metric for one in found}:
        raise PrismError(f"--scores has no metric {', '.join(sorted(unknown))}")
    return found


def _parts(
    options: CompareOptions, inputs: Inputs, runtime: Runtime, metric_options: dict[str, Any]
) -> list[Buckets]:
    """Build the requested parts of the test set."""
    text, found = inputs.text, []
    if options.bucket and not text.references:
        raise PrismError("length and likelihood are those of the reference: set --ref")
    if "length" in options.bucket:
        found.append(by_length(text.references[0]))
    if "likelihood" in options.bucket:
        alone = ParallelText((("reference", text.references[0]),), (), text.source)
        metric = PrismSrc(model=metric_options.get("model", PrismSrc.model))
        likelihood = score_text(alone, [metric], inputs.languages, runtime, check_language=False).item()
        found.append(by_value("log-probability of the reference", likelihood.segments, 2))
    if options.groups:
        lines = open_lines(options.groups)
        check_parallel([text.systems[0][1], lines])
        found.append(by_name("group", list(lines)))
    return found + [by_name(name, list(lines)) for name, lines in inputs.groups]


COMMAND = Command(
    "compare",
    "Compare systems: scores with intervals, a test of every difference, ranks, and segments won and lost.",
    (CompareOptions, InputOptions, TableOptions, PlotOptions, EngineConfig),
    run,
    metrics=True,
    epilog="""examples:
  prism compare --cand A=a.txt B=b.txt C=c.txt --ref ref.txt --lang de --metric prism-ref bleu chrf
  prism compare --cand A=a.txt B=b.txt --ref ref.txt --metric bleu --test randomization --format latex
  prism compare --cand A=a.txt B=b.txt --ref ref.txt --lang de --scores comet.tsv --groups domains.txt --bucket length
  prism compare --input data.tsv --fields group=domain ref cand=A cand=B --lang de
  prism compare --cand A=a.txt B=b.txt --ref ref.txt --src src.txt --lang de --src-lang en --html report.html \\
    --title "Systems of this week"
""",
)
