"""`prism explain`: which pieces determine the score of a translation?"""

import json
import sys
from dataclasses import dataclass
from typing import Any, Literal

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.registry import make_metrics
from prism_mt.metrics.runtime import Runtime
from prism_mt.report.explain import explain


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(Config):
    """Options of `prism explain`."""

    reference: str = option("the reference; or, with --ref or --src, the output", positional=True)
    hypothesis: str | None = option("the output to compare with it", None, positional=True)
    ref: str | None = option("the reference", None, metavar="TEXT")
    src: str | None = option("the source, to explain Prism-src", None, metavar="TEXT")
    lang: str = option("language of the output: code or name", flags=("-l",), metavar="XX")
    src_lang: str = option("language of the source, if the model needs it", "", metavar="XX")
    format: Literal["text", "json"] = option("text for people, json for programs", "text")


def run(options: ExplainOptions, engine: EngineConfig, metric_options: dict[str, Any]) -> None:
    """Score in all directions and show every piece."""
    reference, hypothesis = _texts(options)
    [metric] = make_metrics(["prism-src" if options.src is not None else "prism-ref"], metric_options)
    found = explain(
        hypothesis,
        ref=reference,
        src=options.src,
        lang=options.lang,
        src_lang=options.src_lang,
        metric=metric,
        runtime=Runtime(engine),
    )
    if options.format == "json":
        print(json.dumps(found.to_dict(), ensure_ascii=False, indent=1))
    else:
        # In a pipe, lines must not be broken to fit a screen.
        found.write(sys.stdout, None if sys.stdout.isatty() else 100_000)


def _texts(options: ExplainOptions) -> tuple[str | None, str]:
    """Return the reference, if there is one, and the output."""
    first = None if options.hypothesis is None else options.reference
    given = sum(side is not None for side in (first, options.ref, options.src))
    if not given:
        raise PrismError("pass a reference and an output, or an output and --ref or --src")
    if given > 1:
        raise PrismError(
            "pass a reference or --src, not both" if options.src is not None else "pass one reference"
        )
    if options.hypothesis is None:
        return options.ref, options.reference
    return options.reference, options.hypothesis


COMMAND = Command(
    "explain",
    "Show every piece of a translation and of its reference with its log-probability given the other.",
    (ExplainOptions, EngineConfig),
    run,
    metrics=("prism-ref", "prism-src"),
    epilog="""examples:
  prism explain "Jason went to school at the University of Madrid." "Jason attended the University of Berlin." -l en
  prism explain --src "Jason ging in Madrid zur Schule." "Jason went to school in Madrid." -l en --format json
""",
)
