"""`prism metaeval`: which metric agrees best with people, and which difference is real?"""

from dataclasses import dataclass, replace
from pathlib import Path

from prism_mt._core.arguments import Command, Group, option
from prism_mt._core.errors import PrismError
from prism_mt.cli.metaeval_data import (
    Judged,
    MetricOptions,
    OutputOptions,
    TableOptions,
    check_plot,
    load,
    protocol_of,
    write_tables,
)
from prism_mt.cli.metaeval_more import BIAS, DISAGREEMENTS, SWEEP
from prism_mt.cli.metaeval_references import REFERENCES
from prism_mt.evaluation.judge import Evaluation, judge, pooled_accuracy
from prism_mt.evaluation.levels import Resampling
from prism_mt.evaluation.protocols import PROTOCOLS, Level, Protocol, StatisticName, Test
from prism_mt.report.metaeval import evaluation_table, overview_table
from prism_mt.report.table import Column, Table, number, titles
from prism_mt.stats.correlation import Averaging
from prism_mt.stats.darr import TieRule


@dataclass(kw_only=True)
class MetaevalOptions(MetricOptions, OutputOptions):
    """Options of `prism metaeval`."""

    judgments: list[Path] = option(
        "human judgments: TSV, JSONL, Google's MQM ratings, the shared tasks' csv files, or a directory of "
        "mt-metrics-eval",
        positional=True,
        metavar="JUDGMENTS",
    )
    level: Level | None = option("what is judged (instead of the preset's)", None)
    statistic: StatisticName | None = option("agreement with people (instead of the preset's)", None)
    over: Averaging | None = option("average correlations over segments or systems", None)
    test: Test | None = option("significance test (instead of the preset's)", None)
    ties: TieRule | None = option("what a metric's tie is in daRR", None)
    intervals: bool = option("bootstrap intervals even where the test needs none", False)
    top: int | None = option("only the N systems that people like best", None, metavar="N")
    drop_outliers: bool = option("leave out systems far from the others", False)
    draws: int = option("how often random procedures draw", 1000, metavar="N")
    seed: int = option("seed of random procedures", 1, metavar="N")
    alpha: float = option("level of significance", 0.05, metavar="A")


def run(options: MetaevalOptions) -> None:
    """Judge the metrics and print a table per language pair, then all pairs side by side."""
    protocol = _protocol(options)
    check_plot(options)
    resampling = Resampling(options.draws, options.seed, options.alpha)
    judged = [_selected(item, options) for item in load(options.judgments, options.scores, options, protocol)]
    intervals = options.intervals or bool(options.plot and protocol.level != "systems")
    evaluations = [
        judge(
            item.judgments,
            item.metrics,
            protocol=protocol,
            resampling=resampling,
            intervals=intervals,
            reference=item.reference,
        )
        for item in judged
    ]
    tables = [evaluation_table(evaluation) for evaluation in evaluations]
    if len(evaluations) > 1:
        tables.append(overview_table(evaluations))
        if protocol.level == "systems":
            tables.append(_pooled_accuracy(judged))
    write_tables(tables, options)
    if options.plot:
        _plot(evaluations, judged, options.plot)


def list_presets(options: TableOptions) -> None:
    """Print the presets."""
    rows = tuple((name, protocol.description, protocol.level) for name, protocol in PROTOCOLS.items())
    write_tables([Table((Column("preset"), Column("rules"), Column("judges")), rows)], options)


def _protocol(options: MetaevalOptions) -> Protocol:
    """The preset's protocol with what the command line says instead."""
    protocol = protocol_of(options)
    return replace(
        protocol,
        level=options.level or protocol.level,
        statistic=options.statistic or protocol.statistic,
        over=options.over or protocol.over,
        test=options.test or protocol.test,
        ties=options.ties or protocol.ties,
    )


def _selected(item: Judged, options: MetaevalOptions) -> Judged:
    judgments = item.judgments
    if options.drop_outliers:
        judgments = judgments.without_outliers()
    if options.top is not None:
        if options.top < 2:
            raise PrismError(f"--top must leave at least 2 systems, not {options.top}")
        judgments = judgments.top_systems(options.top)
    return replace(item, judgments=judgments)


def _pooled_accuracy(judged: list[Judged]) -> Table:
    """Pairs of systems of all language pairs together, as the shared tasks count them."""
    found = pooled_accuracy((item.judgments, item.metrics) for item in judged)
    rows = [(one.metric, one.accuracy, one.pairs) for one in found]
    columns = (Column("metric"), number("accuracy"), number("pairs", 0))
    return Table(columns, tuple(rows), "Accuracy over pairs of systems, all language pairs pooled")


def _plot(evaluations: list[Evaluation], judged: list[Judged], path: Path) -> None:
    from prism_mt.report.plots import Scatter, numbered, plot_bars, plot_systems

    for evaluation, title, item in zip(evaluations, titles(evaluations), judged, strict=True):
        judgments, title = item.judgments, title.replace(" ", "-").replace("/", "-")
        plot_bars(evaluation, numbered(path, title, "bars"))
        human = judgments.system_means()
        scatters = [
            Scatter(metric.metric, judgments.systems, human, metric.higher.align_systems(judgments.systems))
            for metric in item.metrics
        ]
        if scatters and (human == human).any():
            plot_systems(scatters, evaluation.place, numbered(path, title, "systems"))


_EPILOG = """examples:
  prism metaeval mqm_en-de.jsonl --preset wmt21-mqm --metric chrf bleu --scores comet.tsv
  prism metaeval mqm_en-de.jsonl --preset wmt21-mqm --metric prism-ref --model mini finetuned/model
  prism metaeval DA-syslevel.csv --preset wmt19-sys --scores BLEU.sys.score --plot figures.pdf
  prism metaeval sweep dev.jsonl --test test.jsonl --scores dev.tsv --test-scores test.tsv --combine chrF Prism
  prism metaeval disagreements mqm_en-de.jsonl --metric chrf"""

COMMAND = Group(
    name="metaeval",
    help="which metric agrees best with people, and which difference is real",
    commands=(
        SWEEP,
        DISAGREEMENTS,
        BIAS,
        REFERENCES,
        Command("presets", "list the rules of the shared tasks", TableOptions, list_presets),
    ),
    default=Command("metaeval", "judge metrics against human judgments", MetaevalOptions, run, _EPILOG),
)
