"""What all commands of `prism metaeval` share: which judgments, which metrics, where the output goes."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prism_mt._core.arguments import option
from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt.cli.encoders import EncoderOptions
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.judgments import Judgments, MetricScores, add_texts
from prism_mt.evaluation.overlap import warn_of_overlap
from prism_mt.evaluation.protocols import PRESETS, Task, preset
from prism_mt.evaluation.readers import Request, read_judgments
from prism_mt.evaluation.readers.fields import first_line, stem
from prism_mt.evaluation.readers.scores import read_all_scores
from prism_mt.evaluation.scoring import make_metric, score_texts
from prism_mt.evaluation.sweep import find_metric, is_called
from prism_mt.metrics.base import Metric
from prism_mt.metrics.forced_decoding import LongPolicy
from prism_mt.metrics.prism import PrismOptions
from prism_mt.metrics.registry import ModelInUse, Setting, make_metrics
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.report.table import Format, Table, render_all


@dataclass
class TableOptions:
    """Where tables go."""

    format: Format = option("text for people, tsv and json for programs, latex and markdown for papers", "text")
    output: Path | None = option("write here instead of standard output", None, flags=("-o",), metavar="FILE")


@dataclass
class OutputOptions(TableOptions):
    """Where tables and pictures go."""

    plot: Path | None = option("also draw pictures; the ending (png, pdf, svg) says how", None, metavar="FILE")


def check_plot(options: OutputOptions) -> None:
    """Refuse a picture that cannot be drawn before the work begins."""
    if options.plot:
        from prism_mt.report.plots import check_plot_path

        check_plot_path(options.plot)


@dataclass
class MetricOptions(EncoderOptions, TableOptions):
    """Which metrics are judged, and on which language pairs."""

    scores: list[Path] = option(
        "metric scores: TSV (metric, lp, system, segment, score), .seg.score and .sys.score files or folders of "
        "them, submissions of the shared tasks, JSON",
        [],
        flags=("-s",),
        metavar="FILE",
    )
    metric: list[str] = option("metrics to compute from the texts", [], flags=("-m",), metavar="NAME")
    model: list[str] = option(
        "model of the computed metrics that need one; they are computed with each of several, as prism-ref:M",
        [DEFAULT_MODEL],
        metavar="M",
    )
    long: LongPolicy = option(
        "an output longer than the model's positions: stop, cut it off, or score windows", "error"
    )
    offline: bool = option("never use the network, not even for hf: models", False)
    select: list[str] = option("only these of the metrics in --scores", [], metavar="NAME")
    lower_is_better: list[str] = option("metrics in --scores that count errors", [], metavar="NAME")
    texts: Path | None = option("outputs and references of judgments that have none", None, metavar="FILE")
    reference: str | None = option("which reference, where there are several", None, metavar="NAME")
    pairs: list[str] = option("only these language pairs, such as en-de", [], metavar="LP")
    human_score: str | None = option("column or kind of human scores (raw, z, mqm)", None, metavar="NAME")
    humans: bool = option("judge human translations, too", False)
    preset: str | None = option(f"rules of a shared task: {', '.join(PRESETS)}", None, metavar="NAME")


@dataclass(frozen=True)
class Judged:
    """Judgments with the metrics that are judged by them."""

    judgments: Judgments
    metrics: list[MetricScores]


def task_of(options: MetricOptions, default: str = "wmt21-mqm") -> Task:
    """The preset's task."""
    return preset(options.preset or default)


def load(paths: Sequence[Path], scores: Sequence[Path], options: MetricOptions, task: Task) -> list[Judged]:
    """Judgments of all files with the metrics of their language pair, humans left out unless asked for."""
    pair = options.pairs[0] if len(options.pairs) == 1 else None
    sources = _texts(options, pair)
    found = []
    for path in paths:
        for judgments in read_judgments(path, Request(pair, options.pairs, _human_score(path, options, task))):
            if not options.humans:
                judgments = judgments.without_humans()
            if options.texts:
                judgments = add_texts(judgments, _matching(sources, judgments, options.texts))
            found.append(judgments)
    read = read_all_scores(scores, pair, options.pairs)
    for name in options.lower_is_better:
        if not any(is_called(metric, name) for metric in read):
            raise PrismError(f"--scores has no metric {name} that could count errors")
    turned = options.lower_is_better
    read = [_turned(metric) if any(is_called(metric, name) for name in turned) else metric for metric in read]
    several = {pair for pair, count in Counter(judgments.pair for judgments in found).items() if count > 1}
    if doubtful := several & {metric.pair for metric in read}:
        raise PrismError(
            f"there are several test sets of {', '.join(sorted(doubtful))}, and --scores do not say of which they are: "
            "judge one at a time"
        )
    models = models_of(options)
    return [Judged(judgments, _metrics_of(judgments, read, options, task, models)) for judgments in found]


def choose_reference(options: MetricOptions, judgments: Judgments, task: Task) -> str | None:
    """The reference asked for, the standard one of the task, or the first of the shared tasks' usual names."""
    if options.reference or judgments.texts is None:
        return options.reference
    known = judgments.texts.references
    usual = (task.reference(judgments.testset, judgments.pair), "ref", "ref-A", "refA", "Human-A.0")
    return next((name for name in usual if name in known), None)


def models_of(options: MetricOptions) -> list[ModelInUse]:
    """The models that metrics are computed with, each opened once for all language pairs."""
    return [ModelInUse(name, EngineConfig(offline=options.offline)) for name in options.model]


def computed_metrics(
    judgments: Judgments, options: MetricOptions, models: Sequence[ModelInUse]
) -> list[tuple[str, Metric]]:
    """The metrics that are computed, each with what it is called: where models make a difference, after its model."""
    made = [make_metrics(options.metric, _setting(judgments, options, model), make_metric) for model in models]
    found: list[tuple[str, Metric]] = []
    for versions in zip(*made, strict=True):
        if len({metric.signature() for metric in versions}) == 1:
            found.append((versions[0].name, versions[0]))
        else:
            found += [
                (f"{metric.name}:{model.name}", metric) for model, metric in zip(models, versions, strict=True)
            ]
    return found


def _setting(judgments: Judgments, options: MetricOptions, model: ModelInUse) -> Setting:
    """What the metrics of a language pair are built from; warns when the model learnt from what is to judge it."""
    if any("prism" in name for name in options.metric):
        warn_of_overlap(model.directory.judged, judgments, model.name)
    source, _, target = judgments.pair.partition("-")
    prism = PrismOptions(long=options.long)
    return Setting(target, source, model, prism, encoder=options.encoder, language_model=options.language_model)


def write_tables(tables: Sequence[Table], options: TableOptions) -> None:
    """Print tables, or write them to a file."""
    if options.output:
        with write_atomically(options.output) as handle:
            handle.write(render_all(tables, options.format))
        return
    width = os.get_terminal_size().columns if sys.stdout.isatty() else None
    sys.stdout.write(render_all(tables, options.format, width))


def _human_score(path: Path, options: MetricOptions, task: Task) -> str | None:
    """The kind asked for; otherwise the preset's, in a table that has it."""
    if (
        options.human_score
        or task.human_score is None
        or path.is_dir()
        or stem(path).endswith((".jsonl", ".json"))
    ):
        return options.human_score
    return task.human_score if task.human_score in first_line(path).lower().split() else None


def _texts(options: MetricOptions, pair: str | None) -> list[Judgments]:
    return read_judgments(options.texts, Request(pair, options.pairs)) if options.texts else []


def _matching(sources: Sequence[Judgments], judgments: Judgments, path: Path) -> Judgments:
    found = [source for source in sources if source.pair == judgments.pair]
    if not found:
        raise PrismError(f"{path} has no texts of {judgments.pair}")
    found = [source for source in found if source.testset == judgments.testset] or found
    if len(found) > 1:
        raise PrismError(
            f"{path} has texts of several test sets of {judgments.pair}, none called {judgments.testset}"
        )
    return found[0]


def _metrics_of(
    judgments: Judgments,
    read: Sequence[MetricScores],
    options: MetricOptions,
    task: Task,
    models: Sequence[ModelInUse],
) -> list[MetricScores]:
    """Metrics from files first, then those that are computed."""
    here = [metric for metric in read if metric.pair == judgments.pair]
    if options.select and here:
        here = [find_metric(here, name) for name in options.select]
    reference = choose_reference(options, judgments, task)
    only_judged = task.level != "systems"
    for name, metric in computed_metrics(judgments, options, models):
        here.append(replace(score_texts(metric, judgments, reference, only_judged), metric=name))
    return here


def _turned(metric: MetricScores) -> MetricScores:
    """Error counts as scores of which higher ones are better."""
    own = None if metric.system_scores is None else -metric.system_scores
    return replace(metric, scores=-metric.scores, system_scores=own)
