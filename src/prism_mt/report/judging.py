"""Judging metrics: the function `prism_mt.judge` and its results."""

from collections.abc import Sequence
from dataclasses import dataclass

from prism_mt._core.errors import PrismError
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.collect import JudgedMetrics, add_metrics
from prism_mt.evaluation.judge import (
    DEFAULT_PROTOCOL,
    Evaluation,
    Part,
    average_suite,
    judge_parts,
    judge_scores,
    pooled_accuracy,
)
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.levels import Resampling
from prism_mt.evaluation.protocols import Protocol, Suite, get_protocol
from prism_mt.metrics.base import Metric
from prism_mt.metrics.registry import make_metrics
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.scores import MetricScores
from prism_mt.report.metaeval import evaluation_table, overview_table, parts_table, suite_table
from prism_mt.report.table import Column, Format, Table, number, render_all


@dataclass(frozen=True, eq=False)
class Judging:
    """How well metrics agree with humans, on one or more test sets."""

    judged: tuple[JudgedMetrics, ...]
    evaluations: tuple[Evaluation, ...]

    def tables(self) -> list[Table]:
        """Return a table per test set, then all of them side by side."""
        found = [evaluation_table(evaluation) for evaluation in self.evaluations]
        if len(self.evaluations) > 1:
            found.append(overview_table(list(self.evaluations)))
            if self.evaluations[0].protocol.level == "systems":
                found.append(_pooled_table(self.judged))
        return found

    def to_text(self, format: Format = "text", width: int | None = None) -> str:
        """Render the tables."""
        return render_all(self.tables(), format, width)

    def __repr__(self) -> str:
        return self.to_text().rstrip("\n")


@dataclass(frozen=True, eq=False)
class SuiteJudging:
    """How well metrics agree with humans under all protocols of a suite."""

    suite: Suite
    tasks: tuple[Judging, ...]

    def tables(self) -> list[Table]:
        """Return the mean over the suite first, then the tables of every protocol."""
        judged = [(item.judgments, item.metrics) for item in self.tasks[0].judged]
        tasks = [task.evaluations for task in self.tasks]
        found = [suite_table(self.suite, tasks, average_suite(judged, tasks))]
        return found + [table for task in self.tasks for table in task.tables()]


@dataclass(frozen=True, eq=False)
class PartsJudging:
    """How well metrics agree with humans on every domain or document."""

    split_by: Part
    parts: tuple[tuple[Evaluation, ...], ...]
    """Evaluations of the parts of every test set."""

    def tables(self) -> list[Table]:
        """Return a table per test set, with the mean over its parts."""
        return [parts_table(found, self.split_by.removesuffix("s")) for found in self.parts]


def judge(
    judgments: Judgments | Sequence[Judgments],
    metrics: Sequence[str | Metric | MetricScores],
    *,
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    reference: str | None = None,
    humans: bool = False,
    draws: int = 1000,
    seed: int = 1,
    alpha: float = 0.05,
    intervals: bool = False,
    config: EngineConfig | None = None,
    runtime: Runtime | None = None,
) -> Judging:
    """Judge metrics against human judgments, by the rules of a shared task.

    `metrics` are names or metric objects, computed from the texts of the judgments, or existing scores. `reference`
    chooses one of several. Human translations are judged only with `humans`.
    """
    rules = get_protocol(protocol)
    given = [judgments] if isinstance(judgments, Judgments) else list(judgments)
    if not given:
        raise PrismError("there are no judgments")
    read = [one for one in metrics if isinstance(one, MetricScores)]
    computed = make_metrics([one for one in metrics if not isinstance(one, MetricScores)])
    items = [JudgedMetrics(one if humans else one.without_humans(), []) for one in given]
    judged = add_metrics(items, read, computed, runtime or Runtime(config), rules, reference=reference)
    return judge_all(judged, rules, Resampling(draws, seed, alpha), intervals)


def judge_all(
    judged: Sequence[JudgedMetrics], protocol: Protocol, resampling: Resampling, intervals: bool = False
) -> Judging:
    """Judge the metrics of every test set."""
    evaluations = tuple(
        judge_scores(
            item.judgments,
            item.metrics,
            protocol=protocol,
            resampling=resampling,
            intervals=intervals,
            reference=item.reference,
        )
        for item in judged
    )
    return Judging(tuple(judged), evaluations)


def judge_suite(judged: Sequence[JudgedMetrics], suite: Suite, resampling: Resampling) -> SuiteJudging:
    """Judge the metrics by every protocol of a suite."""
    return SuiteJudging(suite, tuple(judge_all(judged, protocol, resampling) for protocol in suite.protocols))


def judge_all_parts(
    judged: Sequence[JudgedMetrics], split_by: Part, protocol: Protocol, resampling: Resampling
) -> PartsJudging:
    """Judge the metrics on every domain or document of every test set."""
    found = [
        judge_parts(
            item.judgments,
            item.metrics,
            split_by,
            protocol=protocol,
            resampling=resampling,
            reference=item.reference,
        )
        for item in judged
    ]
    return PartsJudging(split_by, tuple(map(tuple, found)))


def _pooled_table(judged: Sequence[JudgedMetrics]) -> Table:
    """Accuracy over system pairs, pooled over all language pairs, as in the shared tasks."""
    found = pooled_accuracy((item.judgments, item.metrics) for item in judged)
    rows = tuple((one.metric, one.accuracy, one.pairs) for one in found)
    columns = (Column("metric"), number("accuracy"), number("pairs", 0))
    return Table(columns, rows, "Pairwise accuracy over systems, all language pairs pooled")
