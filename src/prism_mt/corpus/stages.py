"""Groups of steps that run together: each stage reads the previous stage's chunks and writes its own."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prism_mt._core.files import write_atomically
from prism_mt._core.progress import track
from prism_mt.corpus.executor import Executor
from prism_mt.corpus.pairwise import PairJob, cut_segments, run_segment, save_vectors
from prism_mt.corpus.readers import Block, Selection, parse_block
from prism_mt.corpus.rows import Reject, Row, by_cell
from prism_mt.corpus.steps.base import Cell, Filter, Ordered, Step
from prism_mt.corpus.steps.margin import Margin
from prism_mt.corpus.store import Chunk, Counts, Store, add_counts, count_pairs, save_array


@dataclass(frozen=True)
class Stage:
    """Filters that process each chunk together, and the step that follows them."""

    filters: tuple[Filter, ...] = ()
    ordered: Ordered | None = None
    """A step that decides about the filtered rows in order."""
    embed: Margin | None = None
    """A step that needs vectors of the filtered rows."""
    pairwise: Margin | None = None
    """A step that processes each language pair separately; it forms a stage of its own."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps that this stage completes, in order."""
        last = self.ordered or self.pairwise
        return (*self.filters, last) if last else self.filters


def plan(steps: Sequence[Step]) -> list[Stage]:
    """Divide a list of steps into stages.

    A step that needs the corpus starts a stage, an ordered step ends one, a margin filter takes two: vectors, pairs.
    The first stage reads the sources.
    """
    stages: list[Stage] = []
    filters: list[Filter] = []
    for step in steps:
        if step.needs_corpus:
            if filters or not stages:
                stages.append(Stage(tuple(filters)))
            filters = []
        if isinstance(step, Ordered):
            stages.append(Stage(tuple(filters), step))
            filters = []
        elif isinstance(step, Margin):
            stages += [Stage(tuple(filters), embed=step), Stage(pairwise=step)]
            filters = []
        elif isinstance(step, Filter):
            filters.append(step)
    if filters or not stages:
        stages.append(Stage(tuple(filters)))
    return stages


@dataclass(frozen=True)
class Job:
    """What a worker needs besides the chunk."""

    stage: Stage
    names: tuple[str, ...]
    """Names of the stage's steps in reports."""
    output: Path
    previous: Path | None
    selection: Selection


def run_chunk(job: Job, item: Block | Chunk) -> Chunk:
    """Run one block or chunk through the stage; if an earlier run has finished it, just return its report."""
    store = Store(job.output)
    finished = store.load_done(item.index)
    if finished is not None:
        return finished
    counts: Counts = {}
    rejects: list[Reject] = []
    if isinstance(item, Block):
        rows, rejects, unwanted = parse_block(item, job.selection)
        counts["read"] = count_pairs([], rows)
        if unwanted:
            counts["languages"] = {"others": [unwanted, 0, 0]}
    else:
        assert job.previous is not None
        rows = Store(job.previous).read(item)
    for place, step in enumerate(job.stage.filters):
        before = rows
        rows = step.apply(rows)
        counts[job.names[place]] = count_pairs(before, rows)
    parts = store.write(item.index, rows)
    chunk = Chunk(item.index, parts, counts, tuple(rejects))
    # The file groups the rows, and everything that belongs to them must be in the same order.
    rows = [row for group in by_cell(rows).values() for row in group]
    if job.stage.ordered is not None:
        save_array(store.path(item.index, "keys.npy"), job.stage.ordered.keys(rows))
    if job.stage.embed is not None:
        save_vectors(job.stage.embed, store, item.index, rows)
    store.mark_done(chunk)
    return chunk


class Finished:
    """The output of a stage: the corpus as the next steps see it."""

    def __init__(self, directory: Path, chunks: Sequence[Chunk], counts: Counts) -> None:
        self.directory = directory
        self.store = Store(directory)
        self.chunks = chunks
        self.counts = counts

    def sizes(self) -> Mapping[Cell, int]:
        """Rows by source and language pair."""
        sizes: Counter[Cell] = Counter()
        for chunk in self.chunks:
            copies = self.store.copies(chunk.index)
            start = 0
            for part in chunk.parts:
                rows = part.rows if copies is None else int(copies[start : start + part.rows].sum())
                sizes[part.source, part.pair] += rows
                start += part.rows
        return {cell: size for cell, size in sizes.items() if size}

    def rows(self) -> Iterator[Row]:
        """Every row, in order."""
        for chunk in self.chunks:
            yield from self.store.read(chunk)


def run_stage(job: Job, previous: Finished | None, blocks: Iterable[Block], executor: Executor) -> Finished:
    """Run a stage on the previous one's output, or load it if an earlier run has completed it."""
    store, mark = Store(job.output), job.output / "complete.json"
    if mark.exists():
        counts: Counts = json.loads(mark.read_text("utf-8"))
        return Finished(job.output, [_brief(chunk) for chunk in store.chunks()], counts)
    if previous is None:
        results, total = executor.map(run_chunk, job, blocks), None
    elif job.stage.pairwise is not None:
        segments = cut_segments(previous.chunks, job.stage.pairwise.config.max_rows)
        job.stage.pairwise.warn_about(code for _, pair in previous.sizes() for code in pair.split("-"))
        task = PairJob(job.stage.pairwise, job.names[0], job.output, previous.directory)
        results, total = executor.map(run_segment, task, segments), len(segments)
    else:
        results, total = executor.map(run_chunk, job, previous.chunks), len(previous.chunks)
    chunks, counts = [], {}
    for chunk in track(results, ", ".join(job.names) or "read", total):
        if job.stage.ordered is not None:
            chunk = _decide(store, chunk, job.stage.ordered, job.names[-1])
        add_counts(counts, chunk.counts)
        chunks.append(_brief(chunk))
    with write_atomically(mark) as handle:
        json.dump(counts, handle)
    return Finished(job.output, chunks, counts)


def _brief(chunk: Chunk) -> Chunk:
    """A chunk without its counts and rejects, of which a large corpus has too many to keep for every chunk."""
    return Chunk(chunk.index, chunk.parts)


def _decide(store: Store, chunk: Chunk, step: Ordered, name: str) -> Chunk:
    """Let the ordered step decide about a chunk; its state follows from the keys, including those of earlier chunks."""
    keys: Any = np.load(store.path(chunk.index, "keys.npy"))
    copies = step.decide(keys, [((part.source, part.pair), part.rows) for part in chunk.parts])
    if name in chunk.counts:
        return chunk
    counts: dict[str, list[int]] = {}
    start = 0
    for part in chunk.parts:
        mine = copies[start : start + part.rows]
        start += part.rows
        total = counts.setdefault(part.pair, [0, 0, 0])
        for place, number in enumerate((part.rows, int((mine > 0).sum()), int(mine.sum()))):
            total[place] += number
    save_array(store.path(chunk.index, "copies.npy"), copies)
    decided = Chunk(chunk.index, chunk.parts, {**chunk.counts, name: counts}, chunk.rejects)
    store.mark_done(decided)
    return decided
