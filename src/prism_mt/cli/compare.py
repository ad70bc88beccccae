"""`prism compare`: which system is better, and could it be chance?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.arguments import Command, command_line, option
from prism_mt._core.errors import PrismError
from prism_mt._core.progress import counter
from prism_mt.cli.encoders import EncoderOptions
from prism_mt.cli.inputs import InputOptions, Inputs, open_inputs
from prism_mt.cli.metaeval_data import TableOptions, write_tables
from prism_mt.cli.score import check_sides, default_metrics, language_code, metric_names
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.buckets import Buckets, by_length, by_name, by_value
from prism_mt.evaluation.compare import Comparison, Measured, Significance, Test, agreements, compare
from prism_mt.evaluation.external_scores import bring_in
from prism_mt.evaluation.measure import measured_from, score_all
from prism_mt.metrics.base import Metric
from prism_mt.metrics.forced_decoding import LongPolicy
from prism_mt.metrics.parallel import ParallelText, evaluate
from prism_mt.metrics.prism import PrismOptions
from prism_mt.metrics.registry import METRICS, ModelInUse, Setting, make_metric, make_metrics
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.report.compare import agreement_table, buckets_table, pairs_table, ranking_table
from prism_mt.report.page import Page, Traces, traces_of, write_page
from prism_mt.report.table import Table
from prism_mt.text.lines import check_parallel, open_lines


@dataclass
class CompareOptions(TableOptions, EncoderOptions, InputOptions):
    """Options of `prism compare`."""

    metric: list[str] = option(
        f"one or more of {', '.join(METRICS)} "
        "(default: prism-ref with --ref, prism-src with --src; none with --scores)",
        [],
        flags=("-m",),
        metavar="NAME",
    )
    scores: list[Path] = option(
        "scores of other tools for the same outputs: TSV (metric, system, segment, score), .seg.score files, JSON",
        [],
        flags=("-s",),
        metavar="FILE",
    )
    lower_is_better: list[str] = option("metrics in --scores that count errors", [], metavar="NAME")
    baseline: str | None = option(
        "system that the others are compared with (default: the first)", None, metavar="NAME"
    )
    test: Test = option("test of differences", "bootstrap")
    draws: int | None = option(
        "how often the test draws (default: 1000 for bootstrap, 10000 for randomisation)", None, metavar="N"
    )
    seed: int = option("another seed gives other draws", 12345, metavar="N")
    by: list[Literal["length", "likelihood"]] = option(
        "also score parts of the test set: by length of the reference, by its likelihood given the source "
        "(needs --ref and --src)",
        [],
        metavar="WHAT",
    )
    groups: str | None = option(
        "document or domain of every segment, a line each: also score each; in a table, a field group says so",
        None,
        metavar="FILE",
    )
    html: Path | None = option(
        "also write a page with plots and all segments, to look at and to send", None, metavar="FILE"
    )
    long: LongPolicy = option(
        "a segment longer than the model's positions: stop, cut it off, or score windows", "error"
    )
    model: str = option("model of Prism's metrics, as for `prism score`", DEFAULT_MODEL, metavar="M")


def run(options: CompareOptions, engine: EngineConfig) -> None:
    """Score all systems, compare them, and write the tables."""
    names = metric_names(options.metric)
    test = Significance(options.test, options.draws, options.seed)
    inputs = open_inputs(options, engine.offline)
    systems = [name for name, _ in inputs.text.systems]
    baseline = _place(options.baseline, systems)
    if not names and not options.scores:
        names = default_metrics(inputs.text)
    check_sides(names, inputs.text)
    brought = _brought(options, systems, inputs)
    setting = _setting(options, engine, names, inputs)
    metrics = make_metrics(names, setting)
    measured, traces = _measure(metrics, inputs)
    measured += brought
    comparisons = [compare(one, test) for one in measured]
    parts = _parts(options, inputs, setting)
    if options.html:
        page_parts = parts
        if "length" not in options.by and inputs.text.references:
            page_parts = [by_length(inputs.text.references[0]), *parts]
        command = command_line("compare", [options, engine])
        page = Page(inputs.text, comparisons, test, baseline, page_parts, traces, inputs.language, command)
        write_page(page, options.html)
    write_tables(_tables(comparisons, parts, baseline, test), options)


def _measure(metrics: list[Metric], inputs: Inputs) -> tuple[list[Measured], dict[str, Traces]]:
    """What each metric says, and the pieces of those that have any."""
    systems = [name for name, _ in inputs.text.systems]
    measured: list[Measured] = []
    traces: dict[str, Traces] = {}
    with counter("scoring", inputs.count * len(systems) * len(metrics)) as advance:
        for metric in metrics:
            results = score_all(metric, inputs.text, advance)
            measured.append(measured_from(metric, systems, results))
            traces |= traces_of(metric.name, len(systems), results)
    return measured, traces


def _tables(comparisons: list[Comparison], parts: list[Buckets], baseline: int, test: Significance) -> list[Table]:
    measured = [comparison.measured for comparison in comparisons]
    tables = [ranking_table(comparison, baseline, test) for comparison in comparisons]
    if len(measured[0].systems) > 2:
        tables += [pairs_table(comparison) for comparison in comparisons]
    if len(measured) > 1:
        tables.append(agreement_table(agreements(measured)))
    return tables + [buckets_table(one, buckets) for buckets in parts for one in measured]


def _place(name: str | None, systems: list[str]) -> int:
    if name is not None and name not in systems:
        raise PrismError(f"no system {name!r} to compare with; there are {', '.join(systems)}")
    return 0 if name is None else systems.index(name)


def _brought(options: CompareOptions, systems: list[str], inputs: Inputs) -> list[Measured]:
    pair = f"{inputs.source_language or 'xx'}-{inputs.language or 'xx'}"
    found = [
        one
        for path in options.scores
        for one in bring_in(path, systems, inputs.count, pair, options.lower_is_better)
    ]
    if unknown := set(options.lower_is_better) - {one.metric for one in found}:
        raise PrismError(f"--scores has no metric {', '.join(sorted(unknown))}")
    return found


def _setting(options: CompareOptions, engine: EngineConfig, names: list[str], inputs: Inputs) -> Setting:
    model = ModelInUse(options.model, engine)
    # Scores from files need no language, like those of surface metrics.
    code = language_code([*names, *(["prism-src"] if "likelihood" in options.by else [])] or ["bleu"], inputs)
    return Setting(
        code,
        inputs.source_language,
        model,
        PrismOptions(long=options.long, tokens=options.html is not None),
        encoder=options.encoder,
        language_model=options.language_model,
    )


def _parts(options: CompareOptions, inputs: Inputs, setting: Setting) -> list[Buckets]:
    """The parts of the test set that were asked for."""
    text, found = inputs.text, []
    if options.by and not text.references:
        raise PrismError("length and likelihood are those of the reference: give --ref")
    if "length" in options.by:
        found.append(by_length(text.references[0]))
    if "likelihood" in options.by:
        check_sides(["prism-src"], text)
        alone = ParallelText((("reference", text.references[0]),), (), text.source)
        [result] = evaluate(make_metric("prism-src", setting), alone)
        found.append(by_value("log-probability of the reference", result.segments, 2))
    if options.groups:
        lines = open_lines(options.groups)
        check_parallel([text.systems[0][1], lines])
        found.append(by_name("group", list(lines)))
    return found + [by_name(name, list(lines)) for name, lines in inputs.groups]


COMMAND = Command(
    "compare",
    "Compare systems: scores with intervals, a test of every difference, ranks, and segments won and lost.",
    (CompareOptions, EngineConfig),
    run,
    epilog="""examples:
  prism compare --cand A=a.txt B=b.txt C=c.txt --ref ref.txt --lang de --metric prism-ref bleu chrf
  prism compare --cand A=a.txt B=b.txt --ref ref.txt --metric bleu --test randomisation --format latex
  prism compare --cand A=a.txt B=b.txt --ref ref.txt --lang de --scores comet.tsv --groups domains.txt --by length
  prism compare --input data.tsv --fields group=domain ref cand=A cand=B --lang de
  prism compare --cand A=a.txt B=b.txt --ref ref.txt --src src.txt --lang de --src-lang en --html report.html
""",
)
