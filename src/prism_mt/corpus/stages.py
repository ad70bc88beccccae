"""Steps in groups that run together: each stage reads the chunks of the one before and writes its own."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prism_mt.corpus.executor import Executor
from prism_mt.corpus.readers import Block, Selection, parse_block
from prism_mt.corpus.rows import Reject, Row
from prism_mt.corpus.steps.base import Cell, Filter, Ordered, Step
from prism_mt.corpus.store import Chunk, Counts, Store, save_array
from prism_mt.files import write_atomically
from prism_mt.progress import track


@dataclass(frozen=True)
class Stage:
    """Filters that go over each chunk together, and perhaps one ordered step behind them."""

    filters: tuple[Filter, ...] = ()
    ordered: Ordered | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps in order."""
        return (*self.filters, self.ordered) if self.ordered else self.filters


def plan(steps: Sequence[Step]) -> list[Stage]:
    """Cut a list of steps into stages.

    A step that needs the corpus starts a stage, an ordered step ends one; the first stage reads the sources.
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
        elif isinstance(step, Filter):
            filters.append(step)
    if filters or not stages:
        stages.append(Stage(tuple(filters)))
    return stages


@dataclass(frozen=True)
class Job:
    """What a worker needs besides the chunk."""

    stage: Stage
    names: Mapping[int, str]
    """The name of each step in reports, by `id` of the step's place."""
    output: Path
    previous: Path | None
    selection: Selection


def run_chunk(job: Job, item: Block | Chunk) -> Chunk:
    """Take one block or chunk through the stage; a chunk that an earlier run has finished is only reported."""
    store = Store(job.output)
    finished = store.load_done(item.index)
    if finished is not None:
        return finished
    counts: Counts = {}
    rejects: list[Reject] = []
    if isinstance(item, Block):
        rows, rejects, unwanted = parse_block(item, job.selection)
        counts["read"] = _count([], rows)
        if unwanted:
            counts["languages"] = {"others": [unwanted, 0, 0]}
    else:
        assert job.previous is not None
        rows = Store(job.previous).read(item)
    for place, step in enumerate(job.stage.filters):
        before = rows
        rows = step.apply(rows)
        counts[job.names[place]] = _count(before, rows)
    parts = store.write(item.index, rows)
    chunk = Chunk(item.index, parts, counts, tuple(rejects))
    if job.stage.ordered is not None:
        # The rows are grouped in the file, and the keys must be in the same order.
        rows = [row for part in parts for row in store.read_part(item.index, part)]
        save_array(store.path(item.index, "keys.npy"), job.stage.ordered.keys(rows))
    store.mark_done(chunk)
    return chunk


def _count(before: list[Row], after: list[Row]) -> dict[str, list[int]]:
    old, new = Counter(row.pair for row in before), Counter(row.pair for row in after)
    return {pair: [old[pair], new[pair], new[pair]] for pair in sorted(old | new)}


class Finished:
    """The output of a stage: what the next steps see as the corpus."""

    def __init__(self, directory: Path, chunks: Sequence[Chunk]) -> None:
        self.directory = directory
        self.store = Store(directory)
        self.chunks = chunks

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


def run_stage(
    job: Job, items: Iterable[Block | Chunk], executor: Executor, title: str, total: int | None
) -> Finished:
    """Run a stage over all items, or load it when an earlier run has completed it."""
    store, mark = Store(job.output), job.output / "complete.json"
    if mark.exists():
        return Finished(job.output, list(store.chunks()))
    job.output.mkdir(parents=True, exist_ok=True)
    chunks = []
    for chunk in track(executor.map(run_chunk, job, items), title, total):
        if job.stage.ordered is not None:
            chunk = _decide(store, chunk, job.stage.ordered, job.names[len(job.stage.filters)])
        chunks.append(chunk)
    with write_atomically(mark) as handle:
        json.dump({"chunks": len(chunks)}, handle)
    return Finished(job.output, chunks)


def _decide(store: Store, chunk: Chunk, step: Ordered, name: str) -> Chunk:
    """Let the ordered step decide about a chunk; its state follows from the keys, also of chunks done before."""
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
