"""Command-line arguments generated from `Config` dataclasses, so that each option is declared once."""

import argparse
import dataclasses
import shlex
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from prism_mt._core.errors import PrismError
from prism_mt._core.files import path_of
from prism_mt._core.options import default_of, near

Options = TypeVar("Options")


@dataclass(frozen=True)
class Command:
    """One command: its name, its `--help` text, its option dataclasses, and the function that runs it.

    `run` receives one instance of each dataclass and, if `metrics` is set, a dictionary of the metric options given:
    those of the metrics named, or of all.
    """

    name: str
    help: str
    options: tuple[type[Any], ...]
    run: Callable[..., int | None]
    epilog: str = ""
    metrics: bool | tuple[str, ...] = False


@dataclass(frozen=True)
class Group:
    """Commands under a common name (`prism models list`); `default` runs when no subcommand is given."""

    name: str
    help: str
    commands: tuple[Command, ...]
    default: Command | None = None


_ELSEWHERE = {
    "cand": "candidate candidates hyp hyps hypothesis hypotheses mt output outputs sys sys1 system systems t "
    "translation translations",
    "ref": "r reference refs",
    "src": "s source sources",
    "lang": "language language-pair langpair lp target-lang tgt-lang",
    "batch-tokens": "batch batch-size bs",
    "device": "gpu gpus",
    "draws": "bootstrap num-samples paired-ar-n paired-bs-n resamples n-resamples",
    "format": "csv json latex tsv",
    "html": "output-directory report",
    "metric": "metrics",
    "quiet": "b q score-only",
    "segment-scores": "sentence-level sl",
    "test": "paired-ar paired-bs",
    "debug": "v verbose",
}
"""Our options, and what sacreBLEU, COMET, compare-mt and mt-metrics-eval call them."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, with the option or value that may have been meant, and no usage text."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments; an unknown one is an error."""
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            unknown = next((word for word in rest if word.startswith("-")), rest[0]).partition("=")[0]
            if unknown.startswith("-"):
                self.error(f"{self.prog} has no option {unknown}{self._meant(unknown)}")
            named = "; options name the files, such as --cand" if "--cand" in self._option_string_actions else ""
            self.error(f"{self.prog} has no argument {unknown}{named}")
        return found

    def _meant(self, unknown: str) -> str:
        """Suggest the option that does what an unknown one does elsewhere, or the one spelled most like it."""
        known = [name for name in self._option_string_actions if name.startswith("--")]
        ours = _in_other_tools().get(_bare(unknown))
        if ours and f"--{ours}" in known:
            return f"; did you mean '--{ours}'?"
        return near(_bare(unknown), map(_bare, known), "--")

    def _get_option_tuples(self, option_string: str) -> list[Any]:
        """Do not take another tool's option, such as `--reference`, for an abbreviation of one that differs."""
        if _bare(option_string.partition("=")[0]) in _in_other_tools():
            return []
        return super()._get_option_tuples(option_string)

    def error(self, message: str) -> NoReturn:
        """Raise an error instead of exiting."""
        raise PrismError(f"{message.removeprefix('argument ')} (see `{self.prog} --help`)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            meant = near(str(value), choices) or f"; choose one of {', '.join(choices)}"
            raise argparse.ArgumentError(action, f"invalid choice {value!r}{meant}")


@cache
def _in_other_tools() -> dict[str, str]:
    return {word: ours for ours, words in _ELSEWHERE.items() for word in words.split()}


def _bare(name: str) -> str:
    """Spell an option without dashes in front, and with dashes inside."""
    return name.lstrip("-").replace("_", "-")


def add_options(parser: argparse.ArgumentParser, kinds: Sequence[type[Any]]) -> None:
    """Add one argument per documented field.

    A `bool` becomes a switch; a `list` takes several values and may be repeated. A dataclass with a `TITLE` gets its
    own heading.
    """
    groups: dict[str, Any] = {}
    for kind in kinds:
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            if "help" not in field.metadata:
                continue
            arguments = argument(field, hints[field.name])
            if field.metadata["positional"]:
                parser.add_argument(field.name, **arguments)
                continue
            title = field.metadata["group"] or getattr(kind, "TITLE", None)
            if title and title not in groups:
                groups[title] = parser.add_argument_group(title)
            names = [flag(field.name), *field.metadata["flags"]]
            target = groups[title] if title else parser
            target.add_argument(*sorted(names, key=len, reverse=True), dest=field.name, **arguments)


def parse_options(kind: type[Options], namespace: argparse.Namespace) -> Options:
    """Fill a dataclass from the parsed arguments; its own checks run."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    names = [field.name for field in fields if "help" in field.metadata]
    return kind(**{name: getattr(namespace, name) for name in names if getattr(namespace, name, None) is not None})


def flag(name: str) -> str:
    """Spell a field's name as a flag."""
    return f"--{name.replace('_', '-')}"


def command_line(name: str, options: Sequence[Any], extra: Mapping[str, Any] | None = None) -> str:
    """Return the shell command that sets these options."""
    words = ["prism", name]
    for config in options:
        for field in dataclasses.fields(config):
            if "help" in field.metadata and getattr(config, field.name) != default_of(field):
                words += _words(field.name, getattr(config, field.name))
    for key, value in (extra or {}).items():
        words += _words(key, value)
    return shlex.join(words)


def _words(name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [flag(name) if value else f"--no-{flag(name)[2:]}"]
    return [flag(name), *map(str, value if isinstance(value, list | tuple) else [value])]


def parse_value(text: str, hint: Any, where: str) -> Any:
    """Parse one value from text, as on the command line."""
    kind = _plain(hint)
    if typing.get_origin(kind) is typing.Literal:
        choices = typing.get_args(kind)
        found = next((choice for choice in choices if str(choice) == text), None)
        if found is None:
            raise PrismError(f"{where} must be one of {', '.join(map(str, choices))}, not {text!r}")
        return found
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise PrismError(f"{where} must be true or false, not {text!r}")
        return text.lower() == "true"
    try:
        return path_of(text) if kind is Path else kind(text)
    except PrismError:
        raise
    except (ValueError, TypeError) as error:
        raise PrismError(f"{where} must be of type {getattr(kind, '__name__', kind)}, not {text!r}") from error


def argument(field: "dataclasses.Field[Any]", hint: Any) -> dict[str, Any]:
    """Return the keyword arguments of `add_argument` for one field."""
    default = default_of(field)
    required = default is dataclasses.MISSING
    text = field.metadata["help"].replace("%", "%%")
    silent = required or default is None or default is False or default in ([], "")
    if not silent and "(default" not in text:
        text += f" (default: {' '.join(map(str, default)) if isinstance(default, list) else default})"
    arguments: dict[str, Any] = {"help": text, "default": None}
    if hint is bool:
        return arguments | {"action": argparse.BooleanOptionalAction if default is True else "store_true"}
    several = typing.get_origin(hint) is list
    kind = _plain(typing.get_args(hint)[0] if several else hint)
    if typing.get_origin(kind) is typing.Literal:
        arguments["choices"] = typing.get_args(kind)
        kind = type(typing.get_args(kind)[0])
    arguments["type"] = path_of if kind is Path else kind
    if field.metadata["metavar"] or not arguments.get("choices"):
        arguments["metavar"] = field.metadata["metavar"]
    if several:
        arguments |= {"nargs": "+", "action": "extend"}
        if field.metadata["positional"]:
            arguments |= {"nargs": "+" if required else "*"}
    elif field.metadata["positional"] and not required:
        arguments["nargs"] = "?"
    if required and not field.metadata["positional"]:
        arguments["required"] = True
    return arguments


def _plain(hint: Any) -> Any:
    """The type of an optional value."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(kind for kind in typing.get_args(hint) if kind is not type(None))
    return hint
