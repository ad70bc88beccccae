"""Command-line options made from a dataclass, so that each option is written down once."""

import argparse
import dataclasses
import inspect
import shlex
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Options = TypeVar("Options")


def option(
    help: str,
    default: Any = dataclasses.MISSING,
    *,
    flags: tuple[str, ...] = (),
    metavar: str | None = None,
    positional: bool = False,
    group: str | None = None,
) -> Any:
    """A dataclass field with its help text.

    `flags` are further spellings of `--field-name`; a `group` stands under its own heading at the end of the help.
    """
    metadata = {"help": help, "flags": flags, "metavar": metavar, "positional": positional, "group": group}
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Command:
    """One command: its name, what `--help` says, the dataclasses of its options and what it does.

    `run` gets one object of each dataclass.
    """

    name: str
    help: str
    options: type[Any] | tuple[type[Any], ...]
    run: Callable[..., int | None]
    epilog: str = ""

    @property
    def kinds(self) -> tuple[type[Any], ...]:
        """The dataclasses of its options."""
        return self.options if isinstance(self.options, tuple) else (self.options,)


@dataclass(frozen=True)
class Group:
    """Commands under one name (`prism models list`); `default` runs when none of them is named."""

    name: str
    help: str
    commands: tuple[Command, ...]
    default: Command | None = None


def add_options(parser: argparse.ArgumentParser, kind: type[Any]) -> None:
    """Give the parser one argument per field: `bool` is a switch, `list` takes several values and repeats."""
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    # What the command alone has comes before what it shares with others.
    by_owner = sorted(fields, key=lambda field: field.name not in inspect.get_annotations(kind))
    title = getattr(kind, "TITLE", None)
    titles = dict.fromkeys(field.metadata.get("group") or title for field in by_owner)
    groups = {name: parser.add_argument_group(name) if name else parser for name in titles}
    for field in fields:
        if not field.metadata:
            continue
        arguments = _argument(field, hints[field.name])
        if field.metadata["positional"]:
            parser.add_argument(field.name, **arguments)
            continue
        names = [f"--{field.name.replace('_', '-')}", *field.metadata["flags"]]
        groups[field.metadata["group"] or title].add_argument(
            *sorted(names, key=len, reverse=True), dest=field.name, **arguments
        )


def parse_options(kind: type[Options], namespace: argparse.Namespace) -> Options:
    """The dataclass filled from what argparse read."""
    names = [field.name for field in dataclasses.fields(kind) if field.metadata]  # type: ignore[arg-type]
    given = {name: getattr(namespace, name) for name in names if getattr(namespace, name, None) is not None}
    return kind(**given)


def command_line(name: str, options: Sequence[Any]) -> str:
    """Return the command that gives these options, as one can type it into a shell."""
    words = ["prism", name]
    for config, field in [(one, field) for one in options for field in dataclasses.fields(one)]:
        value = getattr(config, field.name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if not field.metadata or value == default:
            continue
        flag = f"--{field.name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        else:
            words += [flag, *map(str, value if isinstance(value, list) else [value])]
    return shlex.join(words)


def _argument(field: dataclasses.Field[Any], hint: Any) -> dict[str, Any]:
    """The keyword arguments of `add_argument` for one field."""
    required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    text = field.metadata["help"].replace("%", "%%")
    silent = any(field.default is value for value in (None, False, dataclasses.MISSING))
    if not required and not silent and "(default:" not in text:
        text += f" (default: {field.default})"
    arguments: dict[str, Any] = {"help": text, "default": None}
    if hint is bool:
        return arguments | {"action": argparse.BooleanOptionalAction if field.default is True else "store_true"}
    several = typing.get_origin(hint) is list
    if several:
        hint = typing.get_args(hint)[0]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(kind for kind in typing.get_args(hint) if kind is not type(None))
    if typing.get_origin(hint) is typing.Literal:
        arguments["choices"] = typing.get_args(hint)
        hint = type(typing.get_args(hint)[0])
    arguments["type"] = Path if hint is Path else hint
    arguments["metavar"] = field.metadata["metavar"]
    if arguments.get("choices") and not arguments["metavar"]:
        del arguments["metavar"]
    if several:
        arguments |= {"nargs": "+", "action": "extend"}
        if field.metadata["positional"]:
            arguments |= {"nargs": "+" if required else "*"}
    elif field.metadata["positional"] and not required:
        arguments["nargs"] = "?"
    if required and not field.metadata["positional"]:
        arguments["required"] = True
    return arguments
