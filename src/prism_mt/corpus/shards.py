"""The last stage: pieces instead of text, a validation part, and shards."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from prism_mt.corpus.config import ShardsConfig
from prism_mt.corpus.executor import Executor
from prism_mt.corpus.hashing import fraction
from prism_mt.corpus.rows import Row
from prism_mt.corpus.stages import Finished
from prism_mt.corpus.steps.decontaminate import load_held_out
from prism_mt.corpus.store import Chunk, Counts, Part, Store, add_counts, save_array
from prism_mt.errors import PrismError
from prism_mt.progress import track
from prism_mt.training.shards import ShardWriter


@dataclass(frozen=True)
class EncodeJob:
    """What a worker needs to turn rows into pieces."""

    rows: Path
    output: Path
    model: Path
    config: ShardsConfig
    heldout: tuple[Path, ...]
    seed: int


def encode_chunk(job: EncodeJob, chunk: Chunk) -> Chunk:
    """Write the pieces of a chunk; rows that are too long are dropped and counted."""
    store = Store(job.output)
    finished = store.load_done(chunk.index)
    if finished is not None:
        return finished
    rows = Store(job.rows).read(chunk)
    sides = _encode_sides(rows, _encoder(str(job.model)))
    tokens: list[int] = []
    index: list[tuple[int, int, bool]] = []
    parts: Counter[tuple[int, str]] = Counter()
    for row in rows:
        side1, side2 = sides[row.text1], sides[row.text2]
        if side1 and side2 and max(len(side1), len(side2)) <= job.config.max_pieces:
            tokens += side1
            tokens += side2
            index.append((len(side1), len(side2), _set_aside(row, job)))
            parts[row.source, row.pair] += 1
    save_array(store.path(chunk.index, "tokens.npy"), np.array(tokens, dtype=np.uint32))
    save_array(store.path(chunk.index, "index.npy"), np.array(index, dtype=np.int32).reshape(-1, 3))
    # Rows of one part stay together, so the lengths of the parts tell the pair of each row.
    encoded = Chunk(
        chunk.index,
        tuple(Part(source, pair, number, 0, 0) for (source, pair), number in parts.items()),
        {"pieces": _count(rows, parts)},
        overlaps=sum(load_held_out(job.heldout).overlaps(rows)),
    )
    store.mark_done(encoded)
    return encoded


def _encode_sides(rows: list[Row], encode: Callable[[list[str]], list[list[int]]]) -> dict[str, list[int]]:
    """The pieces of each different text."""
    texts = list(dict.fromkeys(text for row in rows for text in (row.text1, row.text2)))
    return dict(zip(texts, encode(texts), strict=True))


def _count(rows: list[Row], parts: Counter[tuple[int, str]]) -> dict[str, list[int]]:
    before, after = Counter(row.pair for row in rows), Counter[str]()
    for (_, pair), number in parts.items():
        after[pair] += number
    return {pair: [number, after[pair], after[pair]] for pair, number in sorted(before.items())}


def _set_aside(row: Row, job: EncodeJob) -> bool:
    """Whether a sentence of the row is one of those kept for validation, in whatever pair it occurs."""
    share = job.config.valid_share if job.config.valid else 0.0
    return any(fraction(job.seed, "valid", text) < share for text in (row.text1, row.text2))


@lru_cache(maxsize=1)
def _encoder(path: str) -> Callable[[list[str]], list[list[int]]]:
    import sentencepiece

    # One thread: the chunks already go to all cores.
    processor: Any = sentencepiece.SentencePieceProcessor(model_file=path, num_threads=1)
    return lambda texts: list(processor.encode(texts))


def encode(job: EncodeJob, finished: Finished, executor: Executor) -> Finished:
    """Encode all chunks; fails when training rows have sentences of held-out files."""
    chunks, counts, overlaps = [], Counts(), 0
    for chunk in track(executor.map(encode_chunk, job, finished.chunks), "encode", len(finished.chunks)):
        add_counts(counts, chunk.counts)
        chunks.append(Chunk(chunk.index, chunk.parts))
        overlaps += chunk.overlaps
    if overlaps:
        raise PrismError(
            f"{overlaps} rows have a sentence of the held-out files ({', '.join(p.name for p in job.heldout)}): "
            'add a [[step]] with kind = "decontaminate"'
        )
    return Finished(job.output, chunks, counts)


def write_shards(job: EncodeJob, chunks: Sequence[Chunk], languages: list[str], folder: Path) -> Counts:
    """Put the encoded chunks together; returns how many rows went into each part."""
    store, valid = Store(job.output), Counter[str]()
    counts: Counts = {"validation": {}, "training": {}}
    model = job.model.read_bytes()
    with ShardWriter(folder, model, languages, shard_tokens=job.config.tokens) as writer:
        for chunk in track(chunks, "shards", len(chunks)):
            tokens, index = (np.load(store.path(chunk.index, f"{name}.npy")) for name in ("tokens", "index"))
            pairs = np.repeat(np.arange(len(chunk.parts)), [part.rows for part in chunk.parts])
            _add_rows(writer, chunk, (tokens, index, pairs), valid, job.config.valid)
    counts["validation"] = {pair: [n, n, n] for pair, n in sorted(valid.items())}
    counts["training"] = {pair: [n, n, n] for pair, n in sorted(writer.counts.items())}
    return counts


def _add_rows(
    writer: ShardWriter, chunk: Chunk, arrays: tuple[npt.NDArray[Any], ...], valid: Counter[str], limit: int
) -> None:
    tokens, index, pairs = arrays
    start, last = 0, b""
    for (length1, length2, aside), place in zip(index.tolist(), pairs.tolist(), strict=True):
        row = tokens[start : start + length1 + length2]
        start += length1 + length2
        pair = chunk.parts[place].pair
        lang1, lang2 = pair.split("-")
        if not aside:
            writer.add("train", lang1, lang2, row[:length1].tolist(), row[length1:].tolist())
        # A row that the sampling repeats follows itself; once is enough to validate.
        elif valid[pair] < limit and (key := row.tobytes()) != last:
            writer.add("valid", lang1, lang2, row[:length1].tolist(), row[length1:].tolist())
            valid[pair] += 1
            last = key
