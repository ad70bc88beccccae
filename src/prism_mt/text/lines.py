"""Parallel text: lines from files, pipes, TSV and JSONL, counted before any processing.

A line ends at a line feed and nowhere else: Unicode has more characters that look like line ends, and tools that
split on them lose the alignment of hypothesis and reference.
"""

import codecs
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.text.streams import Stream, open_stream

SKIP = "-"
"""Name of a column to skip."""


class Lines:
    """Segments that can be counted and read repeatedly, one in memory at a time."""

    def __init__(
        self, name: str, read: Callable[[], Iterator[str]], count: Callable[[], int] | None = None
    ) -> None:
        self.name = name
        self._read = read
        self._counter = count or (lambda: sum(1 for _ in read()))

    @cached_property
    def _count(self) -> int:
        return self._counter()

    def count(self) -> int:
        """Number of segments; the first call reads and checks all of them."""
        return self._count

    def __iter__(self) -> Iterator[str]:
        number = 0
        for text in self._read():
            number += 1
            yield text
        # A file that has grown or shrunk since it was counted would no longer match the other side.
        if "_count" in self.__dict__ and number != self._count:
            raise PrismError(
                f"{self.name} changed while it was being read: {_lines(self._count)}, then {number:,}"
            )


def open_lines(spec: str | Path, name: str | None = None) -> Lines:
    """Open the lines of a UTF-8 file (`.gz` and `.xz` are decompressed) or, for `-`, of standard input."""
    stream = open_stream(spec)
    return Lines(name or stream.name, lambda: _decoded(stream))


def lines_of(texts: Sequence[str], name: str) -> Lines:
    """Wrap texts that are already in memory; each is one segment, whatever it contains."""
    if isinstance(texts, str):
        raise PrismError(f"{name}: expected a list of strings, not a single string")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise PrismError(f"{name}, segment {number}: expected a string, not {type(text).__name__}")
        check_unicode(text, f"{name}, segment {number}")
    return Lines(name, lambda: iter(texts), lambda: len(texts))


def open_fields(spec: str | Path, fields: Sequence[str]) -> list[tuple[str, Lines]]:
    """Open the columns of a tab-separated file without a header, named by `fields`.

    A name may occur more than once, and `-` skips a column. Quotation marks have no special meaning.
    """
    stream = open_stream(spec)
    header = list(fields)

    def rows() -> Iterator[list[str]]:
        for number, line in enumerate(_decoded(stream), start=1):
            row = line.split("\t")
            if len(row) != len(header):
                wanted = f"{len(header)} for {' '.join(header)}"
                raise PrismError(f"{stream.name}, line {number}: {_columns(len(row))}, expected {wanted}")
            named = [(cell, name) for cell, name in zip(row, header, strict=True) if name != SKIP]
            if number == 1 and all(cell.strip().casefold() == name.casefold() for cell, name in named):
                raise PrismError(f"{stream.name}, line 1 repeats the field names: remove that line")
            yield row

    return [(header[index], column) for index, column in _columns_of(stream.name, header, rows)]


def open_jsonl(spec: str | Path, fields: Sequence[str]) -> list[tuple[str, Lines]]:
    """Open the values under the keys `fields` of a file with one JSON object per line.

    A value is a string or a list of strings (several references): as many on every line as on the first.
    """
    stream = open_stream(spec)
    if len(set(fields)) != len(fields):
        raise PrismError(f"{stream.name}: name each key once; several references are a list under one key")
    first = next(_decoded(stream), None)
    widths = [1] * len(fields)
    if first is not None:
        widths = [len(texts) for texts in _record(first, fields, f"{stream.name}, line 1")]
    names = [name for name, width in zip(fields, widths, strict=True) for _ in range(width)]

    def rows() -> Iterator[list[str]]:
        for number, line in enumerate(_decoded(stream), start=1):
            where = f"{stream.name}, line {number}"
            record = _record(line, fields, where)
            for name, texts, width in zip(fields, record, widths, strict=True):
                if len(texts) != width:
                    raise PrismError(f"{where}: {len(texts)} strings under {name!r}, but {width} on line 1")
            yield [text for texts in record for text in texts]

    return [(names[index], column) for index, column in _columns_of(stream.name, names, rows)]


def check_parallel(columns: Sequence[Lines]) -> int:
    """Count all parallel texts, check that they have the same number of segments, and return it."""
    for column in columns:
        if column.count() == 0:
            raise PrismError(f"{column.name} is empty: there is nothing to score")
    first = columns[0]
    for column in columns[1:]:
        if column.count() != first.count():
            raise PrismError(f"{first.name} has {_lines(first.count())} but {column.name} has {column.count():,}")
    return first.count()


def _decoded(stream: Stream) -> Iterator[str]:
    """Decode lines, without the line feed, a carriage return before it and the file's byte order mark."""
    where = " of the uncompressed text" if stream.compressed else ""
    offset = 0
    for number, raw in enumerate(stream.lines(), start=1):
        line = raw
        if number == 1 and raw.startswith(codecs.BOM_UTF8):
            line = raw[len(codecs.BOM_UTF8) :]
            if not line:
                return
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            place = offset + len(raw) - len(line) + error.start
            raise PrismError(
                f"{stream.name}, line {number}: byte 0x{line[error.start]:02x} at offset {place}{where} is not UTF-8;"
                " convert the file to UTF-8"
            ) from error
        offset += len(raw)
        if text.endswith("\n"):
            text = text[:-2] if text.endswith("\r\n") else text[:-1]
        yield text


def _columns_of(
    name: str, header: Sequence[str], rows: Callable[[], Iterator[list[str]]]
) -> Iterator[tuple[int, Lines]]:
    """Make a `Lines` for every requested column; the rows are counted once for all of them."""
    together = Lines(name, lambda: (row[0] for row in rows()))

    def column(index: int) -> Lines:
        return Lines(f"{name} ({header[index]})", lambda: (row[index] for row in rows()), together.count)

    wanted = [index for index, field in enumerate(header) if field != SKIP]
    if not wanted:
        raise PrismError(f"{name}: specify at least one field")
    return ((index, column(index)) for index in wanted)


def _record(line: str, fields: Sequence[str], where: str) -> list[list[str]]:
    """The strings under every key of one JSON object."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise PrismError(f"{where}, column {error.colno}: not valid JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise PrismError(f"{where}: cannot read this JSON ({error})") from error
    if not isinstance(record, dict):
        raise PrismError(f"{where}: expected a JSON object with the keys {', '.join(fields)}")
    return [_texts(record, field, where) for field in fields]


def _texts(record: dict[str, Any], field: str, where: str) -> list[str]:
    if field not in record:
        present = ", ".join(map(repr, islice(record, 10))) or "nothing"
        raise PrismError(f"{where}: no key {field!r}, only {present}")
    value = record[field]
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise PrismError(f"{where}: {field!r} must be a string or a list of strings")
    for text in texts:
        check_unicode(text, f"{where}: {field!r}")
    return texts


def check_unicode(text: str, where: str) -> None:
    """Reject a lone surrogate: JSON and Python can express it, but no model can read it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PrismError(f"{where}: character {error.start + 1} is a lone surrogate, not text") from error


def _lines(number: int) -> str:
    return f"{number:,} line" if number == 1 else f"{number:,} lines"


def _columns(number: int) -> str:
    return f"{number} column" if number == 1 else f"{number} columns"
