"""`prism challenge`: does a metric notice errors of every kind?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.arguments import Command
from prism_mt._core.options import Config, option
from prism_mt.cli.metric_options import metrics_of_models
from prism_mt.cli.output import PlotOptions, TableOptions, write_text
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.report.challenge import challenge
from prism_mt.text.perturb import KINDS, Kind


@dataclass(frozen=True, kw_only=True)
class ChallengeOptions(Config):
    """Options of `prism challenge`."""

    files: list[str] = option(
        "challenge sets in DEMETR's (JSON) or ACES' (TSV) format, or `builtin` for perturbed references",
        positional=True,
        metavar="FILE|builtin",
    )
    metric: list[str] = option("metrics, as for `prism score`", ["prism-ref"], flags=("-m",), metavar="NAME")
    model: list[str] = option(
        "model for the metrics that need one; several are compared", [DEFAULT_MODEL], metavar="M"
    )
    texts: Path | None = option(
        "with builtin: references to perturb, plain text or JSONL with a text per language code "
        "(default: 24 sentences in 39 languages)",
        None,
        metavar="FILE",
    )
    lang: list[str] = option("with builtin: only these languages", [], flags=("-l",), metavar="XX")
    src_lang: str = option("with builtin: language of the sources", "en", metavar="XX")
    kind: list[Kind] = option("with builtin: only these kinds of errors", list(KINDS))
    segments: int | None = option("with builtin: only the first N references", None, metavar="N", low=1)
    seed: int = option("with builtin: random seed", 0, metavar="N", low=0)


def run(
    options: ChallengeOptions,
    output: TableOptions,
    plots: PlotOptions,
    engine: EngineConfig,
    metric_options: dict[str, Any],
) -> None:
    """Score both sides of every contrast, and print accuracy by phenomenon and language."""
    plots.check()
    found = challenge(
        options.files,
        metrics_of_models(options.metric, options.model, metric_options),
        texts=options.texts,
        languages=options.lang,
        src_lang=options.src_lang,
        kinds=options.kind,
        segments=options.segments,
        seed=options.seed,
        runtime=Runtime(engine),
    )
    write_text(found.to_text(output.format, output.width), output)
    plots.draw(found.plot)


COMMAND = Command(
    "challenge",
    "Count how often a metric prefers a good translation to one with a known error, by kind of error.",
    (ChallengeOptions, TableOptions, PlotOptions, EngineConfig),
    run,
    metrics=True,
    epilog="""examples:
  prism challenge builtin --metric prism-ref prism-src chrf
  prism challenge builtin --texts references.txt --lang de --model mini finetuned/model --plot kinds.png
  prism challenge builtin --texts flores.jsonl --lang de fr zh --kind number negation
  prism challenge demetr/dataset/*.json --metric prism-ref bleu
""",
)
