"""Shared by the readers: the request, numbered lines, fields by name, numbers, language pairs."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.mqm import NO_ERROR, score_errors
from prism_mt.evaluation.ratings import Error, Errors
from prism_mt.text.lines import check_unicode, open_lines

LANGUAGE_PAIR = re.compile(r"[a-z]{2,3}-[a-z]{2,3}(?:_[A-Z][A-Za-z]+)*")
_PAIR_IN_NAME = re.compile(rf"(?<![A-Za-z])({LANGUAGE_PAIR.pattern})(?![A-Za-z])")
SEGMENT = ("segment", "docseg", "sid", "seg_id", "idx")
TESTSET = ("testset", "data", "set", "split")
SOURCE = ("src", "source", "source_segment")
REFERENCE = ("ref", "reference", "reference_segment")
OUTPUT = ("hyp", "output", "mt", "hypothesis", "target", "tgt", "hypothesis_segment")
RATER = ("rater", "annotator", "judge")
DOCUMENT = ("doc", "document", "doc_id")
DOMAIN = ("domain", "domain_name")


@dataclass(frozen=True)
class Request:
    """What to read from a file.

    `pair` is the language pair of a file that does not state it. `human_score` names the column or kind of human scores
    if there are several (raw, z, mqm, esa); otherwise the first of `prefer` that the file has is used.
    """

    pair: str | None = None
    human_score: str | None = None
    prefer: Sequence[str] = ()

    def choose(self, known: Sequence[str]) -> str | None:
        """Choose among the available kinds of human scores; None if the request does not decide."""
        if self.human_score is not None:
            return self.human_score
        return next((kind for kind in self.prefer if kind in known), None)


def numbered_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file, each with its location for messages."""
    for number, line in enumerate(open_lines(path), start=1):
        yield f"{path}, line {number}", line


def first_line(path: Path) -> str:
    """The first line of a file that is not a comment."""
    for _, line in numbered_lines(path):
        if not _is_remark(line):
            return line
    raise PrismError(f"{path} is empty")


def _is_remark(line: str) -> bool:
    """Whether a line is a comment, such as the signature above scores that we wrote."""
    return line.startswith("# ") and "\t" not in line


def records(path: Path, separator: str | None = "\t") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a table with a header line, by lowercase column names, each with its location."""
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
    """Yield the JSON objects of a file with one per line, each with its location."""
    for where, line in numbered_lines(path):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise PrismError(f"{where}: not valid JSON ({error})") from error
        if not isinstance(record, dict):
            raise PrismError(f"{where}: expected a JSON object")
        if "\\ud" in line.lower():  # names and texts alike must be possible to write
            check_unicode(json.dumps(record, ensure_ascii=False), where)
        yield where, record


def field(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The value under the first of these names that a row has; None if it has none of them."""
    return next((row[name] for name in names if name in row), None)


def word(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """A name or number as text; None if missing or empty."""
    value = field(row, names)
    return None if value is None or value == "" else str(value)


def mapping(record: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    """An object in a record; empty if missing."""
    value = record.get(key) or {}
    if not isinstance(value, dict):
        raise PrismError(f"{where}: {key!r} must be an object with names as keys")
    return value


def text_of(value: object, where: str) -> str | None:
    """A string, or None if missing."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise PrismError(f"{where}: expected a string, not {value!r:.60}")
    check_unicode(value, where)
    return value


def number(text: object, where: str) -> float | None:
    """A score; None for the ways in which files express a missing one."""
    if text is None or text != text or str(text).strip() in ("", "None", "NaN", "nan", "NA"):
        return None
    try:
        return float(text if isinstance(text, int | float) else str(text))
    except (ValueError, OverflowError) as error:
        raise PrismError(f"{where}: {text!r:.60} is not a number") from error


def errors_of(value: object, where: str) -> Errors:
    """A list of errors: [category, severity] each, or objects with these keys and optionally `start` and `end`."""
    if not isinstance(value, list):
        raise PrismError(f"{where}: errors must be a list, not {value!r:.60}")
    return tuple(error for error in (_error(item, where) for item in value) if error.severity.lower() != NO_ERROR)


def _error(item: object, where: str) -> Error:
    words = [item.get("category"), item.get("severity")] if isinstance(item, dict) else item
    if not isinstance(words, list) or len(words) != 2 or not all(isinstance(word, str) for word in words):
        raise PrismError(f"{where}: an error is [category, severity], not {item!r:.60}")
    if not isinstance(item, dict):
        return Error(*words)
    span, in_source = span_of(item.get("start"), item.get("end")), item.get("in_source") is True
    return Error(words[0], words[1], span, in_source)


def span_of(start: object, end: object) -> tuple[int, int] | None:
    """A span if both ends are numbers; errors such as omissions have none."""
    return (start, end) if isinstance(start, int) and isinstance(end, int) and 0 <= start <= end else None


def price(errors: Errors, where: str) -> float:
    """The MQM score of errors, for ratings without a score."""
    try:
        return score_errors(errors)
    except PrismError as error:
        raise PrismError(f"{where}: {error}") from error


def stem(path: Path) -> str:
    """The file name without its compression suffix."""
    return path.name.removesuffix(".xz").removesuffix(".gz")


def file_title(path: Path) -> str:
    """The display name of a test set without a name."""
    return stem(path).split(".")[0]


def is_json_lines(path: Path) -> bool:
    """Whether the file name indicates one JSON object per line."""
    return stem(path).endswith((".jsonl", ".json"))


def pair_of(path: Path, given: str | None) -> str:
    """The language pair of a file that does not state it: the one in its name, or else the given one."""
    found: list[str] = sorted(set(_PAIR_IN_NAME.findall(path.name)))
    if len(found) == 1:
        return found[0]
    if given:
        return given
    raise PrismError(f"{path}: unknown language pair: set it, such as en-de, with `pairs=`")
