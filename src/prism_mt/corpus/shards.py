"""The last stage: encode text as pieces, select validation rows, write shards."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt._core.progress import track
from prism_mt.corpus.config import ShardsConfig
from prism_mt.corpus.executor import Executor
from prism_mt.corpus.hashing import fraction, hash64
from prism_mt.corpus.rows import Row
from prism_mt.corpus.shard_writer import ShardWriter
from prism_mt.corpus.stages import Finished
from prism_mt.corpus.steps.decontaminate import load_held_out
from prism_mt.corpus.store import Chunk, Counts, Part, Store, add_counts, save_array

Sides = list[list[int]]
"""Pieces of a row's two texts and, if sources have their own vocabulary, of both texts in that one."""


@dataclass(frozen=True)
class EncodeJob:
    """What a worker needs to encode rows."""

    rows: Path
    output: Path
    model: Path
    config: ShardsConfig
    heldout: tuple[Path, ...]
    seed: int
    source_model: Path | None = None
    """For sources only, if they have their own vocabulary."""


def encode_chunk(job: EncodeJob, chunk: Chunk) -> Chunk:
    """Write the pieces of a chunk; rows that are too long are dropped and counted."""
    store = Store(job.output)
    finished = store.load_done(chunk.index)
    if finished is not None:
        return finished
    rows = Store(job.rows).read(chunk)
    models = [job.model] if job.source_model is None else [job.model, job.source_model]
    encoded_sides = [_encode_sides(rows, _encoder(str(model))) for model in models]
    tokens: list[int] = []
    index: list[tuple[int, ...]] = []
    parts: Counter[tuple[int, str]] = Counter()
    for row in rows:
        sides = [found[text] for found in encoded_sides for text in (row.text1, row.text2)]
        lengths = [len(side) for side in sides]
        if min(lengths) > 0 and max(lengths) <= job.config.max_pieces:
            for side in sides:
                tokens += side
            index.append((int(_set_aside(row, job)), *lengths))
            parts[row.source, row.pair] += 1
    save_array(store.path(chunk.index, "tokens.npy"), np.array(tokens, dtype=np.uint32))
    save_array(
        store.path(chunk.index, "index.npy"), np.array(index, dtype=np.int32).reshape(-1, 1 + 2 * len(models))
    )
    # Rows of one part stay together, so the part lengths tell each row's pair.
    encoded = Chunk(
        chunk.index,
        tuple(Part(source, pair, number, 0, 0) for (source, pair), number in parts.items()),
        {"pieces": _count(rows, parts)},
        overlaps=sum(load_held_out(job.heldout).overlaps(rows)),
    )
    store.mark_done(encoded)
    return encoded


def _encode_sides(rows: list[Row], encode: Callable[[list[str]], list[list[int]]]) -> dict[str, list[int]]:
    """Encode each distinct text once."""
    texts = list(dict.fromkeys(text for row in rows for text in (row.text1, row.text2)))
    return dict(zip(texts, encode(texts), strict=True))


def _count(rows: list[Row], parts: Counter[tuple[int, str]]) -> dict[str, list[int]]:
    before, after = Counter(row.pair for row in rows), Counter[str]()
    for (_, pair), number in parts.items():
        after[pair] += number
    return {pair: [number, after[pair], after[pair]] for pair, number in sorted(before.items())}


def _set_aside(row: Row, job: EncodeJob) -> bool:
    """Whether a sentence of the row is set aside for validation, in whatever pair it occurs."""
    share = job.config.valid_share if job.config.valid else 0.0
    return any(fraction(job.seed, "valid", text) < share for text in (row.text1, row.text2))


@lru_cache(maxsize=2)
def _encoder(path: str) -> Callable[[list[str]], list[list[int]]]:
    import sentencepiece

    # One thread: the chunks already use all cores.
    processor: Any = sentencepiece.SentencePieceProcessor(model_file=path, num_threads=1)
    return lambda texts: list(processor.encode(texts))


def encode(job: EncodeJob, finished: Finished, executor: Executor) -> Finished:
    """Encode all chunks; fail if training rows contain sentences of held-out files."""
    chunks, counts, overlaps = [], Counts(), 0
    for chunk in track(executor.map(encode_chunk, job, finished.chunks), "encode", len(finished.chunks)):
        add_counts(counts, chunk.counts)
        chunks.append(Chunk(chunk.index, chunk.parts))
        overlaps += chunk.overlaps
    if overlaps:
        raise PrismError(
            f"{overlaps} rows contain a sentence of the held-out files ({', '.join(p.name for p in job.heldout)}): "
            'add a [[step]] with kind = "decontaminate"'
        )
    return Finished(job.output, chunks, counts)


def write_shards(job: EncodeJob, chunks: Sequence[Chunk], languages: list[str], folder: Path) -> Counts:
    """Combine the encoded chunks into shards; return the number of rows in each part."""
    store, valid = Store(job.output), _Validation(job.config.valid)
    own = None if job.source_model is None else job.source_model.read_bytes()
    with ShardWriter(folder, job.model.read_bytes(), languages, job.config.tokens, own) as writer:
        for chunk in track(chunks, "shards", len(chunks)):
            for pair, sides, aside in _read_rows(store, chunk):
                if aside:
                    valid.offer(pair, sides)
                else:
                    _add(writer, "train", pair, sides)
        for pair, sides in valid.rows():
            _add(writer, "valid", pair, sides)
    sizes = Counter(pair for pair, *_ in valid.rows())
    # A sentence that was set aside is never trained on, even if its pair has enough validation rows without it.
    set_aside = {pair: [offered, sizes[pair], sizes[pair]] for pair, offered in sorted(valid.offered.items())}
    parts = {
        name: {pair: [n, n, n] for pair, n in sorted(counts.items())}
        for name, counts in (("validation", sizes), ("training", writer.counts))
    }
    return {"set aside": set_aside, **parts}


def _add(writer: ShardWriter, part: Literal["train", "valid"], pair: str, sides: Sides) -> None:
    first, second = pair.split("-")
    side1, side2, *as_sources = sides
    writer.add(part, first, second, side1, side2, (as_sources[0], as_sources[1]) if as_sources else None)


def _read_rows(store: Store, chunk: Chunk) -> Iterator[tuple[str, Sides, bool]]:
    """Yield pair, pieces of both sides, and whether the row was set aside."""
    tokens, index = (np.load(store.path(chunk.index, f"{name}.npy")) for name in ("tokens", "index"))
    pairs = [part.pair for part in chunk.parts for _ in range(part.rows)]
    start = 0
    for pair, (aside, *lengths) in zip(pairs, index.tolist(), strict=True):
        ends = [start, *(start + end for end in itertools.accumulate(lengths))]
        start = ends[-1]
        yield pair, [tokens[one:other].tolist() for one, other in itertools.pairwise(ends)], bool(aside)


class _Validation:
    """A fixed number of set-aside rows per pair from all over the corpus: those with the smallest hashes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.offered = Counter[str]()
        self._found: dict[str, dict[int, Sides]] = {}

    def offer(self, pair: str, sides: Sides) -> None:
        self.offered[pair] += 1
        found = self._found.setdefault(pair, {})
        # A row repeated by sampling has the same hash each time.
        found[hash64(f"{sides[0]} {sides[1]}")] = sides
        if len(found) > self._limit:
            del found[max(found)]

    def rows(self) -> Iterator[tuple[str, Sides]]:
        for pair, found in sorted(self._found.items()):
            yield from ((pair, found[key]) for key in sorted(found))
