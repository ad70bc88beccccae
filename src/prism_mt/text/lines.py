"""Parallel text: lines from files, pipes, TSV and JSONL, counted before anything is done with them.

A line ends at a line feed and nowhere else: Unicode has more characters that look like ends of lines, and tools
that split there lose the alignment of candidate and reference.
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
"""Name of a column that is not wanted."""


class Lines:
    """Segments that can be counted and read again and again, one in memory at a time."""

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
        # A file that has grown or shrunk since it was counted would no longer fit the other side.
        if "_count" in self.__dict__ and number != self._count:
            raise PrismError(f"{self.name} was changed while it was read: {_lines(self._count)}, then {number:,}")


def open_lines(spec: str | Path, name: str | None = None) -> Lines:
    """The lines of a UTF-8 file (`.gz` and `.xz` are decompressed) or, for `-`, of standard input."""
    stream = open_stream(spec)
    return Lines(name or stream.name, lambda: _decoded(stream))


def lines_of(texts: Sequence[str], name: str) -> Lines:
    """Texts that are in memory already, each one segment whatever is in it."""
    if isinstance(texts, str):
        raise PrismError(f"{name}: expected a list of texts, not a single text")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise PrismError(f"{name}, segment {number}: expected a text, not {type(text).__name__}")
        check_unicode(text, f"{name}, segment {number}")
    return Lines(name, lambda: iter(texts), lambda: len(texts))


def open_fields(spec: str | Path, fields: Sequence[str]) -> list[tuple[str, Lines]]:
    """The columns of a tab-separated file without a header, each with its name from `fields`.

    A name may occur more than once, and the name `-` skips a column. Quotation marks have no meaning.
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
                raise PrismError(f"{stream.name}, line 1 repeats the names of the fields: take that line out")
            yield row

    return [(header[index], column) for index, column in _columns_of(stream.name, header, rows)]


def open_jsonl(spec: str | Path, fields: Sequence[str]) -> list[tuple[str, Lines]]:
    """The values under the keys `fields` of a file with one JSON object a line.

    A value is a text, or a list of texts (several references): as many on every line as on the first.
    """
    stream = open_stream(spec)
    if len(set(fields)) != len(fields):
        raise PrismError(f"{stream.name}: a key is named once; several references are a list under one key")
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
                    raise PrismError(f"{where}: {len(texts)} texts under {name!r}, but {width} on line 1")
            yield [text for texts in record for text in texts]

    return [(names[index], column) for index, column in _columns_of(stream.name, names, rows)]


def check_parallel(columns: Sequence[Lines]) -> int:
    """Count all texts that belong together and return how many segments each has; it must be the same number."""
    for column in columns:
        if column.count() == 0:
            raise PrismError(f"{column.name} is empty: there is nothing to score")
    first = columns[0]
    for column in columns[1:]:
        if column.count() != first.count():
            raise PrismError(f"{first.name} has {_lines(first.count())} but {column.name} has {column.count():,}")
    return first.count()


def _decoded(stream: Stream) -> Iterator[str]:
    """Lines as text, without line feed, the carriage return before it and the byte order mark of the file."""
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
    """A `Lines` for every column that is wanted; the rows are counted once for all of them."""
    together = Lines(name, lambda: (row[0] for row in rows()))

    def column(index: int) -> Lines:
        return Lines(f"{name} ({header[index]})", lambda: (row[index] for row in rows()), together.count)

    wanted = [index for index, field in enumerate(header) if field != SKIP]
    if not wanted:
        raise PrismError(f"{name}: name at least one field")
    return ((index, column(index)) for index in wanted)


def _record(line: str, fields: Sequence[str], where: str) -> list[list[str]]:
    """The texts under every key of one JSON object."""
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
        raise PrismError(f"{where}: {field!r} must be a text or a list of texts")
    for text in texts:
        check_unicode(text, f"{where}: {field!r}")
    return texts


def check_unicode(text: str, where: str) -> None:
    """Half a surrogate pair can be written in JSON or Python, but no model can read it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PrismError(f"{where}: character {error.start + 1} is half a surrogate pair, not text") from error


def _lines(number: int) -> str:
    return f"{number:,} line" if number == 1 else f"{number:,} lines"


def _columns(number: int) -> str:
    return f"{number} column" if number == 1 else f"{number} columns"
