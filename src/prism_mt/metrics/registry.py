"""Metric registry: built-in metrics, those of other packages, learned ones in folders, and weighted sums.

A metric of another package registers itself when its module, named by an entry point in the group
`prism_mt.metrics`, is imported.
"""

import dataclasses
import importlib
import re
import typing
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata
from typing import Any, TypeVar

from prism_mt._core.arguments import parse_value
from prism_mt._core.errors import PrismError
from prism_mt._core.options import make, suggestion
from prism_mt.metrics.base import Metric

_BUILT_IN = ("prism", "sacrebleu", "bertscore", "sentence", "lm", "learned", "paraphrased", "embedded", "sentinel")
"""Modules of this package with metrics; a new metric is one file and one word here."""
ENTRY_POINTS = "prism_mt.metrics"

Kind = TypeVar("Kind", bound=type[Metric])
_METRICS: dict[str, type[Metric]] = {}
_OPTIONS = re.compile(r"(?P<name>[^\[\]]+)\[(?P<options>[^\[\]]*)\]")


def register(name: str) -> Callable[[Kind], Kind]:
    """Register a metric class under a name."""

    def add(kind: Kind) -> Kind:
        other = _METRICS.get(name)
        if other is not None and other.__qualname__ != kind.__qualname__:
            raise PrismError(f"two metrics are named {name}: {other.__module__} and {kind.__module__}")
        kind.name = name
        _METRICS[name] = kind
        return kind

    return add


@cache
def list_metrics() -> Mapping[str, type[Metric]]:
    """Import all metrics and return their classes by name."""
    for module in _BUILT_IN:
        importlib.import_module(f"prism_mt.metrics.{module}")
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # another package's module may raise anything on import
            raise PrismError(f"the metrics of {entry.value} cannot be imported: {error}") from error
    _check_options()
    return _METRICS


def option_fields() -> dict[str, tuple["dataclasses.Field[Any]", Any, tuple[str, ...]]]:
    """Return the options of all metrics by name: the field, its type, and the metrics that have it."""
    found: dict[str, tuple[dataclasses.Field[Any], Any, tuple[str, ...]]] = {}
    for name, kind in list_metrics().items():
        hints = typing.get_type_hints(kind)
        for one in dataclasses.fields(kind):
            if "help" in one.metadata:
                field, hint, owners = found.get(one.name, (one, hints[one.name], ()))
                found[one.name] = field, hint, (*owners, name)
    return found


def make_metric(text: "str | Metric", options: Mapping[str, Any] | None = None) -> Metric:
    """Make a metric from its name.

    Names are `chrf`, a folder written by `prism metric train` (`src:FOLDER` and `par:FOLDER` are variants), options in
    brackets as in `prism-ref[direction=forward]`, or a weighted sum such as `0.4*laser+0.6*lm`. Of the `options`, those
    apply that the metric has and the text does not set.
    """
    if isinstance(text, Metric):
        return text
    options = options or {}
    from prism_mt.metrics.combined import Combined, parse_terms
    from prism_mt.metrics.learned import parse_folder

    if terms := parse_terms(text):
        return Combined(terms=tuple((weight, make_metric(name, options)) for weight, name in terms))
    match = _OPTIONS.fullmatch(text)
    name, written = (match["name"], match["options"]) if match else (text, "")
    known = list_metrics()
    kind = known.get(name) or known.get(name.lower())
    given: dict[str, Any] = {}
    if kind is None:
        learned = parse_folder(name)
        if learned is None:
            raise PrismError(
                f"no metric and no folder of a learned metric is named {name!r}{suggestion(name, known)}"
            )
        kind, given = learned
    hints = typing.get_type_hints(kind)
    own = {field.name for field in dataclasses.fields(kind)}
    values = {key: value for key, value in options.items() if key in own}
    return make(kind, {**values, **given, **_parse_options(written, hints, text)}, text)


def make_metrics(
    given: "typing.Sequence[str | Metric]", options: Mapping[str, Any] | None = None
) -> tuple[Metric, ...]:
    """Return each metric once; an option that none of them has is an error that says which metrics have it."""
    found = tuple(dict.fromkeys(make_metric(one, options) for one in given))
    known = option_fields()
    for name in options or {}:
        if name not in known:
            raise PrismError(f"no metric has an option {name!r}{suggestion(name, known)}")
        if not any(has_option(metric, name) for metric in found):
            owners = known[name][2]
            missing = "which is not requested" if len(owners) == 1 else "and none of them is requested"
            raise PrismError(f"`{name}=` is an option of {', '.join(owners)}, {missing}")
    return found


def metric_labels(metrics: "typing.Sequence[Metric]") -> list[str]:
    """Name the metrics of one run; include the model where metrics differ only in it."""
    counts = Counter(metric.label for metric in metrics)
    return [metric.label if counts[metric.label] == 1 else metric.full_label for metric in metrics]


def has_option(metric: Metric, name: str) -> bool:
    """Whether a metric, or one inside it, has an option."""
    inner = [one for field in dataclasses.fields(metric) for one in _inner(getattr(metric, field.name))]
    return name in {field.name for field in dataclasses.fields(metric)} or any(has_option(m, name) for m in inner)


def _inner(value: Any) -> list[Metric]:
    if isinstance(value, Metric):
        return [value]
    return [metric for one in value for metric in _inner(one)] if isinstance(value, tuple) else []


def _parse_options(written: str, hints: Mapping[str, Any], text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in written.split(","))):
        key, separator, value = part.partition("=")
        if not separator:
            raise PrismError(f"{text}: write options as NAME=VALUE, not {part!r}")
        if key not in hints:
            raise PrismError(f"{text}: no option {key!r}{suggestion(key, hints)}")
        values[key] = parse_value(value, hints[key], f"{text}: {key}")
    return values


def _check_options() -> None:
    """Check that options of the same name are the same option: they share a flag."""
    first: dict[str, tuple[str, Any, str]] = {}
    for name, kind in _METRICS.items():
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            owner, hint, text = first.setdefault(
                field.name, (name, hints[field.name], field.metadata.get("help", ""))
            )
            if hint != hints[field.name] or text != field.metadata.get("help", ""):
                raise PrismError(
                    f"the option {field.name} of the metric {name} differs from that of {owner}: rename it"
                )
