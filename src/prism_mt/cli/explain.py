"""`prism explain`: which pieces make the score of one translation?"""

import sys
from dataclasses import dataclass

from prism_mt._core.arguments import Command, option
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import Segment
from prism_mt.metrics.prism import PrismOptions
from prism_mt.metrics.registry import ModelInUse, Setting, make_metric
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.report.explain import write_explanation
from prism_mt.text.lines import check_unicode


@dataclass
class ExplainOptions:
    """Options of `prism explain`."""

    reference: str = option("the reference", positional=True)
    hypothesis: str = option("the output that is compared with it", positional=True)
    lang: str = option("language of both: code or name", flags=("-l",), metavar="XX")
    model: str = option("model, as for `prism score`", DEFAULT_MODEL, metavar="M")


def run(options: ExplainOptions, engine: EngineConfig) -> None:
    """Score the pair in both directions and show every piece."""
    for name in ("reference", "hypothesis"):
        check_unicode(getattr(options, name), f"the {name}")
    model = ModelInUse(options.model, engine)
    metric = make_metric("prism-ref", Setting(options.lang, None, model, PrismOptions(tokens=True)))
    [result] = metric.score([Segment(options.hypothesis, (options.reference,))])
    # In a pipe nothing is to be broken into lines that fit a screen.
    write_explanation(result, metric.signature(), sys.stdout, None if sys.stdout.isatty() else 100_000)


COMMAND = Command(
    "explain",
    "Show every piece of a translation and of its reference with its log-probability given the other.",
    (ExplainOptions, EngineConfig),
    run,
    epilog="""example:
  prism explain "Jason went to school at the University of Madrid." "Jason attended the University of Berlin." -l en
""",
)
