"""Reference pages made from the code: commands, options, metrics, protocols, configurations, models, Python.

The pages walk the dataclasses that also make the flags, the TOML keys and the keyword arguments, so that an option
is described once, where it is declared.
"""

import dataclasses
import importlib
import inspect
import re
import textwrap
import typing
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from option_tables import code, documented, prose, shown_default, shown_flags, shown_help, shown_values, table

import prism_mt
from prism_mt._core.arguments import Command
from prism_mt._core.options import default_of
from prism_mt.cli.main import COMMANDS
from prism_mt.corpus.config import CorpusConfig
from prism_mt.corpus.steps.registry import KINDS
from prism_mt.evaluation.protocols import PROTOCOLS, SUITES
from prism_mt.metrics.base import Metric
from prism_mt.metrics.registry import list_metrics, option_fields
from prism_mt.models.zoo import CATALOG, KnownModel
from prism_mt.training.ranking.config import FinetuneConfig
from prism_mt.training.regression.config import MetricConfig
from prism_mt.training.translation.config import TrainConfig

_MADE = "<!-- made by tools/make_reference.py -->"
_CONFIGURATIONS: tuple[tuple[str, type[Any]], ...] = (
    ("prism corpus prepare", CorpusConfig),
    ("prism train", TrainConfig),
    ("prism finetune", FinetuneConfig),
    ("prism metric train", MetricConfig),
)


def all_commands() -> Iterator[tuple[str, Command]]:
    """Yield every command with the words that call it, such as `models list`."""
    for name in COMMANDS:
        found = importlib.import_module(f"prism_mt.cli.{name}").COMMAND
        if isinstance(found, Command):
            yield found.name, found
            continue
        if found.default:
            yield found.name, found.default
        yield from ((f"{found.name} {command.name}", command) for command in found.commands)


@cache
def shared_options() -> list[type[Any]]:
    """Return the option classes with a heading of their own or of several commands, each described once."""
    kinds = [kind for _, command in all_commands() for kind in command.options]
    several = [kind for kind in kinds if kinds.count(kind) > 1 and any(documented(kind))]
    return sorted(dict.fromkeys(several), key=_shared_title)


def _shared_title(kind: type[Any]) -> str:
    title = getattr(kind, "TITLE", "") or (kind.__doc__ or kind.__name__).split(";")[0].split("\n")[0]
    return str(title).rstrip(".:").capitalize()


def _anchor(text: str) -> str:
    return "-".join(
        "".join(letter if letter.isalnum() or letter in "+-" else " " for letter in text.lower()).split()
    )


def _option_table(kinds: Iterable[type[Any]]) -> str:
    rows = []
    for kind in kinds:
        for field, hint in documented(kind):
            if field.metadata["positional"]:
                name = code(field.metadata["metavar"] or field.name.upper())
            else:
                name = shown_flags(field, hint)
            rows.append((name, shown_values(field, hint), shown_default(field), shown_help(field)))
    return table(("option", "values", "default", "meaning"), rows) if rows else ""


def _command(words: str, command: Command) -> str:
    own = [kind for kind in command.options if kind not in shared_options()]
    shared = [
        f"[{_shared_title(kind).lower()}](options.md#{_anchor(_shared_title(kind))})"
        for kind in command.options
        if kind in shared_options()
    ]
    shared += ["[options of metrics](options.md#options-of-metrics)"] * bool(command.metrics)
    parts = [f"## prism {words}", prose(_sentence(command.help)), _option_table(own)]
    if shared:
        parts.append(f"Shared options: {', '.join(shared)}.")
    if command.epilog.strip():
        parts.append(_epilog(command.epilog.strip()))
    return "\n\n".join(part for part in parts if part)


def _epilog(text: str) -> str:
    """Show what stands indented below "examples:" as commands, and the rest as prose."""
    parts = []
    for title, body in re.findall(r"(examples?:\n)?((?:(?!\n\n).)+)", text.strip(), re.S):
        parts.append(f"```sh\n{textwrap.dedent(body.strip(chr(10)))}\n```" if title else prose(body.strip()))
    return "\n\n".join(parts)


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text[-1:] in ".?!" else f"{text}."


def commands_page() -> str:
    """Describe every command and its own options."""
    found = list(all_commands())
    listing = table(
        ("command", "what it does"),
        (
            (f"[`prism {words}`](#{_anchor(f'prism {words}')})", prose(_sentence(command.help)))
            for words, command in found
        ),
    )
    return "\n\n".join(["# Commands", _MADE, listing, *(_command(*one) for one in found)])


def options_page() -> str:
    """Describe the options that several commands share, and those of metrics."""
    parts = ["# Shared options", _MADE]
    for kind in shared_options():
        users = [code(f"prism {words}") for words, command in all_commands() if kind in command.options]
        parts += [f"## {_shared_title(kind)}", _option_table([kind]), f"In {', '.join(users)}."]
    rows = [
        (
            shown_flags(field, hint),
            shown_values(field, hint),
            shown_default(field),
            shown_help(field),
            ", ".join(code(owner) for owner in owners),
        )
        for name, (field, hint, owners) in option_fields().items()
    ]
    users = [code(f"prism {words}") for words, command in all_commands() if command.metrics]
    parts += [
        "## Options of metrics",
        "Given as flags they hold for every metric that has them; in brackets for one: `prism-ref[direction=forward]`.",
        table(("option", "values", "default", "meaning", "metrics"), rows),
        f"In {', '.join(users)}.",
    ]
    return "\n\n".join(parts)


def traits(kind: type[Metric]) -> list[tuple[str, str]]:
    """Return what a metric class declares about itself; a property depends on its options."""

    def say(value: Any, words: Callable[[Any], str]) -> str:
        return "depends on its options" if isinstance(value, property) else words(value)

    yes_no: Callable[[Any], str] = lambda value: "yes" if value else "no"  # noqa: E731
    return [
        ("needs", say(kind.needs, lambda sides: ", ".join(f"`--{side}`" for side in sorted(sides)) or "nothing")),
        ("better", say(kind.lower_is_better, lambda lower: "lower" if lower else "higher")),
        ("needs the language", say(kind.needs_language, yes_no)),
        ("explains scores piece by piece", say(kind.has_tokens, yes_no)),
        ("runs on Ray", say(kind.runs_on_ray, yes_no)),
        ("offered by `prism serve`", say(kind.served, yes_no)),
    ]


def metrics_page() -> str:
    """Describe every registered metric: its class, traits and options."""
    known = {name: kind for name, kind in list_metrics().items() if kind.__module__.startswith("prism_mt.")}
    listing = table(
        ("metric", "what it measures"),
        ((f"[`{name}`](#{_anchor(name)})", prose(_summary(kind))) for name, kind in known.items()),
    )
    parts = ["# Metrics", _MADE, listing]
    for name, kind in known.items():
        options = [
            (code(field.name), shown_values(field, hint), shown_default(field), shown_help(field))
            for field, hint in documented(kind)
        ]
        parts += [
            f"## {name} {{ #{_anchor(name)} }}",
            inspect.cleandoc(kind.__doc__ or ""),
            f"Class `{kind.__qualname__}`. "
            + "; ".join(f"{trait}: {value}" for trait, value in traits(kind))
            + ".",
            table(("option", "values", "default", "meaning"), options) if options else "No options.",
        ]
    return "\n\n".join(parts)


def _summary(kind: type[Any]) -> str:
    return inspect.cleandoc(kind.__doc__ or "").split("\n")[0]


def models_page() -> str:
    """List the models of the catalog."""
    header = [field.name for field in dataclasses.fields(KnownModel)]
    rows = [[prose(str(getattr(model, name))) for name in header] for model in CATALOG]
    return "\n\n".join(["# Models", _MADE, table(header, rows)])


def protocols_page() -> str:
    """List the protocols with everything that they fix."""
    header = ("protocol", "judges", "statistic", "averaged over", "test", "ties in daRR", "human scores", "rules")
    rows = [
        (
            code(name),
            one.level,
            code(one.statistic),
            "" if one.over == "none" else one.over,
            code(one.test),
            one.ties if one.statistic == "darr" else "",
            ", ".join(map(code, one.human_scores)),
            prose(one.description),
        )
        for name, one in PROTOCOLS.items()
    ]
    suites = [
        (code(name), ", ".join(code(one.name) for one in suite.protocols), prose(suite.description))
        for name, suite in SUITES.items()
    ]
    averages = ["## Averages of several protocols", table(("name", "protocols", "what"), suites)]
    return "\n\n".join(
        ["# Protocols", _MADE, "[Protocols explained](../protocols.md) says why.", table(header, rows), *averages]
    )


def configuration_page() -> str:
    """Describe every table of every TOML file."""
    parts = ["# Configuration files", _MADE]
    for command, kind in _CONFIGURATIONS:
        parts += [f"## {command}", inspect.cleandoc(kind.__doc__ or ""), *_tables("", kind, command)]
        if kind is CorpusConfig:
            parts += [part for name, step in KINDS.items() for part in _step(name, step)]
    return "\n\n".join(parts)


def _tables(name: str, kind: type[Any], command: str) -> Iterator[str]:
    """Describe a table and those within it."""
    inner = []
    rows = []
    for field, hint in documented(kind):
        nested = _dataclass_in(hint)
        if nested is None:
            rows.append((code(field.name), shown_values(field, hint), shown_default(field), shown_help(field)))
        else:
            default = default_of(field)
            brackets = f"[[{field.name}]]" if typing.get_origin(hint) is list else f"[{field.name}]"
            inner.append((brackets, nested, default if dataclasses.is_dataclass(default) else None))
    if rows:
        yield table(("key", "values", "default", "meaning"), rows)
    for brackets, nested, default in inner:
        yield f"### `{brackets}` of {command} {{ #{_anchor(command)}-{_anchor(brackets)} }}"
        yield inspect.cleandoc(nested.__doc__ or "")
        yield table(("key", "values", "default", "meaning"), _rows_with(nested, default))


def _rows_with(kind: type[Any], default: Any) -> Iterator[tuple[str, str, str, str]]:
    """Rows of a table whose defaults may differ from those of its class."""
    for field, hint in documented(kind):
        shown = shown_default(field)
        if default is not None and getattr(default, field.name) != default_of(field):
            shown = code(str(getattr(default, field.name)))
        yield code(field.name), shown_values(field, hint), shown, shown_help(field)


def _dataclass_in(hint: Any) -> type[Any] | None:
    kinds = (hint, *typing.get_args(hint))
    return next((kind for kind in kinds if isinstance(kind, type) and dataclasses.is_dataclass(kind)), None)


def _step(name: str, step: Any) -> Iterator[str]:
    yield f'### `[[step]]` with `kind = "{name}"` {{ #step-{name} }}'
    yield inspect.cleandoc(step.__doc__ or "")
    rows = list(_rows_with(step.Config, None))
    if rows:
        yield table(("key", "values", "default", "meaning"), rows)


_METRICS = "Metrics"


def _docstring(value: Any, members: bool) -> str:
    # The options of metrics are in the reference of metrics already.
    hidden = "" if members else "\n    options:\n      members: false\n      inherited_members: false"
    return f"::: {value.__module__}.{value.__qualname__}{hidden}"


def python_page() -> str:
    """Collect the docstrings of all public names, functions first."""
    public = {name: getattr(prism_mt, name) for name in prism_mt.__all__}
    metrics = set(list_metrics().values())
    groups: dict[str, Callable[[Any], bool]] = {
        "Functions": lambda value: not isinstance(value, type),
        _METRICS: lambda value: value in metrics or issubclass(value, Metric),
        "Results and helpers": lambda value: True,
    }
    parts = [
        "# Python",
        _MADE,
        "`import prism_mt as prism` imports nothing heavy; each name is loaded when it is used.",
    ]
    for title, belongs in groups.items():
        names = [name for name, value in public.items() if belongs(value)]
        parts += [f"## {title}", *(_docstring(public[name], members=title != _METRICS) for name in names)]
        public = {name: value for name, value in public.items() if name not in names}
    return "\n\n".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands_page,
    "reference/options.md": options_page,
    "reference/metrics.md": metrics_page,
    "reference/protocols.md": protocols_page,
    "reference/configuration.md": configuration_page,
    "reference/models.md": models_page,
    "reference/python.md": python_page,
}


def write(folder: Path) -> list[Path]:
    """Write all pages below a folder."""
    written = []
    for name, make in PAGES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make() + "\n", encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    write(Path(__file__).parents[1] / "docs")
