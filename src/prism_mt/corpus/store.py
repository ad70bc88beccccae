"""Rows between two stages, in chunk files that can be read pair by pair."""

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt.corpus.rows import Reject, Row, by_cell

Counts = dict[str, dict[str, list[int]]]
"""Per step and language pair: rows before, rows kept, and rows after with repetitions."""


class Part(NamedTuple):
    """The rows of one source and language pair in a chunk file."""

    source: int
    pair: str
    rows: int
    offset: int
    length: int


@dataclass(frozen=True)
class Chunk:
    """A worker's report about a chunk it has written."""

    index: int
    parts: tuple[Part, ...]
    counts: Counts = field(default_factory=dict)
    rejects: tuple[Reject, ...] = ()
    overlaps: int = 0

    @property
    def rows(self) -> int:
        """Rows in the file, before any decision of an ordered step."""
        return sum(part.rows for part in self.parts)


def add_counts(totals: Counts, counts: Counts) -> None:
    """Add the counts of one chunk to those of many."""
    for step, pairs in counts.items():
        known = totals.setdefault(step, {})
        for pair, numbers in pairs.items():
            old = known.get(pair, [0, 0, 0])
            known[pair] = [a + b for a, b in zip(old, numbers, strict=True)]


def count_pairs(before: Iterable[Row], after: Iterable[Row]) -> dict[str, list[int]]:
    """Count rows before and after a filter by language pair."""
    old, new = Counter(row.pair for row in before), Counter(row.pair for row in after)
    return {pair: [old[pair], new[pair], new[pair]] for pair in sorted(old | new)}


class Store:
    """A directory of numbered chunks: rows, optional keys and decisions of an ordered step, and a done mark."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, index: int, kind: str) -> Path:
        """Path of one kind of file (`rows.gz`, `keys.npy`, `copies.npy`, `done.json`) of a chunk."""
        return self.directory / f"{index:06d}.{kind}"

    def write(self, index: int, rows: Iterable[Row]) -> tuple[Part, ...]:
        """Write the rows of a chunk, grouped by source and pair, each group as a separate gzip member."""
        parts, offset = [], 0
        with write_atomically(self.path(index, "rows.gz"), "wb") as handle:
            for (source, pair), group in by_cell(rows).items():
                columns = [list(column) for column in zip(*((r.line, *r[4:]) for r in group), strict=True)]
                member = gzip.compress(json.dumps(columns, ensure_ascii=False).encode(), 1, mtime=0)
                handle.write(member)
                parts.append(Part(source, pair, len(group), offset, len(member)))
                offset += len(member)
        return tuple(parts)

    def read_part(self, index: int, part: Part) -> list[Row]:
        """Read the rows of one part, as written."""
        with open(self.path(index, "rows.gz"), "rb") as handle:
            handle.seek(part.offset)
            columns = json.loads(gzip.decompress(handle.read(part.length)))
        lang1, lang2 = part.pair.split("-")
        return [Row(part.source, line, lang1, lang2, *rest) for line, *rest in zip(*columns, strict=True)]

    def read(self, chunk: Chunk) -> list[Row]:
        """Read the rows of a chunk, each as often as the ordered step decided."""
        rows = [row for part in chunk.parts for row in self.read_part(chunk.index, part)]
        copies = self.copies(chunk.index)
        if copies is None:
            return rows
        return [row for row, times in zip(rows, copies.tolist(), strict=True) for _ in range(times)]

    def copies(self, index: int) -> npt.NDArray[np.int64] | None:
        """Copies of each row that the ordered step decided on; None if there was no such step."""
        path = self.path(index, "copies.npy")
        return np.load(path) if path.exists() else None

    def mark_done(self, chunk: Chunk) -> None:
        """Record that the files of a chunk are complete."""
        with write_atomically(self.path(chunk.index, "done.json")) as handle:
            json.dump(
                {
                    "parts": chunk.parts,
                    "counts": chunk.counts,
                    "rejects": chunk.rejects,
                    "overlaps": chunk.overlaps,
                },
                handle,
            )

    def load_done(self, index: int) -> Chunk | None:
        """The report on a finished chunk; None if it is not finished."""
        path = self.path(index, "done.json")
        if not path.exists():
            return None
        found = json.loads(path.read_text("utf-8"))
        return Chunk(
            index,
            tuple(Part(*part) for part in found["parts"]),
            found["counts"],
            tuple(Reject(*reject) for reject in found["rejects"]),
            found["overlaps"],
        )

    def chunks(self) -> Iterator[Chunk]:
        """All finished chunks, in order."""
        index = 0
        while (chunk := self.load_done(index)) is not None:
            yield chunk
            index += 1

    def remove_rows(self) -> None:
        """Free the disk once the next stage is complete; the reports stay."""
        for kind in ("rows.gz", "keys.npy", "copies.npy", "vectors.npy", "sides.npy"):
            for path in self.directory.glob(f"*.{kind}"):
                path.unlink()


def save_array(path: Path, array: npt.NDArray[np.generic]) -> None:
    """Write a NumPy array that appears complete or not at all."""
    with write_atomically(path, "wb") as handle:
        np.save(handle, array, allow_pickle=False)


def remove_directory(path: Path) -> None:
    """Delete a directory and its content."""
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise PrismError(f"cannot remove {path}: {error.strerror}") from error
