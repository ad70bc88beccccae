"""Options: a field of a `Config` is the flag, the TOML key, the keyword argument, the HTTP field and the docs entry.

Every entry point ends in the same checks: `from_table` for TOML and JSON, `_core.arguments` for the command line, and
the constructor itself for Python.
"""

import dataclasses
import difflib
import functools
import inspect
import math
import numbers
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from prism_mt._core.errors import PrismError
from prism_mt._core.files import path_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = TypeVar("Kind")
Result = TypeVar("Result")


def option(
    help: str,
    default: Any = dataclasses.MISSING,
    *,
    flags: tuple[str, ...] = (),
    metavar: str | None = None,
    positional: bool = False,
    group: str | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """Declare a dataclass field with its help text.

    `low` and `high` are inclusive limits. `flags` are alternative spellings of `--field-name`; a `group` gets its own
    heading at the end of `--help`.
    """
    metadata = {
        "help": help,
        "flags": flags,
        "metavar": metavar,
        "positional": positional,
        "group": group,
        "low": low,
        "high": high,
    }
    if isinstance(default, list | dict):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def option_of(kind: type[Any], name: str, default: Any = dataclasses.MISSING) -> Any:
    """Declare an option that another dataclass already has, with its help and limits but possibly another default."""
    [field] = [field for field in dataclasses.fields(kind) if field.name == name]
    return dataclasses.field(
        default=default_of(field) if default is dataclasses.MISSING else default, metadata=field.metadata
    )


@dataclass(frozen=True)
class Config:
    """Base class of everything that holds options; values are checked however an instance is created."""

    def __new__(cls, *_values: Any, **options: Any) -> Any:
        """Refuse unknown options with a suggestion; `__init__` would only say that they are unexpected."""
        check_names(cls.__name__, options, (field.name for field in dataclasses.fields(cls)), "option")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check_values(self)


class OptionRow(NamedTuple):
    """One option as the reference pages describe it."""

    name: str
    type: str
    default: str
    help: str


def check_values(config: Any) -> None:
    """Check the types, choices and limits of all fields of a dataclass."""
    hints = typing.get_type_hints(type(config))
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        converted = _convert(value, hints[field.name], field.name, strict=True)
        if isinstance(converted, Path) and converted is not value:
            object.__setattr__(config, field.name, converted)  # a string is accepted as a path
        low, high = field.metadata.get("low"), field.metadata.get("high")
        if isinstance(value, int | float) and not isinstance(value, bool):
            _check_limits(field.name, value, low, high)


def make(kind: type[Kind], values: Mapping[str, Any], what: str) -> Kind:
    """Build a dataclass from keyword arguments; an unknown name is an error that suggests the nearest known one."""
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    check_names(what, values, fields, "option")
    missing = [name for name, field in fields.items() if name not in values and _is_required(field)]
    if missing:
        raise PrismError(f"{what} needs {', '.join(f'`{name}=`' for name in missing)}")
    return kind(**values)


def public(function: Callable[..., Result]) -> Callable[..., Result]:
    """Check the arguments of a public function as the values of options are checked: by name and by type.

    Arguments of arrays, iterators and such are left to the function, which reads whatever can be iterated over.
    """
    signature, name = inspect.signature(function), function.__name__

    @functools.wraps(function)
    def call(*values: Any, **named: Any) -> Result:
        check_names(name, named, signature.parameters, "argument")
        hints = typing.get_type_hints(function)
        # Python's own message names arguments that are missing or given twice.
        given = signature.bind_partial(*values, **named).arguments
        for key, value in given.items():
            several = signature.parameters[key].kind is inspect.Parameter.VAR_POSITIONAL
            for one in value if several else (value,):
                _convert(one, hints.get(key, Any), key, strict=True)
        return function(*values, **named)

    return call


def check_names(what: str, given: Iterable[str], known: Iterable[str], kind: str) -> None:
    """Fail if one of the names given is unknown, with the known one that was probably meant."""
    names = list(known)
    for name in given:
        if name not in names:
            raise PrismError(f"{what} has no {kind} {name!r}{suggestion(name, names)}")


def near(word: str, known: Iterable[str], before: str = "") -> str:
    """Name the known word closest to `word`, as the end of a sentence; empty if none is close."""
    found = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {before + found[0]!r}?" if found else ""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Suggest the known word that was probably meant, as the end of a sentence."""
    known = list(known)
    return near(word, known) or (f"; known: {', '.join(known)}" if known else "")


def describe(kind: type[Any]) -> list[OptionRow]:
    """List the documented options of a dataclass."""
    hints = typing.get_type_hints(kind)
    rows = []
    for field in dataclasses.fields(kind):
        if "help" in field.metadata:
            default = default_of(field)
            shown = "required" if default is dataclasses.MISSING else "" if default is None else f"{default}"
            rows.append(OptionRow(field.name, type_name(hints[field.name]), shown, field.metadata["help"]))
    return rows


def default_of(field: "dataclasses.Field[Any]") -> Any:
    """Return a field's default, or `MISSING` if a value is required."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def type_name(hint: Any) -> str:
    """Write a type the way a person would: `forward | backward | both`, `list of str`."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " | ".join(map(str, arguments))
    if origin in (typing.Union, types.UnionType):
        return " | ".join(type_name(kind) for kind in arguments if kind is not type(None))
    if origin in (list, tuple):
        return f"list of {type_name(arguments[0])}"
    if origin is dict:
        return f"table of {type_name(arguments[1])}"
    return getattr(hint, "__name__", str(hint)).replace("NoneType", "none")


def load_toml(path: Path, kind: type[Kind]) -> Kind:
    """Read a TOML file into the dataclass `kind`; unknown keys and wrong types are errors that name the key."""
    try:
        with open(path, "rb") as handle:
            table = tomllib.load(handle)
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # besides its own: bad UTF-8, endless numbers, endless nesting
        raise PrismError(f"{path} is not valid TOML: {error}") from error
    return from_table(table, kind, str(path))


def from_table(table: Mapping[str, Any], kind: type[Kind], where: str, default: Kind | None = None) -> Kind:
    """Build the dataclass `kind` from plain values; `where` starts every error message.

    A nested table overrides parts of the field's default, if the field has a default that is not a factory.
    """
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = [key for key in table if key not in fields]
    if unknown:
        raise PrismError(f"{where}: unknown key {', '.join(unknown)}{suggestion(unknown[0], fields)}")
    missing = [name for name, field in fields.items() if name not in table and _is_required(field)]
    if missing and default is None:
        raise PrismError(f"{where}: missing key {', '.join(missing)}")
    values = {
        key: _convert(value, hints[key], f"{where}: {key}", getattr(default, key, fields[key].default))
        for key, value in table.items()
    }
    try:
        if default is not None:
            return dataclasses.replace(default, **values)  # type: ignore[type-var]
        return kind(**values)
    except PrismError as error:
        raise PrismError(f"{where}: {error}") from error


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _check_limits(name: str, value: float, low: float | None, high: float | None) -> None:
    if not math.isfinite(value):
        raise PrismError(f"{name} must be a finite number, not {value}")
    if low is not None and high is not None and not low <= value <= high:
        raise PrismError(f"{name} must be between {_shown(low)} and {_shown(high)}, not {_shown(value)}")
    if low is not None and value < low:
        raise PrismError(f"{name} must be at least {_shown(low)}, not {_shown(value)}")
    if high is not None and value > high:
        raise PrismError(f"{name} must be at most {_shown(high)}, not {_shown(value)}")


def _shown(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def _convert(value: Any, hint: Any, where: str, default: Any = None, strict: bool = False) -> Any:
    """Convert `value` to the type `hint`, or fail with what was expected; a table may override parts of a default.

    With `strict`, values must already have their type: they come from Python, not from a file.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _convert_table(value, hint, where, default, strict)
    if origin in (typing.Union, types.UnionType):
        return _convert_union(value, arguments, where, strict)
    if origin is typing.Literal:
        if value not in arguments:
            raise PrismError(f"{where} must be one of {', '.join(map(str, arguments))}, not {value!r}")
        return value
    if origin in (list, tuple):
        if not isinstance(value, list | tuple if strict else list):
            raise PrismError(f"{where} must be a list, not {value!r}")
        fixed = origin is tuple and arguments[-1] is not Ellipsis
        kinds = arguments if fixed else (arguments[0],) * len(value)
        if len(kinds) != len(value):
            raise PrismError(f"{where} must have {len(kinds)} values, not {len(value)}")
        return origin(
            _convert(item, kind, f"{where}[{index}]", strict=strict)
            for index, (item, kind) in enumerate(zip(value, kinds, strict=True))
        )
    if origin is dict:
        if not isinstance(value, Mapping):
            raise PrismError(f"{where} must be a table, not {value!r}")
        return {key: _convert(item, arguments[1], f"{where}.{key}", strict=strict) for key, item in value.items()}
    if isinstance(origin, type) and issubclass(origin, Iterable) and not isinstance(value, Iterable):
        raise PrismError(f"{where} must be a list or another iterable, not {value!r}")
    if origin is not None or hint is Any:
        return value  # a callable or another type that a file cannot express
    if hint is float and isinstance(value, numbers.Real) and not isinstance(value, bool):
        return _finite(value, where)
    if hint is int and isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return value
    if hint is Path and isinstance(value, str):
        return _path(value, where)
    if isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    raise PrismError(f"{where} must be of type {type_name(hint)}, not {value!r}")


def _convert_table(value: Any, hint: type[Any], where: str, default: Any, strict: bool) -> Any:
    if isinstance(value, hint):
        return value
    if strict or not isinstance(value, Mapping):
        raise PrismError(f"{where} must be {f'of type {hint.__name__}' if strict else 'a table'}, not {value!r}")
    return from_table(value, hint, where, default if isinstance(default, hint) else None)


def _path(value: str, where: str) -> Path:
    try:
        return path_of(value)
    except PrismError as error:
        raise PrismError(f"{where}: {error}") from error


def _finite(value: numbers.Real, where: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise PrismError(f"{where} must be a finite number")
    return number


def _convert_union(value: Any, kinds: tuple[Any, ...], where: str, strict: bool) -> Any:
    """Return the value as the first union member that accepts it; if none does, raise the last one's error."""
    error = None
    for kind in kinds:
        if kind is type(None):
            if value is None:
                return None
            continue
        try:
            return _convert(value, kind, where, strict=strict)
        except PrismError as mismatch:
            error = mismatch
    raise error or PrismError(f"{where} cannot be {value!r}")
