"""Metric options as flags: a command that computes any metric has the options of all registered ones."""

import argparse
from collections.abc import Sequence
from typing import Any

from prism_mt._core.arguments import argument, flag
from prism_mt.metrics.base import Metric
from prism_mt.metrics.registry import has_option, make_metric, make_metrics, option_fields

METRIC_HELP = (
    "metrics (`prism metrics` lists them), options in brackets as in prism-ref[direction=forward]; the folder of a "
    "learned metric, src:FOLDER or par:FOLDER; or a sum such as 0.4*laser+0.6*lm "
    "(default: prism-ref with --ref, prism-src with --src)"
)
_TITLE = "metric options"


def add_metric_options(
    parser: argparse.ArgumentParser, taken: set[str], metrics: Sequence[str] | None = None
) -> None:
    """Add a flag for each option of some metrics, or of all; options not given keep each metric's own default."""
    group = parser.add_argument_group(_TITLE)
    for name, (field, hint, every_owner) in option_fields().items():
        owners = [owner for owner in every_owner if metrics is None or owner in metrics]
        if name in taken or not owners:
            continue
        arguments = argument(field, hint) | {"required": False, "default": None}
        if hint in (bool, bool | None):
            arguments = {"help": arguments["help"], "default": None, "action": argparse.BooleanOptionalAction}
        elif not arguments.get("choices") and not arguments["metavar"]:
            arguments["metavar"] = name.upper()  # argparse would take it from `dest`
        arguments["help"] += f" [{', '.join(owners)}]"
        group.add_argument(flag(name), *field.metadata["flags"], dest=f"metric.{name}", **arguments)


def given_metric_options(namespace: argparse.Namespace) -> dict[str, Any]:
    """Return the metric options given, by name."""
    prefix = "metric."
    return {
        key.removeprefix(prefix): value
        for key, value in vars(namespace).items()
        if key.startswith(prefix) and value is not None
    }


def metrics_of_models(
    names: Sequence[str], models: Sequence[str], metric_options: dict[str, Any]
) -> tuple[Metric, ...]:
    """Create metrics; those that need a model once per model."""
    make_metrics(names, metric_options)  # an option that none of them has is an error
    found = []
    for name in names:
        for model in models if has_option(make_metric(name), "model") else models[:1]:
            found.append(make_metric(name, {**metric_options, "model": model}))
    return tuple(dict.fromkeys(found))
