"""`prism metaeval bias`: does a paraphraser prefer copies?"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.cli.output import PlotOptions, TableOptions, write_tables
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.bias import (
    Paraphrase,
    outputs_as_paraphrases,
    read_paraphrases,
    score_by_bleu,
    score_paraphrases,
    summarize,
    with_beams,
    with_copies,
)
from prism_mt.evaluation.readers import read_all_judgments
from prism_mt.evaluation.references import choose_reference
from prism_mt.generate.options import SearchConfig
from prism_mt.generate.texts import open_paraphraser
from prism_mt.metrics.base import Languages
from prism_mt.metrics.prism import PrismRef
from prism_mt.metrics.runtime import Runtime
from prism_mt.report.metaeval import bias_table, bins_table
from prism_mt.report.plots import plot_bins


@dataclass(frozen=True, kw_only=True)
class BiasOptions(Config):
    """Options of `prism metaeval bias`."""

    paraphrases: list[Path] = option(
        "tables of references and texts: columns reference, hypothesis, kind (beam, copy, human) and score; "
        "or reference and one column per paraphrase",
        [],
        positional=True,
        metavar="FILE",
    )
    judgments: list[Path] = option(
        "judgments with texts, such as a WMT test set: score all system outputs with --model, generating nothing",
        [],
        metavar="FILE",
    )
    reference: str | None = option("which reference of --judgments, if there are several", None, metavar="NAME")
    model: list[str] = option(
        "paraphrase the references with these models and score all texts with them (default: the tables' scores)",
        [],
        metavar="M",
    )
    beam: int = option("beam size for paraphrasing", 5, metavar="B", low=1)
    lang: str = option("language of the texts", "en", flags=("-l",), metavar="LANG")


def run(options: BiasOptions, output: TableOptions, plots: PlotOptions, engine: EngineConfig) -> None:
    """Print how models score their own output, copies, and human paraphrases."""
    plots.check()
    if bool(options.judgments) == bool(options.paraphrases):
        raise PrismError("pass either tables of paraphrases or `judgments=`")
    if options.judgments and not options.model:
        raise PrismError("outputs of judged systems have no scores yet: set `model=`")
    if options.model:
        texts = _outputs(options) if options.judgments else _tables(options)
        runtime = Runtime(engine)
        models = {name: _judge(texts, name, runtime, options) for name in options.model}
    else:
        models = {path.name.split(".")[0]: read_paraphrases(path) for path in options.paraphrases}
        if len(models) < len(options.paraphrases):
            raise PrismError(
                "a model is named after its file, up to the first dot: give the files different names"
            )
    bins = {name: score_by_bleu([item for item in items if item.kind != "copy"]) for name, items in models.items()}
    write_tables(
        [bias_table({name: summarize(items) for name, items in models.items()}), bins_table(bins)], output
    )
    plots.draw(partial(plot_bins, bins))


def _tables(options: BiasOptions) -> list[Paraphrase]:
    return with_copies([item for path in options.paraphrases for item in read_paraphrases(path)])


def _outputs(options: BiasOptions) -> list[Paraphrase]:
    """The outputs of all judged systems, as texts of all degrees of similarity to the reference."""
    read = read_all_judgments(options.judgments)
    return [
        one for item in read for one in outputs_as_paraphrases(item, choose_reference(item, options.reference))
    ]


def _judge(texts: list[Paraphrase], model: str, runtime: Runtime, options: BiasOptions) -> list[Paraphrase]:
    """Score the texts and the model's own best paraphrases, in the direction of generation."""

    def beams(references: list[str]) -> Iterator[str]:
        search = SearchConfig(method="beam", beam=options.beam)
        opened = open_paraphraser(lang=options.lang, model=model, search=search, config=runtime.config)
        return (hypotheses[0].text for hypotheses in opened.nbest(references))

    scorer = PrismRef(model=model, direction="forward").open(runtime, Languages(options.lang))
    return score_paraphrases(texts if options.judgments else with_beams(texts, beams), scorer)


BIAS = Command(
    "bias", "does a paraphraser prefer copies?", (BiasOptions, TableOptions, PlotOptions, EngineConfig), run
)
