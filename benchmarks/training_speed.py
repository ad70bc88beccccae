"""Tokens per second of `prism train` in bfloat16 beside float32: the same updates, one run after the other.

    python benchmarks/training_speed.py [--steps 6] [--width 512] [--layers 6] [--tokens 4000] [--data DIR]

A new model on references and outputs of WMT21 news, English to German, with a vocabulary of 8,000 pieces. The first
update of a run is not timed. The last columns are the losses of the first and the last update, and target tokens are
those that the log counts.
"""

import argparse
import io
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import prism_mt
from prism_mt.corpus.shard_writer import ShardWriter
from prism_mt.models.spec import Shape
from prism_mt.report.table import Column, Table, Value, number, render
from prism_mt.text.subwords import Vocabulary
from prism_mt.training.config import Limits, Log, Optimizer, Schedule
from prism_mt.training.distributed import World
from prism_mt.training.loop import Loop
from prism_mt.training.translation.config import Batches, TrainConfig, Validation
from prism_mt.training.translation.objective import TranslationObjective

PRECISIONS = ("float32", "bfloat16")


class TimedLoop(Loop):
    """Keeps the seconds, tokens and loss of every update."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.updates: list[tuple[float, int]] = []
        self.losses: list[float] = []

    def _update(self, update: Any, *rest: Any) -> None:
        start = time.perf_counter()
        super()._update(update, *rest)
        self.updates.append((time.perf_counter() - start, update.tokens))

    def gradients(self, update: Any) -> dict[str, float]:
        sums = super().gradients(update)
        self.losses.append(self._mean(sums, update.size))
        return sums


def write_data(data: Path, folder: Path) -> Path:
    import sentencepiece

    judgments = prism_mt.read_judgments(data / "judgments" / "wmt21_mqm_news_en-de.jsonl.xz").without_humans()
    texts = judgments.texts
    assert texts is not None
    rows = [
        (source, output)
        for name in judgments.systems
        for source, output in zip(texts.sources, texts.outputs[name], strict=True)
        if source and output
    ]
    made = io.BytesIO()
    trainer: Any = sentencepiece.SentencePieceTrainer
    trainer.train(
        sentence_iterator=(text for row in rows[:4000] for text in row),
        model_writer=made,
        vocab_size=8000,
        bos_id=0,
        pad_id=1,
        eos_id=2,
        unk_id=3,
        user_defined_symbols=["<de>", "<en>"],
        minloglevel=2,
    )
    processor: Any = Vocabulary(made.getvalue()).processor
    with ShardWriter(folder / "data", made.getvalue(), ["de", "en"]) as writer:
        for place, row in enumerate(rows):
            source, output = map(processor.encode, row)
            writer.add("valid" if place < 4 else "train", "en", "de", source, output)
    return folder / "data"


def train(options: argparse.Namespace, data: Path, output: Path, precision: Any) -> TimedLoop:
    inner = 4 * options.width
    config = TrainConfig(
        name="speed",
        data=data,
        output=output,
        device="cpu",
        threads=torch.get_num_threads(),
        precision=precision,
        architecture=Shape(
            width=options.width,
            encoder_layers=options.layers,
            decoder_layers=options.layers,
            encoder_heads=8,
            decoder_heads=8,
            encoder_feed_forward=inner,
            decoder_feed_forward=inner,
        ),
        optimizer=Optimizer(learning_rate=5e-4),
        schedule=Schedule("constant", warmup=2),
        batches=Batches(tokens=options.tokens),
        limits=Limits(steps=options.steps + 1),
        validation=Validation(every=10_000, rows=2),
        log=Log(every=1, seconds=1000.0),
    )
    world = World(0, 1, torch.device("cpu"))
    loop = TimedLoop(TranslationObjective(config, world), config, world, False)
    loop.run()
    return loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=6, help="timed updates of every run")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=4000, help="padded tokens of an update")
    default = os.environ.get("PRISM_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with judgments/")
    options = parser.parse_args()
    rows: list[tuple[Value, ...]] = []
    with tempfile.TemporaryDirectory() as made:
        data = write_data(Path(options.data), Path(made))
        first = 0.0
        for precision in PRECISIONS:
            loop = train(options, data, Path(made) / precision, precision)
            rate = statistics.median(tokens / seconds for seconds, tokens in loop.updates[1:])
            first = first or rate
            rows.append((precision, rate, rate / first, loop.losses[0], loop.losses[-1]))
    columns = (Column("precision"), number("tokens/s", 0), number("× float32", 2))
    losses = (number("first loss", 3), number("last loss", 3))
    shape = f"{options.layers}+{options.layers} layers of width {options.width}, {torch.get_num_threads()} threads"
    print(render(Table((*columns, *losses), tuple(rows), f"{options.steps} updates, {shape}")), end="")


if __name__ == "__main__":
    main()
