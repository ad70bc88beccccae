"""Typed configuration from TOML files: every key is a field of a dataclass, and nothing else is accepted."""

import dataclasses
import math
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from prism_mt.errors import PrismError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Config = TypeVar("Config")


def load_toml(path: Path, kind: type[Config]) -> Config:
    """Read a TOML file into the dataclass `kind`; unknown keys and wrong types are errors that name the key."""
    try:
        with open(path, "rb") as handle:
            table = tomllib.load(handle)
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PrismError(f"{path} is not valid TOML: {error}") from error
    return from_table(table, kind, str(path))


def from_table(table: Mapping[str, Any], kind: type[Config], where: str, default: Config | None = None) -> Config:
    """Build the dataclass `kind` from plain values; `where` starts every error message.

    A table within it changes parts of the field's default where the field has one that is no factory.
    """
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = [key for key in table if key not in fields]
    if unknown:
        raise PrismError(f"{where}: unknown key {', '.join(unknown)}; known: {', '.join(fields)}")
    missing = [
        name
        for name, field in fields.items()
        if name not in table
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing and default is None:
        raise PrismError(f"{where}: missing key {', '.join(missing)}")
    values = {
        key: _convert(value, hints[key], f"{where}: {key}", getattr(default, key, fields[key].default))
        for key, value in table.items()
    }
    if default is not None:
        return dataclasses.replace(default, **values)  # type: ignore[type-var]
    return kind(**values)


def check_choices(settings: Any) -> None:
    """An error when a field of a dataclass that names its values has another one: Python itself does not look."""
    for name, hint in typing.get_type_hints(type(settings)).items():
        kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
        choices = [
            choice
            for kind in kinds
            if typing.get_origin(kind) is typing.Literal
            for choice in typing.get_args(kind)
        ]
        value = getattr(settings, name)
        if choices and value not in choices and not (value is None and type(None) in kinds):
            raise PrismError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def _convert(value: Any, hint: Any, where: str, default: Any = None) -> Any:
    """`value` as the type `hint`, or an error that names what was expected; a table may change parts of a default."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise PrismError(f"{where} must be a table")
        return from_table(value, hint, where, default if isinstance(default, hint) else None)
    if origin in (typing.Union, types.UnionType):
        return _convert_union(value, arguments, where)
    if origin is typing.Literal:
        if value not in arguments:
            raise PrismError(f"{where} must be one of {', '.join(map(str, arguments))}, not {value!r}")
        return value
    if origin in (list, tuple):
        if not isinstance(value, list):
            raise PrismError(f"{where} must be a list")
        return origin(_convert(item, arguments[0], f"{where}[{index}]") for index, item in enumerate(value))
    if origin is dict:
        if not isinstance(value, Mapping):
            raise PrismError(f"{where} must be a table")
        return {key: _convert(item, arguments[1], f"{where}.{key}") for key, item in value.items()}
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(value, where)
    if hint is Path and isinstance(value, str):
        return Path(value).expanduser()
    if hint is Any or (isinstance(value, hint) and not (hint is int and isinstance(value, bool))):
        return value
    raise PrismError(f"{where} must be of type {getattr(hint, '__name__', hint)}, not {value!r}")


def _finite(value: int | float, where: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise PrismError(f"{where} must be a finite number")
    return number


def _convert_union(value: Any, kinds: tuple[Any, ...], where: str) -> Any:
    """The first member of a union that takes the value; the last one's error when none does."""
    error = None
    for kind in kinds:
        if kind is type(None):
            if value is None:
                return None
            continue
        try:
            return _convert(value, kind, where)
        except PrismError as mismatch:
            error = mismatch
    raise error or PrismError(f"{where} cannot be {value!r}")
