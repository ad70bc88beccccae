"""`prism metaeval spans`: do error spans agree with known errors?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.cli.output import TableOptions, write_tables
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.readers.challenge_sets import BUILTIN, read_texts
from prism_mt.evaluation.readers.span_annotations import read_annotations
from prism_mt.evaluation.spans import judge_annotations, judge_perturbations
from prism_mt.metrics.registry import make_metrics
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.spans.scorer import check_errors
from prism_mt.report.spans import kinds_table, spans_table


@dataclass(frozen=True, kw_only=True)
class SpanOptions(Config):
    """Options of `prism metaeval spans`."""

    annotations: list[Path] = option(
        "outputs with marked errors: Google's MQM ratings with <v> marks, folders of mt-metrics-eval, JSONL "
        "(default: synthetic errors)",
        [],
        positional=True,
        metavar="ANNOTATIONS",
    )
    metric: str = option("metric whose spans are judged", "prism-ref", flags=("-m",), metavar="NAME")
    texts: Path | None = option(
        "texts to perturb: plain, or JSONL with a text per language code (default: 24 sentences in 39 languages)",
        None,
        metavar="FILE",
    )
    lang: list[str] = option("only these languages", [], flags=("-l",), metavar="XX")
    src_lang: str = option("language of the sources of perturbed texts", "en", metavar="XX")
    segments: int | None = option("only the first N texts", None, metavar="N", low=1)
    pairs: list[str] = option("only these language pairs of the annotations", [], metavar="LP")
    reference: str | None = option("which reference to use, if there are several", None, metavar="NAME")
    seed: int = option("random seed", 0, metavar="N", low=0)


def run(options: SpanOptions, output: TableOptions, engine: EngineConfig, metric_options: dict[str, Any]) -> None:
    """Find errors and compare them with the known ones."""
    [metric] = make_metrics([options.metric], metric_options)
    check_errors([metric])
    runtime = Runtime(engine)
    if options.annotations:
        if options.texts:
            raise PrismError("give annotations or --texts, not both")
        judged = read_annotations(options.annotations, options.pairs)
        results = [judge_annotations(one, metric, runtime, options.reference, options.seed) for one in judged]
        write_tables([spans_table(results, metric.label, "test set")], output)
        return
    texts = {
        language: own[: options.segments]
        for language, own in read_texts(options.texts or BUILTIN, options.lang).items()
    }
    [model] = metric.models
    known = runtime.model(model).spec.languages
    languages = options.lang or [language for language in texts if language in known]
    results = judge_perturbations(texts, languages, metric, runtime, source=options.src_lang, seed=options.seed)
    write_tables([spans_table(results, metric.label, "language"), kinds_table(results, metric.label)], output)


SPANS = Command(
    "spans",
    "compare error spans with synthetic errors, or with errors that people marked",
    (SpanOptions, TableOptions, EngineConfig),
    run,
    metrics=True,
    epilog="""examples:
  prism metaeval spans --texts flores.jsonl --segments 50
  prism metaeval spans mqm_generalMT2022_ende.tsv --pairs en-de --reference refA
""",
)
