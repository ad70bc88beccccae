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
from prism_mt.evaluation.judge import DEFAULT_PROTOCOL
from prism_mt.evaluation.judgments import Judgments, add_texts
from prism_mt.evaluation.overlap import warn_of_overlap
from prism_mt.evaluation.protocols import PROTOCOLS, Protocol, get_protocol
from prism_mt.evaluation.readers import read_all_judgments
from prism_mt.evaluation.readers.scores import read_all_scores, read_scores
from prism_mt.evaluation.references import choose_reference
from prism_mt.evaluation.scoring import TextScorer, score_texts
from prism_mt.evaluation.sweep import find_metric, is_called
from prism_mt.metrics.forced_decoding import LongPolicy
from prism_mt.metrics.prism import PrismOptions
from prism_mt.metrics.registry import ModelInUse, Setting, make_metric, make_metrics
from prism_mt.metrics.scores import MetricScores
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
    preset: str | None = option(f"rules of a shared task: {', '.join(PROTOCOLS)}", None, metavar="NAME")


@dataclass(frozen=True)
class Judged:
    """Judgments with the metrics that are judged by them."""

    judgments: Judgments
    metrics: list[MetricScores]
    reference: str | None = None


def protocol_of(options: MetricOptions) -> Protocol:
    """The protocol of the preset."""
    return get_protocol(options.preset or DEFAULT_PROTOCOL)


def load(
    paths: Sequence[Path], scores: Sequence[Path], options: MetricOptions, protocol: Protocol
) -> list[Judged]:
    """Judgments of all files with the metrics of their language pair, humans left out unless asked for."""
    pair = options.pairs[0] if len(options.pairs) == 1 else None
    sources = read_all_judgments([options.texts], pairs=options.pairs) if options.texts else []
    found: list[tuple[Judgments, Path | None]] = []
    for path in paths:
        for judgments in read_all_judgments(
            [path], pairs=options.pairs, human_score=options.human_score, prefer=protocol.human_scores
        ):
            if not options.humans:
                judgments = judgments.without_humans()
            if options.texts:
                judgments = add_texts(judgments, _matching(sources, judgments, options.texts))
            found.append((judgments, path if path.is_dir() else None))
    read = read_all_scores(scores, pair, options.pairs, options.reference)
    for name in options.lower_is_better:
        if not any(is_called(metric, name) for metric in read):
            raise PrismError(f"--scores has no metric {name} that could count errors")
    lower = options.lower_is_better
    read = [replace(metric, lower_is_better=any(is_called(metric, name) for name in lower)) for metric in read]
    several = {pair for pair, count in Counter(judgments.pair for judgments, _ in found).items() if count > 1}
    if doubtful := several & {metric.pair for metric in read}:
        raise PrismError(
            f"there are several test sets of {', '.join(sorted(doubtful))}, and --scores do not say of which they are: "
            "judge one at a time"
        )
    models = models_of(options)
    return [_judged(judgments, folder, read, options, protocol, models) for judgments, folder in found]


def reference_of(options: MetricOptions, judgments: Judgments, protocol: Protocol, needed: bool) -> str | None:
    """The reference asked for or the standard one; None where no metric needs one and there is no choice."""
    if not needed and (judgments.texts is None or options.reference is None):
        return None
    return choose_reference(judgments, options.reference, protocol)


def models_of(options: MetricOptions) -> list[ModelInUse]:
    """The models that metrics are computed with, each opened once for all language pairs."""
    return [ModelInUse(name, options.offline, cached=True) for name in options.model]


def computed_metrics(
    judgments: Judgments, options: MetricOptions, models: Sequence[ModelInUse]
) -> list[TextScorer]:
    """The metrics that are computed, each with what it is called: where models make a difference, after its model."""
    made = [make_metrics(options.metric, _setting(judgments, options, model), make_metric) for model in models]
    found: list[TextScorer] = []
    for versions in zip(*made, strict=True):
        if len({metric.signature() for metric in versions}) == 1:
            found.append(TextScorer.of(versions[0]))
        else:
            found += [
                TextScorer.of(metric, f"{metric.name}:{model.name}")
                for model, metric in zip(models, versions, strict=True)
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


def _matching(sources: Sequence[Judgments], judgments: Judgments, path: Path) -> Judgments:
    found = [source for source in sources if source.pair == judgments.pair]
    if not found:
        raise PrismError(f"{path} has no texts of {judgments.pair}")
    found = [source for source in found if source.name == judgments.name] or found
    if len(found) > 1:
        raise PrismError(
            f"{path} has texts of several test sets of {judgments.pair}, none called {judgments.name}"
        )
    return found[0]


def _judged(
    judgments: Judgments,
    folder: Path | None,
    read: Sequence[MetricScores],
    options: MetricOptions,
    protocol: Protocol,
    models: Sequence[ModelInUse],
) -> Judged:
    """Metrics from files first, then those of a folder of mt-metrics-eval, then those that are computed."""
    computed = computed_metrics(judgments, options, models)
    reference = reference_of(options, judgments, protocol, any("ref" in metric.needs for metric in computed))
    here = [metric for metric in read if metric.pair == judgments.pair]
    if folder is not None and (folder / "metric-scores" / judgments.pair).is_dir():
        here += read_scores(folder, pairs=(judgments.pair,), reference=reference)
    if options.select and here:
        here = [find_metric(here, name) for name in options.select]
    only_judged = protocol.level != "systems"
    here += [score_texts(metric, judgments, reference, only_judged) for metric in computed]
    return Judged(judgments, here, reference)
