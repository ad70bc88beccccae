"""N-best lists as files: text, TSV and JSONL output, JSONL input, and output that a killed run can resume."""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt._core.locks import lock_file
from prism_mt.generate.generator import CONTROL, Hypothesis
from prism_mt.text.lines import Lines, check_unicode, open_lines

ListKind = Literal["translations", "paraphrases"]
ListFormat = Literal["text", "tsv", "jsonl"]
_KEYS = ("translations", "paraphrases", "hypotheses")
_LARGEST = 1e300
"""Keys of scores in JSON, whose numbers may have any number of digits."""


class Record(NamedTuple):
    """An input with its hypotheses."""

    source: str
    hypotheses: Sequence[Hypothesis]


def render(record: Record, number: int, kind: ListKind, format: ListFormat) -> str:
    """Format one record: one text per line; number, rank, score and text; or one JSON object."""
    if format != "jsonl":
        # A line feed or tab within a text would break the lines and columns of everything that follows.
        texts = [CONTROL.sub(" ", one.text) for one in record.hypotheses]
        if format == "text":
            return "".join(f"{text}\n" for text in texts)
        rows = enumerate(zip(record.hypotheses, texts, strict=True), start=1)
        return "".join(f"{number}\t{rank}\t{one.score:.6f}\t{text}\n" for rank, (one, text) in rows)
    hypotheses = [{"text": one.text, "score": round(one.score, 6)} for one in record.hypotheses]
    return json.dumps({"source": record.source, kind: hypotheses}, ensure_ascii=False) + "\n"


def open_lists(spec: str | Path) -> "Lists":
    """Open a JSONL file with a source and its hypotheses per line, as `prism translate` and `paraphrase` write it."""
    return Lists(open_lines(spec))


def open_plain_lists(spec: str | Path, size: int, sources: Lines | None = None) -> "PlainLists":
    """Plain text with `size` hypotheses of a segment, one a line, segment after segment."""
    lines = open_lines(spec)
    count = lines.count()
    if count % size:
        raise PrismError(
            f"{lines.name} has {count:,} lines, which is no multiple of {size:,} candidates a segment"
        )
    if sources is not None and sources.count() != count // size:
        raise PrismError(
            f"{lines.name} has candidates of {count // size:,} segments, but {sources.name} has {sources.count():,}"
        )
    return PlainLists(lines, size, sources)


class Lists:
    """Records that can be counted and read repeatedly, one in memory at a time."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.name = lines.name

    def count(self) -> int:
        """Number of records."""
        return self.lines.count()

    def __iter__(self) -> Iterator[Record]:
        for number, line in enumerate(self.lines, start=1):
            yield _parse(line, f"{self.name}, line {number}")


class PlainLists(Lists):
    """Records of so many lines each."""

    def __init__(self, lines: Lines, size: int, sources: Lines | None = None) -> None:
        super().__init__(lines)
        self._size, self._sources = size, sources

    def count(self) -> int:
        """Number of records."""
        return self.lines.count() // self._size

    def __iter__(self) -> Iterator[Record]:
        sources = iter(self._sources) if self._sources is not None else repeat("")
        for texts in zip(*[iter(self.lines)] * self._size, strict=True):
            yield Record(next(sources), [Hypothesis(text, 0.0) for text in texts])


def _parse(line: str, where: str) -> Record:
    try:
        table: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PrismError(f"{where} is not valid JSON: each line must be an object with {_KEYS[0]}") from error
    entries = next((table[key] for key in _KEYS if key in table), None) if isinstance(table, dict) else None
    if not isinstance(entries, list) or not isinstance(table.get("source", ""), str):
        raise PrismError(f"{where}: expected an object with the key source and a list under {' or '.join(_KEYS)}")
    record = Record(table.get("source", ""), [_hypothesis(entry, where) for entry in entries])
    for text in (record.source, *(one.text for one in record.hypotheses)):
        check_unicode(text, where)
    return record


def _hypothesis(entry: Any, where: str) -> Hypothesis:
    """Parse a string, or an object with a text and possibly a score."""
    if isinstance(entry, str):
        return Hypothesis(entry, 0.0)
    if isinstance(entry, dict) and isinstance(entry.get("text"), str):
        score = entry.get("score", 0.0)
        if isinstance(score, (int, float)) and abs(score) < _LARGEST:
            return Hypothesis(entry["text"], float(score))
    raise PrismError(f"{where}: a hypothesis is a string, or an object with text and score, not {entry!r:.60}")


def write_lists(
    path: Path | None, kind: ListKind, format: ListFormat, run: str, make: Callable[[int], Iterator[Record]]
) -> None:
    """Write the records that `make` yields from an index (from 0) on, to a file or to standard output.

    Until everything is done, records are in `<name>.partial`. A run with the same `run`, a digest of all that the
    result depends on, resumes that file after its last complete record.
    """
    if path is None:
        for number, record in enumerate(make(0), start=1):
            sys.stdout.write(render(record, number, kind, format))
        sys.stdout.flush()
        return
    if path.is_dir():
        raise PrismError(f"{path} is a folder: name a file")
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "a+b") as handle:
            lock_file(handle, f"another run is writing {partial}: wait for it, or choose another `output=`")
            done = _resume(handle, partial, run)
            for record in make(done):
                handle.write(_packed(record))
                handle.flush()
            handle.seek(0)
            handle.readline()
            with write_atomically(path) as output:
                for number, line in enumerate(handle, start=1):
                    output.write(render(_unpacked(line), number, kind, format))
            partial.unlink()
    except OSError as error:
        raise PrismError(f"cannot write {path}: {error.strerror or error}") from error


def fingerprint(texts: Lines, *settings: object) -> str:
    """Return a digest of everything a run depends on: its input and its settings."""
    digest = hashlib.sha256(json.dumps(settings).encode())
    for text in texts:
        digest.update(text.encode() + b"\n")
    return digest.hexdigest()


def _resume(handle: IO[bytes], partial: Path, run: str) -> int:
    """Check which run the file belongs to, cut off an incomplete last record, and count the complete ones."""
    header = json.dumps({"unfinished": run}).encode() + b"\n"
    handle.seek(0)
    first = handle.readline()
    if not first.endswith(b"\n"):
        handle.truncate(0)
        handle.write(header)
        return 0
    if first != header:
        raise PrismError(
            f"{partial} is the unfinished output of another run, with other input, model or options: "
            "delete it, or choose another `output=`"
        )
    whole, done = len(first), 0
    for line in handle:
        if line.endswith(b"\n"):
            whole, done = whole + len(line), done + 1
    handle.truncate(whole)
    handle.seek(0, os.SEEK_END)
    return done


def _packed(record: Record) -> bytes:
    return json.dumps([record.source, [list(one) for one in record.hypotheses]]).encode() + b"\n"


def _unpacked(line: bytes) -> Record:
    source, hypotheses = json.loads(line)
    return Record(source, [Hypothesis(*one) for one in hypotheses])
