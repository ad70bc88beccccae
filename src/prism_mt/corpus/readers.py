"""Read source files into rows: this process cuts blocks of raw lines, the workers parse them."""

import codecs
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.corpus.config import Source
from prism_mt.corpus.hashing import fraction
from prism_mt.corpus.rows import Reject, Row, oriented
from prism_mt.corpus.tmx import read_units
from prism_mt.text.languages import language
from prism_mt.text.streams import open_stream

# A multi-parallel line yields many rows, so its blocks are smaller.
_BLOCK_BYTES = {"tsv": 2_000_000, "moses": 2_000_000, "jsonl": 400_000, "tmx": 400_000}

Unit = tuple[bytes, ...]
"""One line of a file, or two corresponding lines of Moses-style files."""
Side = tuple[str, str]
"""A language code and a text."""


@dataclass(frozen=True)
class Block:
    """Consecutive lines of a source; lines are counted from 1."""

    index: int
    source: Source
    first_line: int
    units: list[Unit]


@dataclass(frozen=True)
class Selection:
    """The requested languages, and the seed for choosing among pairs."""

    languages: frozenset[str]
    seed: int


def read_blocks(sources: Sequence[Source]) -> Iterator[Block]:
    """Cut all sources into blocks, the same way every time."""
    index = itertools.count()
    for source in sources:
        units: list[Unit] = []
        size, first = 0, 1
        for number, unit in enumerate(_units(source), 1):
            units.append(unit)
            size += sum(map(len, unit))
            if size >= _BLOCK_BYTES[source.format]:
                yield Block(next(index), source, first, units)
                units, size, first = [], 0, number + 1
        if units:
            yield Block(next(index), source, first, units)


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a plain or compressed file, without line ends and byte order mark."""
    for number, line in enumerate(open_stream(path).lines()):
        yield (line if number else line.removeprefix(codecs.BOM_UTF8)).rstrip(b"\r\n")


def _units(source: Source) -> Iterator[Unit]:
    if source.format == "tmx":
        for unit in read_units(source.files[0]):
            yield (json.dumps(unit).encode(),)
    elif source.format == "moses":
        yield from _moses_units(source.files)
    else:
        for line in read_lines(source.files[0]):
            yield (line,)


def _moses_units(files: Sequence[Path]) -> Iterator[Unit]:
    for number, lines in enumerate(itertools.zip_longest(*map(read_lines, files)), 1):
        if None in lines:
            shorter = files[lines.index(None)]
            raise PrismError(
                f"{shorter} ends before line {number}: its lines do not match those of the other file"
            )
        yield lines


def parse_block(block: Block, selection: Selection) -> tuple[list[Row], list[Reject], int]:
    """Parse a block: its rows, its rejected lines, and the number of lines without a requested pair.

    A bad side of a multi-parallel line is rejected on its own: the other languages stay.
    """
    rows: list[Row] = []
    rejects: list[Reject] = []
    unwanted = 0
    for line, unit in enumerate(block.units, block.first_line):
        try:
            found, margin = _parse(block.source, unit)
        except ValueError as error:
            rejects.append(Reject(block.source.files[0].name, line, str(error)))
            continue
        reasons = [_problem(code, text) for code, text in found]
        rejects += [Reject(block.source.files[0].name, line, reason) for reason in reasons if reason]
        sides = [
            (usual, text)
            for (code, text), reason in zip(found, reasons, strict=True)
            if not reason and (usual := _usual_code(code)) in selection.languages and usual
        ]
        pairs = _pairs(sides, block.source, line, selection.seed)
        unwanted += not pairs and not any(reasons)
        rows += [oriented(block.source.index, line, *pair, margin) for pair in pairs]
    return rows, rejects, unwanted


def _parse(source: Source, unit: Unit) -> tuple[list[Side], float | None]:
    """Split one unit into sides; a ValueError says what is wrong with it."""
    try:
        texts = [part.decode("utf-8") for part in unit]
    except UnicodeDecodeError:
        raise ValueError("not valid UTF-8") from None
    if source.format == "moses":
        return list(zip(source.config.languages, texts, strict=True)), None
    if source.format == "tsv":
        return _parse_tsv(texts[0], source.config.margin_column)
    found: list[Side] = json.loads(texts[0]) if source.format == "tmx" else _parse_json(texts[0])
    if len(found) < 2:
        raise ValueError("fewer than two languages")
    return found, None


def _parse_tsv(line: str, margin_column: int) -> tuple[list[Side], float | None]:
    columns, expected = line.split("\t"), max(4, margin_column)
    if len(columns) != expected:
        raise ValueError(f"{len(columns)} columns instead of {expected}")
    margin = None
    if margin_column:
        try:
            margin = float(columns[margin_column - 1])
        except ValueError:
            margin = math.nan
        if not math.isfinite(margin):
            raise ValueError(f"the margin {columns[margin_column - 1]!r} is not a number")
    return [(columns[0], columns[2]), (columns[1], columns[3])], margin


def _parse_json(line: str) -> list[Side]:
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("not valid JSON") from None
    if not isinstance(found, dict):
        raise ValueError("not an object of texts by language")
    # Keys that start with an underscore are not languages (`id` is Indonesian, `_id` names the row).
    sides = [(key, text) for key, text in found.items() if not key.startswith("_")]
    if not all(isinstance(text, str) for _, text in sides):
        raise ValueError("not an object of texts by language")
    return sides


def _problem(code: str, text: str) -> str | None:
    """Describe what is wrong with a side, if anything."""
    if _usual_code(code) is None:
        return f"unknown language code {code!r}"
    if not text.strip():
        return f"empty {code} side"
    # JSON can express a lone surrogate, which is not a character.
    return None if _encodable(text) else f"the {code} side is not valid Unicode"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@cache
def _usual_code(code: str) -> str | None:
    """The standard code of a language (`deu` and `de-AT` are `de`)."""
    try:
        return language(code).code
    except PrismError:
        return None


def _pairs(sides: list[Side], source: Source, line: int, seed: int) -> list[tuple[Side, Side]]:
    """The pairs that the source's configuration asks for."""
    pairs = [pair for pair in itertools.combinations(sides, 2) if _asked_for(pair, source.config.pairs)]
    limit = source.config.pairs_per_row
    if limit and len(pairs) > limit:
        pairs.sort(key=lambda pair: fraction(seed, "pairs", source.files[0].name, line, pair[0][0], pair[1][0]))
        pairs = pairs[:limit]
    return pairs


def _asked_for(pair: tuple[Side, Side], wanted: list[str]) -> bool:
    if not wanted:
        return True
    first, second = sorted(side[0] for side in pair)
    return any(word in (first, second, f"{first}-{second}", f"{second}-{first}") for word in wanted)
