"""`prism metaeval`: which metric agrees best with humans, and which differences are significant?"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from prism_mt._core.arguments import Command, Group, flag
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option, suggestion
from prism_mt.cli.judged import JudgedOptions
from prism_mt.cli.metaeval_bias import BIAS
from prism_mt.cli.metaeval_disagreements import DISAGREEMENTS
from prism_mt.cli.metaeval_error_free import ERROR_FREE
from prism_mt.cli.metaeval_references import REFERENCES
from prism_mt.cli.metaeval_spans import SPANS
from prism_mt.cli.metaeval_submit import SUBMIT
from prism_mt.cli.metaeval_sweep import SWEEP
from prism_mt.cli.output import PlotOptions, TableOptions, write_tables, write_text
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.collect import JudgedMetrics
from prism_mt.evaluation.judge import Part
from prism_mt.evaluation.levels import Resampling
from prism_mt.evaluation.protocols import PROTOCOLS, SUITES, Level, Protocol, StatisticName, Suite, Test
from prism_mt.metrics.runtime import Runtime
from prism_mt.report.judging import Judging, judge_all, judge_all_parts, judge_suite
from prism_mt.report.table import Column, Table
from prism_mt.stats.correlation import Averaging
from prism_mt.stats.darr import TieRule


@dataclass(frozen=True, kw_only=True)
class MetaevalOptions(Config):
    """Options of `prism metaeval`."""

    judgments: list[Path] = option(
        "human judgments: TSV, JSONL, Google's MQM ratings, the shared tasks' csv files, or a directory of "
        "mt-metrics-eval",
        positional=True,
        metavar="JUDGMENTS",
    )
    level: Level | None = option("level of judgment (overrides the protocol's)", None)
    statistic: StatisticName | None = option("agreement statistic (overrides the protocol's)", None)
    average_over: Averaging | None = option("average correlations over segments or systems", None)
    test: Test | None = option("significance test (overrides the protocol's)", None)
    ties: TieRule | None = option("how daRR counts a metric's ties", None)
    split_by: Part | None = option("judge every domain or document separately, and average over them", None)
    exclude: list[str] = option("systems to leave out, such as known outliers", [], metavar="SYSTEM")
    intervals: bool = option("bootstrap intervals even if the test needs none", False)
    top: int | None = option("only the N best systems according to humans", None, metavar="N", low=2)
    drop_outliers: bool = option("leave out outlier systems", False)


def run(
    options: MetaevalOptions,
    resampling: Resampling,
    judged: JudgedOptions,
    output: TableOptions,
    plots: PlotOptions,
    engine: EngineConfig,
    metric_options: dict[str, Any],
) -> None:
    """Judge the metrics and print a table per language pair, then all pairs side by side."""
    protocol = _protocol(options, judged.rules, judged.suite)
    plots.check()
    metrics = judged.computed(metric_options)
    items = judged.load(options.judgments, judged.scores, Runtime(engine), metrics, protocol)
    items = [_selected(item, options) for item in items]
    if options.split_by is not None:
        write_tables(judge_all_parts(items, options.split_by, protocol, resampling).tables(), output)
        return
    if judged.suite is not None:
        write_tables(judge_suite(items, judged.suite, resampling).tables(), output)
        return
    intervals = options.intervals or bool(plots.plot and protocol.level != "systems")
    found = judge_all(items, protocol, resampling, intervals)
    write_text(found.to_text(output.format, output.width), output)
    plots.draw(partial(_plot, found))


def list_protocols(output: TableOptions) -> None:
    """Print the protocols, and the suites of several."""
    rows: list[tuple[str, str, str]] = [
        (name, protocol.description, protocol.level) for name, protocol in PROTOCOLS.items()
    ]
    rows += [(name, suite.description, "both") for name, suite in SUITES.items()]
    write_tables([Table((Column("protocol"), Column("rules"), Column("judges")), tuple(rows))], output)


def _protocol(options: MetaevalOptions, protocol: Protocol, suite: Suite | None) -> Protocol:
    """Apply the command line's overrides to the protocol."""
    changed = [
        flag(name)
        for name in ("level", "statistic", "average_over", "test", "ties", "split_by", "intervals")
        if getattr(options, name)
    ]
    if suite is not None and changed:
        raise PrismError(f"{suite.name} is several protocols: {changed[0]} goes with one of them")
    return replace(
        protocol,
        level=options.level or protocol.level,
        statistic=options.statistic or protocol.statistic,
        over=options.average_over or protocol.over,
        test=options.test or protocol.test,
        ties=options.ties or protocol.ties,
    )


def _selected(item: JudgedMetrics, options: MetaevalOptions) -> JudgedMetrics:
    judgments = item.judgments
    if unknown := [name for name in options.exclude if name not in judgments.systems]:
        raise PrismError(
            f"{judgments.place} has no system {unknown[0]}{suggestion(unknown[0], judgments.systems)}"
        )
    judgments = judgments.select(name for name in judgments.systems if name not in options.exclude)
    if options.drop_outliers:
        judgments = judgments.without_outliers()
    if options.top is not None:
        judgments = judgments.top_systems(options.top)
    if len(judgments.systems) < 2 and judgments.preferences is None:
        raise PrismError(f"{judgments.place}: fewer than 2 systems are judged, so nothing can be compared")
    return replace(item, judgments=judgments)


def _plot(found: Judging, path: Path) -> None:
    from prism_mt.report.agreement_plot import Scatter, plot_agreement

    parts = []
    for evaluation, item in zip(found.evaluations, found.judged, strict=True):
        judgments = item.judgments
        human = judgments.system_means()
        scatters = [
            Scatter(
                f"−{metric.metric}" if metric.lower_is_better else metric.metric,
                judgments.systems,
                human,
                metric.higher.align_systems(judgments.systems),
            )
            for metric in item.metrics
        ]
        parts.append((evaluation, scatters if (human == human).any() else []))
    plot_agreement(parts, path)


_EPILOG = """examples:
  prism metaeval mqm_en-de.jsonl --protocol wmt21-mqm --metric chrf bleu --scores comet.tsv
  prism metaeval mqm_en-de.jsonl --protocol wmt21-mqm --metric prism-ref --model mini finetuned/model
  prism metaeval wmt24 --pairs en-de ja-zh --reference refA --protocol wmt24 --metric prism-ref
  prism metaeval wmt24 --pairs en-de --reference refA --protocol wmt24-mqm --split-by domains
  prism metaeval DA-syslevel.csv --protocol wmt19-sys --scores BLEU.sys.score --plot figures.pdf
  prism metaeval sweep dev.jsonl --test test.jsonl --scores dev.tsv --test-scores test.tsv --combine chrF Prism
  prism metaeval disagreements mqm_en-de.jsonl --metric chrf"""

COMMAND = Group(
    name="metaeval",
    help="which metric agrees best with humans, and which differences are significant",
    commands=(
        SWEEP,
        DISAGREEMENTS,
        BIAS,
        REFERENCES,
        SPANS,
        ERROR_FREE,
        SUBMIT,
        Command("protocols", "list the shared tasks' protocols", (TableOptions,), list_protocols),
    ),
    default=Command(
        "metaeval",
        "judge metrics against human judgments",
        (MetaevalOptions, Resampling, JudgedOptions, TableOptions, PlotOptions, EngineConfig),
        run,
        _EPILOG,
        metrics=True,
    ),
)
