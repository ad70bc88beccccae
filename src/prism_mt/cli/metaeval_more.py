"""`prism metaeval sweep`, `disagreements` and `bias`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.arguments import Command, option
from prism_mt._core.errors import PrismError
from prism_mt.cli.metaeval_data import (
    MetricOptions,
    OutputOptions,
    check_plot,
    choose_reference,
    load,
    task_of,
    write_tables,
)
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.bias import (
    Paraphrase,
    read_paraphrases,
    score_by_bleu,
    score_paraphrases,
    summarise,
    with_beams,
    with_copies,
)
from prism_mt.evaluation.disagreements import disagreements
from prism_mt.evaluation.sweep import sweep
from prism_mt.generate.generator import Generator
from prism_mt.generate.options import SearchConfig
from prism_mt.metrics.prism import PrismOptions
from prism_mt.metrics.registry import ModelInUse, Setting, make_metric
from prism_mt.report.metaeval import bias_table, bins_table, disagreement_tables, sweep_table


@dataclass(kw_only=True)
class SweepOptions(MetricOptions, OutputOptions):
    """Options of `prism metaeval sweep`."""

    judgments: list[Path] = option("development judgments", positional=True, metavar="JUDGMENTS")
    test: list[Path] = option("test judgments", [], metavar="JUDGMENTS")
    test_scores: list[Path] = option("metric scores of the test judgments", [], metavar="FILE")
    combine: list[str] = option("the metrics to combine (default: all)", [], metavar="NAME")
    steps: int = option("weights are multiples of 1/N", 20, metavar="N")
    standardise: bool = option("give all metrics the same spread on the development judgments first", False)


def run_sweep(options: SweepOptions) -> None:
    """Tune a linear combination on the development judgments, and show it on the test judgments."""
    if options.steps < 1:
        raise PrismError("--steps must be at least 1")
    check_plot(options)
    task = task_of(options)
    dev = load(options.judgments, options.scores, options, task)
    test = load(options.test, options.test_scores, options, task) if options.test else []
    names = options.combine or [metric.metric for metric in dev[0].metrics]
    found = sweep(
        names,
        [(item.judgments, item.metrics) for item in dev],
        [(item.judgments, item.metrics) for item in test],
        task,
        options.steps,
        options.standardise,
    )
    write_tables([sweep_table(found)], options)
    if options.plot:
        from prism_mt.report.plots import plot_sweep

        plot_sweep(found, options.plot)


@dataclass(kw_only=True)
class DisagreementOptions(MetricOptions):
    """Options of `prism metaeval disagreements`."""

    judgments: list[Path] = option("human judgments", positional=True, metavar="JUDGMENTS")
    count: int = option("how many outputs each way", 10, flags=("-n",), metavar="N")


def run_disagreements(options: DisagreementOptions) -> None:
    """Print the outputs on which people and the first metric differ most, with all metrics side by side."""
    task = task_of(options)
    tables = []
    for item in load(options.judgments, options.scores, options, task):
        if not item.metrics:
            raise PrismError(f"{item.judgments.pair}: name a metric with --metric or --scores")
        reference = choose_reference(options, item.judgments, task)
        found = disagreements(item.judgments, item.metrics, options.count, reference)
        names = [metric.metric for metric in item.metrics]
        tables += disagreement_tables(found, names, item.judgments.place)
    write_tables(tables, options)


@dataclass(kw_only=True)
class BiasOptions(OutputOptions):
    """Options of `prism metaeval bias`."""

    paraphrases: list[Path] = option(
        "tables of references and texts: columns reference, hypothesis, kind (beam, copy, human) and score; "
        "or reference and one column per paraphrase",
        positional=True,
        metavar="FILE",
    )
    model: list[str] = option(
        "paraphrase the references with these models and score all texts with them (default: the tables' scores)",
        [],
        metavar="M",
    )
    beam: int = option("beams of the paraphrasing", 5, metavar="B")
    language: str = option("language of the texts", "en", flags=("-l",), metavar="LANG")
    offline: bool = option("never use the network, not even for hf: models", False)


def run_bias(options: BiasOptions) -> None:
    """Print what models think of their own output, of copies and of people's paraphrases."""
    check_plot(options)
    if options.model:
        texts = with_copies([item for path in options.paraphrases for item in read_paraphrases(path)])
        models = {
            name: _judge(texts, ModelInUse(name, EngineConfig(offline=options.offline)), options)
            for name in options.model
        }
    else:
        models = {path.name.split(".")[0]: read_paraphrases(path) for path in options.paraphrases}
        if len(models) < len(options.paraphrases):
            raise PrismError(
                "a model is called as its file is up to the first dot: give the files different names"
            )
    bins = {name: score_by_bleu([item for item in items if item.kind != "copy"]) for name, items in models.items()}
    write_tables(
        [bias_table({name: summarise(items) for name, items in models.items()}), bins_table(bins)], options
    )
    if options.plot:
        from prism_mt.report.plots import plot_bins

        plot_bins(bins, options.plot)


def _judge(texts: list[Paraphrase], model: ModelInUse, options: BiasOptions) -> list[Paraphrase]:
    """A model's scores of the texts and of its own best paraphrases, in the direction in which it generates."""

    def beams(references: list[str]) -> Iterator[str]:
        generator = Generator(model.directory, model.config, SearchConfig(beam=options.beam))
        route = generator.route(options.language, options.language)
        return (hypotheses[0].text for hypotheses in generator.generate(references, route))

    setting = Setting(options.language, None, model, PrismOptions(direction="forward"))
    return score_paraphrases(with_beams(texts, beams), make_metric("prism-ref", setting))


SWEEP = Command("sweep", "tune a linear combination of metrics", SweepOptions, run_sweep)
DISAGREEMENTS = Command(
    "disagreements", "outputs that people and metrics see differently", DisagreementOptions, run_disagreements
)
BIAS = Command("bias", "does a paraphraser prefer to copy?", BiasOptions, run_bias)
