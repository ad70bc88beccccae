"""Options as Markdown: the tables of the reference pages."""

import dataclasses
import re
import typing
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from prism_mt._core.arguments import flag
from prism_mt._core.options import default_of, type_name


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def prose(text: str) -> str:
    """Take the meaning of markup from signs in a help text, but for its code spans."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*_\[\]])", r"\\\1", part.replace("<", "&lt;")) for part in parts[::2]]
    return "`".join(parts)


def code(text: str) -> str:
    """Write text as a code span."""
    return f"`{text}`" if text else ""


def documented(kind: type[Any]) -> Iterator[tuple["dataclasses.Field[Any]", Any]]:
    """Yield the documented fields of a dataclass with their types."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if "help" in field.metadata:
            yield field, hints[field.name]


def shown_default(field: "dataclasses.Field[Any]") -> str:
    """Write the default of an option; nothing where it means that nothing is given."""
    default = default_of(field)
    if default is dataclasses.MISSING:
        return "required"
    if default is None or default in ("", [], {}, ()) or dataclasses.is_dataclass(default):
        return ""
    if isinstance(default, list | tuple):
        return code(" ".join(map(str, default)))
    return code(str(default).lower() if isinstance(default, bool) else str(default))


def _limits(field: "dataclasses.Field[Any]") -> str:
    low, high = field.metadata.get("low"), field.metadata.get("high")
    words = [f"at {which} {limit:,}" for which, limit in (("least", low), ("most", high)) if limit is not None]
    return f" ({', '.join(words)})" if words else ""


def shown_values(field: "dataclasses.Field[Any]", hint: Any) -> str:
    """Write the type of an option and its limits."""
    return code(type_name(hint)) + _limits(field)


def shown_help(field: "dataclasses.Field[Any]") -> str:
    """Write the help text of an option."""
    return prose(field.metadata["help"])


def shown_flags(field: "dataclasses.Field[Any]", hint: Any) -> str:
    """Write all spellings of an option on the command line."""
    negated = [f"--no-{flag(field.name)[2:]}"] if hint is bool and default_of(field) is True else []
    return ", ".join(map(code, (flag(field.name), *negated, *field.metadata["flags"])))
