"""What the readers share: lines with their numbers, fields by name, numbers, language pairs."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.text.lines import check_unicode, open_lines

_PAIR = re.compile(r"(?<![A-Za-z])([a-z]{2,3}-[a-z]{2,3})(?![A-Za-z])")


def numbered_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Lines of a file, each with the words that name its place in messages."""
    for number, line in enumerate(open_lines(path), start=1):
        yield f"{path}, line {number}", line


def first_line(path: Path) -> str:
    """The first line of a file that is no remark."""
    for _, line in numbered_lines(path):
        if not _is_remark(line):
            return line
    raise PrismError(f"{path} is empty")


def _is_remark(line: str) -> bool:
    """Such as the signature above scores that we wrote ourselves."""
    return line.startswith("# ") and "\t" not in line


def records(path: Path, separator: str | None = "\t") -> Iterator[tuple[str, dict[str, str]]]:
    """Rows of a table with a header line, by lower-cased column names, each with its place."""
    header: list[str] = []
    for where, line in numbered_lines(path):
        if not header and _is_remark(line):
            continue
        row = line.split(separator)
        if not header:
            header = [name.strip().lower() for name in row]
            continue
        if len(row) != len(header):
            raise PrismError(f"{where}: {len(row)} columns under a header of {len(header)}")
        yield where, dict(zip(header, row, strict=True))


def json_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """JSON objects of a file with one on each line, each with its place."""
    for where, line in numbered_lines(path):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise PrismError(f"{where}: not valid JSON ({error})") from error
        if not isinstance(record, dict):
            raise PrismError(f"{where}: expected a JSON object")
        yield where, record


def mapping(record: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    """An object in a record; an empty one where there is none."""
    value = record.get(key) or {}
    if not isinstance(value, dict):
        raise PrismError(f"{where}: {key!r} must be an object with names as keys")
    return value


def text_of(value: object, where: str) -> str | None:
    """A text, or None where there is none."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise PrismError(f"{where}: expected a text, not {value!r:.60}")
    check_unicode(value, where)
    return value


def number(text: object, where: str) -> float | None:
    """A score; None for the ways in which files say that there is none."""
    if text is None or text != text or str(text).strip() in ("", "None", "NaN", "nan", "NA"):
        return None
    try:
        return float(text if isinstance(text, int | float) else str(text))
    except (ValueError, OverflowError) as error:
        raise PrismError(f"{where}: {text!r:.60} is not a number") from error


def stem(path: Path) -> str:
    """The file's name without the ending of a compression."""
    return path.name.removesuffix(".xz").removesuffix(".gz")


def pair_of(path: Path, given: str | None) -> str:
    """The language pair of a file that does not say it in its lines: the one in its name, or else the given one."""
    found: list[str] = sorted(set(_PAIR.findall(path.name)))
    if len(found) == 1:
        return found[0]
    if given:
        return given
    raise PrismError(f"{path}: which language pair? Name it with --pairs, such as --pairs en-de")
