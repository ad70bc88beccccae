"""Forced decoding with every engine and precision, beside the original tool's way and its peers, in one run.

    python benchmarks/scoring.py [--models mini 60M 745M] [--pairs 512] [--repeat 3] [--threads N] [--cpu-time]

Of every model a table: pairs per second; the ratio to the original tool's way (padded batches of 8 in the order of the
input, float32, a softmax over the whole vocabulary at every place, padding included); useful arithmetic (no padding,
every source once) as a share of the machine's matrix-multiply peak *in that precision*; and the error of segment scores
against the first row. Peers are transformers and plain CTranslate2 with its own batches. Lengths are those
of news sentences: log-normal with a median of 24 pieces, the other side within ±20 %. `60M` (6+6 layers, width 512,
32k pieces) and `745M` (8+8 layers, width 1280, 64k pieces) have random weights; `--text REFERENCES OUTPUTS LANGUAGE`
gives a real model real lines, which is what its errors should be read from.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from prism_mt._core.environment import available_cores, has_bfloat16, has_int8
from prism_mt.engines.base import EngineName, Pair
from prism_mt.engines.ct2_model import converted
from prism_mt.engines.factory import EngineConfig, Precision, open_engine
from prism_mt.engines.scheduler import score_pairs
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.huggingface.weights import canonical
from prism_mt.models.model import Model
from prism_mt.models.network import from_weights
from prism_mt.models.resolve import open_model
from prism_mt.models.spec import Architecture, Conventions, ModelSpec, weight_shapes
from prism_mt.report.table import Column, Table, number
from prism_mt.report.text_table import to_text
from prism_mt.text.languages import resolve
from prism_mt.text.subwords import Vocabulary

SHAPES = {"60M": (512, 6, 8, 2048, 32_000), "745M": (1280, 8, 20, 12_288, 64_000)}
Score = Callable[[list[Pair]], list[float]]


class Way(NamedTuple):
    """A way to score, and the precision of its products."""

    name: str
    precision: str
    run: Score


def make_pairs(model: ModelDirectory, count: int) -> list[Pair]:
    generator = np.random.default_rng(0)
    spec = model.spec
    tag = spec.languages[min(spec.languages)]
    target = np.clip(np.exp(generator.normal(np.log(24), 0.5, count)), 3, 120).astype(int)
    source = np.clip(target * generator.uniform(0.8, 1.2, count), 3, 120).astype(int)
    sizes = (spec.architecture.source_vocabulary, spec.architecture.target_vocabulary)

    def pieces(length: int, size: int) -> list[int]:
        return [int(piece) for piece in generator.integers(size // 10, size, length)]

    return [
        Pair(
            spec.conventions.encode_source(pieces(a, sizes[0]), tag, tag),
            spec.conventions.encode_target(pieces(b, sizes[1]), tag),
        )
        for a, b in zip(source, target, strict=True)
    ]


def read_pairs(model: ModelDirectory, text: tuple[str, str, str], count: int) -> list[Pair]:
    *paths, language = text
    tag = model.spec.languages[resolve(language, model.spec.languages)]
    conventions = model.spec.conventions
    lines = [Path(path).read_text("utf-8").splitlines()[:count] for path in paths]
    return [
        Pair(
            conventions.encode_source(model.source.encode(reference), tag, tag),
            conventions.encode_target(model.target.encode(output), tag),
        )
        for reference, output in zip(*lines, strict=True)
    ]


def make_peer(name: str) -> Any:
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    torch.manual_seed(0)
    width, layers, heads, inner, vocabulary = SHAPES[name]
    config = M2M100Config(
        vocab_size=vocabulary,
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=inner,
        decoder_ffn_dim=inner,
    )
    peer: Any = M2M100ForConditionalGeneration(config)
    return peer.eval()


def convert(peer: Any, name: str, folder: Path) -> ModelDirectory:
    width, layers, heads, inner, vocabulary = SHAPES[name]
    architecture = Architecture(
        width=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_heads=heads,
        decoder_heads=heads,
        encoder_feed_forward=inner,
        decoder_feed_forward=inner,
        source_vocabulary=vocabulary,
        target_vocabulary=vocabulary,
        max_positions=1024,
    )
    expected = dict(weight_shapes(architecture))
    weights = {
        ours: tensor.numpy() for key, tensor in peer.state_dict().items() if (ours := canonical(key)) in expected
    }
    spec = ModelSpec(architecture, Conventions(), {"en": 5}, name="random")
    pieces = Vocabulary(b"unused", ())
    return write_model(Model(spec, weights, pieces, pieces), folder)


def run_padded(logits: Callable[..., torch.Tensor], pairs: Sequence[Pair], batch_size: int = 8) -> list[float]:
    """Batches in the order of the input; a softmax at every place, padding included."""
    scores: list[float] = []
    with torch.inference_mode():
        for start in range(0, len(pairs), batch_size):
            batch = pairs[start : start + batch_size]
            source, mask = pad([pair.source for pair in batch])
            target, target_mask = pad([pair.target for pair in batch])
            tokens = torch.log_softmax(logits(source, mask, target[:, :-1]), -1)
            tokens = tokens.gather(2, target[:, 1:, None])[..., 0]
            real = target_mask[:, 1:].clone()
            scores.extend(((tokens * real).sum(1) / real.sum(1)).tolist())
    return scores


def pad(rows: Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[1] * (longest - len(row))] for row in rows])
    return ids, torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])


def original_way(model: ModelDirectory) -> Score:
    network = from_weights(model.spec.architecture, model.weights())

    def logits(source: torch.Tensor, mask: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return network.project(network(source, target, mask == 0))

    return lambda pairs: run_padded(logits, pairs)


def transformers_way(peer: Any) -> Score:
    def logits(source: torch.Tensor, mask: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = peer(input_ids=source, attention_mask=mask, decoder_input_ids=target).logits
        return found

    return lambda pairs: run_padded(logits, pairs)


def plain_ctranslate2(model: ModelDirectory, threads: int) -> Score:
    import ctranslate2

    folder = str(converted(model, "float32", 1.0))
    translator = ctranslate2.Translator(folder, device="cpu", inter_threads=1, intra_threads=threads)

    def run(pairs: list[Pair]) -> list[float]:
        sources = [[str(token) for token in pair.source] for pair in pairs]
        targets = [[str(token) for token in pair.target[:-1]] for pair in pairs]
        found = translator.score_batch(sources, targets, max_batch_size=32, max_input_length=0)
        return [float(np.mean(one.log_probs)) for one in found]

    return run


def ours(model: ModelDirectory, engine: EngineName, precision: Precision, threads: int) -> Score:
    loaded = open_engine(model, EngineConfig(engine=engine, precision=precision, device="cpu", threads=threads))
    return lambda pairs: [float(tokens.mean()) for tokens in score_pairs(loaded, pairs)]


def ways(model: ModelDirectory, peer: Any, threads: int) -> Iterator[Way]:
    import ctranslate2

    yield Way("the original tool's way", "float32", original_way(model))
    if peer is not None:
        yield Way("transformers, batches of 8", "float32", transformers_way(peer))
    yield Way("plain CTranslate2", "float32", plain_ctranslate2(model, threads))
    for precision in ("float32", "int8", "bfloat16"):
        if precision in ctranslate2.get_supported_compute_types("cpu"):
            yield Way(f"ours, ct2 {precision}", precision, ours(model, "ct2", precision, threads))
    yield Way("ours, torch float32", "float32", ours(model, "torch", "float32", threads))
    if has_int8():
        yield Way("ours, torch int8", "int8", ours(model, "torch", "int8", threads))
    if has_bfloat16():
        yield Way("ours, torch bfloat16", "bfloat16", ours(model, "torch", "bfloat16", threads))
    if has_bfloat16() and has_int8():  # most products are in bfloat16
        yield Way("ours, torch int8_bfloat16", "bfloat16", ours(model, "torch", "int8_bfloat16", threads))


def useful_operations(architecture: Architecture, pairs: Sequence[Pair]) -> float:
    """Multiply-adds times two that the pairs need, without any padding."""
    a, total = architecture, 0.0
    width = a.width
    for pair in pairs:
        s, t = len(pair.source), len(pair.target) - 1
        encoder = s * (4 * width * width + 2 * width * a.encoder_feed_forward) + 2 * s * s * width
        decoder = t * (6 * width * width + 2 * width * a.decoder_feed_forward)
        decoder += s * 2 * width * width + 2 * t * (t + s) * width
        total += 2 * (a.encoder_layers * encoder + a.decoder_layers * decoder + t * width * a.target_vocabulary)
    return total


def peaks(threads: int, cpu_time: bool) -> dict[str, float]:
    """Operations per second of a large product in every precision, by the fastest of the ways that torch has."""
    torch.set_num_threads(threads)
    size = 1536
    a, weight = torch.randn(2048, size), torch.randn(size, size)
    pack, packed = torch.ops.mkldnn._reorder_linear_weight, torch.ops.mkldnn._linear_pointwise
    small, small_weight = a.bfloat16(), pack(weight.bfloat16())
    quantized = [torch.randint(-127, 127, part.shape, dtype=torch.int8) for part in (a, weight)]
    wide = pack(weight)
    products: dict[str, list[Callable[[], Any]]] = {
        "float32": [lambda: torch.mm(a, weight), lambda: packed(a, wide, None, "none", [], "")],
        "bfloat16": [lambda: packed(small, small_weight, None, "none", [], "")],
        "int8": [lambda: torch._int_mm(quantized[0], quantized[1].t())],
    }
    if not has_bfloat16():
        del products["bfloat16"]
    with torch.inference_mode():
        return {
            name: 2 * len(a) * size * size / min(best_of(run, 12, cpu_time)[0] for run in runs)
            for name, runs in products.items()
        }


def best_of(run: Callable[[], Any], repeat: int, cpu_time: bool) -> tuple[float, Any]:
    clock = time.process_time if cpu_time else time.perf_counter
    times, result = [], None
    for _ in range(repeat):
        start = clock()
        result = run()
        times.append(clock() - start)
    return min(times), result


def measure(name: str, options: argparse.Namespace, folder: Path, peak: dict[str, float]) -> Table:
    peer = make_peer(name) if name in SHAPES else None
    model = convert(peer, name, folder / name) if peer is not None else open_model(name)
    count = max(16, options.pairs // 16) if name == "745M" else options.pairs
    real = options.text is not None and peer is None
    pairs = read_pairs(model, options.text, count) if real else make_pairs(model, count)
    work = useful_operations(model.spec.architecture, pairs)
    rows: list[tuple[str, float, float, float, float, float]] = []
    first: tuple[float, NDArray[np.float64]] | None = None
    for way in ways(model, peer, options.threads):
        torch.set_num_threads(options.threads)
        way.run(pairs[:32])  # warm up
        seconds, found = best_of(partial(way.run, pairs), options.repeat, options.cpu_time)
        print(f"{name}, {way.name}: {seconds:.2f} s", file=sys.stderr, flush=True)
        scores = np.array(found)
        first = first or (seconds, scores)
        errors = np.abs(scores - first[1])
        share = 100 * work / seconds / peak[way.precision]
        ratio = first[0] / seconds
        rows.append((way.name, len(pairs) / seconds, ratio, share, float(errors.mean()), float(errors.max())))
    columns = (Column("engine"), number("pairs/s", 1), number("× original", 2), number("% of peak", 0))
    texts = "real lines" if real else "made-up pieces"
    title = f"{name}: {len(pairs):,} pairs of {texts}, {options.threads} threads, best of {options.repeat}"
    return Table((*columns, number("mean error", 6), number("largest", 6)), tuple(rows), title)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["mini", "60M"], help="names, folders, 60M or 745M")
    parser.add_argument(
        "--text", nargs=3, metavar=("REFERENCES", "OUTPUTS", "LANGUAGE"), help="lines for real models"
    )
    parser.add_argument("--pairs", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument(
        "--cpu-time", action="store_true", help="seconds of one thread, for a machine that is not quiet"
    )
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    if options.cpu_time:
        options.threads = 1
    peak = peaks(options.threads, options.cpu_time)
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PRISM_CACHE"] = folder
        for name in options.models:
            tables.append(measure(name, options, Path(folder), peak))
            print(to_text(tables[-1]), flush=True)
    print("Peaks: " + ", ".join(f"{name} {rate / 1e9:.0f} GFLOP/s" for name, rate in peak.items()))
    if options.json:
        figures = {table.caption: table.rows for table in tables}
        options.json.write_text(json.dumps({"tables": figures, "peaks": peak}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
