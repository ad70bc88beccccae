"""What shared work saves: ten systems beside one, and minimum Bayes risk with 32 candidates; one thread.

    python benchmarks/shared_work.py [--segments 10] [--candidates 32] [--only systems mbr] [--engine torch]
                                     [--precision float32] [--data DIR]

Everything happens in one process and is measured in CPU seconds, so that other work on the machine matters little.

1. Outputs of WMT21 news, English to German, against one reference in both directions: one system, then ten, with each
   source encoded once, and with targets sharing the beginnings that they have in common, too.
2. Candidates made of a few words each, every one against all others in both directions. Without sharing, only equal
   pairs are computed once; a quarter of the pairs is measured.
"""

import argparse
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import prism_mt
from prism_mt.engines import packed
from prism_mt.engines.base import Engine, Pair
from prism_mt.engines.factory import EngineConfig, open_engine
from prism_mt.engines.prefixes import SharedPrefixes, share_prefixes
from prism_mt.engines.scheduler import score_pairs
from prism_mt.engines.torch import TorchEngine
from prism_mt.metrics.forced_decoding import PairEncoder, Text
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.resolve import open_model
from prism_mt.report.table import Column, Table, number, render

PARTS = [
    ["The", "A", "This", "That"],
    ["small", "large", "old"],
    ["dog", "cat", "child"],
    ["sees", "finds", "likes"],
    ["a", "the"],
    ["house", "tree", "book"],
    ["today.", "now.", "here."],
]


def own_rows(targets: Sequence[Sequence[int]], counts: Sequence[int]) -> SharedPrefixes:
    """No two targets share a row, even of one source."""
    found = share_prefixes(targets, [1] * len(targets))
    rows = iter(found.counts)
    found.counts = [sum(next(rows) for _ in range(count)) for count in counts]
    return found


def without_sharing(engine: TorchEngine) -> Callable[[Sequence[Pair]], Any]:
    """Score a batch with a source, and an encoding of it, per target."""
    import torch

    def score(batch: Sequence[Pair]) -> list[Any]:
        with torch.inference_mode():
            sources, targets = [pair.source for pair in batch], [pair.target for pair in batch]
            scores = engine.packed.score(sources, targets, [1] * len(batch))
        return [part.numpy() for part in torch.split(scores, [len(target) - 1 for target in targets])]

    return score


def both_ways(encoder: PairEncoder, texts: Sequence[tuple[str, str]], language: str) -> list[Pair]:
    found = []
    for one, other in texts:
        first, second = Text(one, language, "first"), Text(other, language, "second")
        found += [*encoder.pairs(second, first), *encoder.pairs(first, second)]
    return found


def seconds(engine: Engine, pairs: Sequence[Pair]) -> float:
    start = time.process_time()
    for _ in score_pairs(engine, pairs):
        pass
    return time.process_time() - start


def systems(engine: Engine, model: ModelDirectory, data: Path, segments: int) -> Table:
    judgments = prism_mt.read_judgments(data / "judgments" / "wmt21_mqm_news_en-de.jsonl.xz").without_humans()
    texts = judgments.texts
    assert texts is not None
    references = texts.references["ref-C"]
    names = judgments.systems[:10]
    places = [p for p, text in enumerate(references) if text and all(texts.outputs[name][p] for name in names)]
    random.Random(0).shuffle(places)
    encoder = PairEncoder(model)

    def made(count: int) -> list[Pair]:
        found = [(texts.outputs[name][p], references[p]) for p in places[:segments] for name in names[:count]]
        return both_ways(encoder, [(str(output), str(reference)) for output, reference in found], "de")

    one, ten = made(1), made(10)
    seconds(engine, one)  # warms up
    alone = [seconds(engine, one)]
    prefixes = seconds(engine, ten)
    alone.append(seconds(engine, one))
    sources = None
    if engine.shares_sources:
        with patch.object(packed, "share_prefixes", own_rows):
            sources = seconds(engine, ten)
    alone.append(seconds(engine, one))
    base = sorted(alone)[1]
    distinct = len(set(ten)) / len(set(one))
    what = f"{engine.name} {engine.dtype}"
    rows = [(f"{what}: one system", base, 1.0)]
    if sources is not None:
        rows.append((f"{what}: ten, each source encoded once", sources, sources / base))
    rows.append((f"{what}: ten, all that is shared", prefixes, prefixes / base))
    columns = (Column("what"), number("CPU s", 2), number("× one", 2))
    caption = f"{segments} segments, both directions; ten systems have {distinct:.1f} × the distinct pairs of one"
    return Table(columns, tuple(rows), caption)


def mbr(engine: TorchEngine, model: ModelDirectory, candidates: int) -> Table:
    chance = random.Random(0)
    texts: dict[str, None] = {}
    while len(texts) < candidates:
        texts[" ".join(map(chance.choice, PARTS))] = None
    pairs = both_ways(PairEncoder(model), [(one, other) for other in texts for one in texts], "en")
    distinct = list(dict.fromkeys(pairs))
    seconds(engine, pairs[:32])
    shared = seconds(engine, pairs)
    engine._score = without_sharing(engine)  # type: ignore[assignment,method-assign]
    apart = 4 * seconds(engine, distinct[::4])
    rows = (("distinct pairs, nothing else shared", apart, 1.0), ("everything shared", shared, apart / shared))
    columns = (Column("what"), number("CPU s", 2), number("× throughput", 2))
    return Table(
        columns, rows, f"{candidates} candidates: {len(pairs):,} decodings, {len(distinct):,} of them distinct"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini")
    parser.add_argument("--segments", type=int, default=10)
    parser.add_argument("--candidates", type=int, default=32)
    parser.add_argument("--only", nargs="+", choices=("systems", "mbr"), default=("systems", "mbr"))
    parser.add_argument("--engine", choices=("auto", "torch", "ct2"), default="torch")
    parser.add_argument("--precision", default="float32")
    default = os.environ.get("PRISM_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with judgments/")
    options = parser.parse_args()
    model = open_model(options.model)
    config = EngineConfig(engine=options.engine, precision=options.precision, device="cpu", threads=1, cache=False)
    engine = open_engine(model, config)
    if "mbr" in options.only and not isinstance(engine, TorchEngine):
        parser.error("only the torch engine shares work among candidates: add --only systems")
    if "systems" in options.only:
        print(render(systems(engine, model, Path(options.data), options.segments)), flush=True)
    if "mbr" in options.only:
        assert isinstance(engine, TorchEngine)
        print(render(mbr(engine, model, options.candidates)), flush=True)


if __name__ == "__main__":
    main()
