"""Stages that process each language pair separately: segments of rows with their vectors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.margin import Margin
from prism_mt.corpus.store import Chunk, Part, Store, count_pairs, save_array
from prism_mt.encoders.sentence import Vectors


@dataclass(frozen=True)
class Piece:
    """One part of a chunk, and the position of its rows in the chunk."""

    chunk: int
    part: Part
    start: int


@dataclass(frozen=True)
class Segment:
    """Rows of one language pair that are processed together."""

    index: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class PairJob:
    """What a worker needs besides the segment."""

    step: Margin
    name: str
    output: Path
    previous: Path


def cut_segments(chunks: Sequence[Chunk], max_rows: int) -> list[Segment]:
    """Split the rows of each pair into segments of about equal size, none much larger than `max_rows`."""
    pairs: dict[str, list[Piece]] = {}
    for chunk in chunks:
        start = 0
        for part in chunk.parts:
            pairs.setdefault(part.pair, []).append(Piece(chunk.index, part, start))
            start += part.rows
    groups = [group for pair in sorted(pairs) for group in _balanced(pairs[pair], max_rows)]
    return [Segment(index, tuple(group)) for index, group in enumerate(groups)]


def _balanced(pieces: list[Piece], max_rows: int) -> list[list[Piece]]:
    """Make segments equally large: a small last one would have few neighbors and different margins."""
    total = sum(piece.part.rows for piece in pieces)
    size = total / math.ceil(total / max_rows)
    groups: list[list[Piece]] = [[]]
    rows = 0
    for piece in pieces:
        if groups[-1] and rows >= size * len(groups):
            groups.append([])
        groups[-1].append(piece)
        rows += piece.part.rows
    return groups


def save_vectors(step: Margin, store: Store, index: int, rows: Sequence[Row]) -> None:
    """Embed the sentences of a chunk for a later pairwise stage; half precision is enough for margins."""
    vectors, sides = step.embed(rows)
    save_array(store.path(index, "vectors.npy"), vectors.astype(np.float16))
    save_array(store.path(index, "sides.npy"), sides)


def run_segment(job: PairJob, segment: Segment) -> Chunk:
    """Filter one segment; if an earlier run has finished it, just return its report."""
    store, previous = Store(job.output), Store(job.previous)
    finished = store.load_done(segment.index)
    if finished is not None:
        return finished
    rows = [row for piece in segment.pieces for row in previous.read_part(piece.chunk, piece.part)]
    vectors = [_vectors(previous, piece) for piece in segment.pieces]
    kept = rows
    if all(found is not None for found in vectors):
        both = [found for found in vectors if found is not None]
        kept = job.step.apply(rows, *(np.concatenate([pair[side] for pair in both]) for side in (0, 1)))
    parts = store.write(segment.index, kept)
    chunk = Chunk(segment.index, parts, {job.name: count_pairs(rows, kept)})
    store.mark_done(chunk)
    return chunk


def _vectors(store: Store, piece: Piece) -> tuple[Vectors, Vectors] | None:
    """Vectors of both sides of a piece's rows; None if the encoder does not support a language."""
    sides = np.load(store.path(piece.chunk, "sides.npy"))[piece.start : piece.start + piece.part.rows]
    if len(sides) and sides.min() < 0:
        return None
    vectors = np.load(store.path(piece.chunk, "vectors.npy"), mmap_mode="r")
    return vectors[sides[:, 0]].astype(np.float32), vectors[sides[:, 1]].astype(np.float32)
