"""Forced decoding: our engines beside transformers, on one random model, in one run.

    python benchmarks/scoring.py [--pairs 512] [--repeat 3]

The model has 6+6 layers, width 512 and a vocabulary of 32k. Lengths are those of news sentences: log-normal with a
median of 24 pieces, the other side within ±20 %. Peers are transformers' forward pass in the order of the input with
batches of 8, as the nearest living tool runs it, and one pair at a time. The last columns give each speed relative to
them, and the share of the machine's matrix-multiply peak that useful arithmetic (padding not counted) makes up.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import M2M100Config, M2M100ForConditionalGeneration

from prism_mt._core.environment import available_cores
from prism_mt.engines.base import EngineName, Pair
from prism_mt.engines.factory import EngineConfig, Precision, open_engine
from prism_mt.engines.scheduler import score_pairs
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.huggingface.weights import canonical
from prism_mt.models.model import Model
from prism_mt.models.spec import Architecture, Conventions, ModelSpec, weight_shapes
from prism_mt.report.table import Column, Table, number, render
from prism_mt.text.subwords import Vocabulary

WIDTH, LAYERS, HEADS, INNER, VOCABULARY = 512, 6, 8, 2048, 32_000
Score = Callable[[list[Pair]], list[float]]


def make_pairs(count: int, seed: int = 0) -> list[Pair]:
    generator = np.random.default_rng(seed)
    target = np.clip(np.exp(generator.normal(np.log(24), 0.5, count)), 3, 120).astype(int)
    source = np.clip(target * generator.uniform(0.8, 1.2, count), 3, 120).astype(int)
    tokens = [generator.integers(10, VOCABULARY, size) for size in np.concatenate([source, target])]
    return [
        Pair((*map(int, a), 2), (2, 5, *map(int, b), 2))
        for a, b in zip(tokens[:count], tokens[count:], strict=True)
    ]


def make_peer() -> Any:
    torch.manual_seed(0)
    config = M2M100Config(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
    )
    peer: Any = M2M100ForConditionalGeneration(config)
    return peer.eval()


def convert(peer: Any, folder: Path) -> ModelDirectory:
    architecture = Architecture(
        width=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_heads=HEADS,
        decoder_heads=HEADS,
        encoder_feed_forward=INNER,
        decoder_feed_forward=INNER,
        source_vocabulary=VOCABULARY,
        target_vocabulary=VOCABULARY,
        max_positions=1024,
    )
    expected = dict(weight_shapes(architecture))
    weights = {
        name: tensor.numpy() for key, tensor in peer.state_dict().items() if (name := canonical(key)) in expected
    }
    spec = ModelSpec(architecture, Conventions(), {"en": 5}, name="random")
    vocabulary = Vocabulary(b"unused", ())
    return write_model(Model(spec, weights, vocabulary, vocabulary), folder)


def run_peer(peer: Any, pairs: Sequence[Pair], batch_size: int) -> list[float]:
    scores: list[float] = []
    with torch.inference_mode():
        for start in range(0, len(pairs), batch_size):
            batch = pairs[start : start + batch_size]
            source, mask = pad([pair.source for pair in batch])
            target, target_mask = pad([pair.target for pair in batch])
            logits = peer(input_ids=source, attention_mask=mask, decoder_input_ids=target[:, :-1]).logits
            tokens = torch.log_softmax(logits, -1).gather(2, target[:, 1:, None])[..., 0]
            real = target_mask[:, 1:].clone()
            real[:, 0] = 0  # the tag
            scores.extend(((tokens * real).sum(1) / real.sum(1)).tolist())
    return scores


def pad(rows: Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[1] * (longest - len(row))] for row in rows])
    return ids, torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])


def run_ours(model: ModelDirectory, engine: EngineName, precision: Precision) -> Score:
    loaded = open_engine(model, EngineConfig(engine=engine, precision=precision, device="cpu"))
    return lambda pairs: [float(tokens[1:].mean()) for tokens in score_pairs(loaded, pairs)]


def useful_operations(pairs: Sequence[Pair]) -> float:
    """Multiply-adds times two that the pairs need, without any padding."""
    total = 0.0
    for pair in pairs:
        s, t = len(pair.source), len(pair.target) - 1
        encoder = s * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER) + 2 * s * s * WIDTH
        decoder = t * (6 * WIDTH * WIDTH + 2 * WIDTH * INNER) + s * 2 * WIDTH * WIDTH + 2 * t * (t + s) * WIDTH
        total += 2 * (LAYERS * (encoder + decoder) + t * WIDTH * VOCABULARY)
    return total


def matrix_peak() -> float:
    """Operations per second of a large float32 product on all cores, the best of several."""
    a = torch.randn(2048, 2048)
    times = []
    for _ in range(8):
        start = time.perf_counter()
        torch.mm(a, a)
        times.append(time.perf_counter() - start)
    return float(2 * 2048**3 / min(times))


def best_time(name: str, run: Score, pairs: list[Pair], repeat: int) -> tuple[float, NDArray[np.float64]]:
    run(pairs[:32])  # warm up
    times, scores = [], np.zeros(0)
    for _ in range(repeat):
        start = time.perf_counter()
        scores = np.array(run(pairs))
        times.append(time.perf_counter() - start)
    print(f"{name}: {', '.join(f'{seconds:.1f} s' for seconds in times)}", file=sys.stderr, flush=True)
    return min(times), scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    torch.set_num_threads(available_cores())
    pairs, peer = make_pairs(options.pairs), make_peer()
    with tempfile.TemporaryDirectory() as folder:
        model = convert(peer, Path(folder) / "model")
        runs: dict[str, Score] = {
            "transformers, batches of 8 in input order (a)": lambda pairs: run_peer(peer, pairs, 8),
            "transformers, one pair at a time (b)": lambda pairs: run_peer(peer, pairs, 1),
            "ours, torch float32": run_ours(model, "torch", "float32"),
            "ours, ct2 float32": run_ours(model, "ct2", "float32"),
            "ours, ct2 int8": run_ours(model, "ct2", "int8"),
        }
        measured = {name: best_time(name, run, pairs, options.repeat) for name, run in runs.items()}
    peak, work = matrix_peak(), useful_operations(pairs)
    (a, exact), (b, _) = list(measured.values())[:2]
    rows = [
        (
            name,
            len(pairs) / seconds,
            a / seconds,
            b / seconds,
            100 * work / seconds / peak,
            float(np.abs(scores - exact).mean()),
            float(np.abs(scores - exact).max()),
        )
        for name, (seconds, scores) in measured.items()
    ]
    columns = (
        Column("engine"),
        number("pairs/s", 1),
        number("× (a)", 2),
        number("× (b)", 2),
        number("% of peak", 0),
    )
    table = Table((*columns, number("mean error", 6), number("largest", 6)), tuple(rows))
    print(render(table), end="")
    print(
        f"{available_cores()} cores, matrix-multiply peak {peak / 1e9:.0f} GFLOP/s, {work / 1e9:.0f} GFLOP of work"
    )
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "peak": peak, "work": work}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
