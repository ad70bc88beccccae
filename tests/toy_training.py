"""A small data directory and a run of seconds on it."""

import io
import os
import random
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from prism_mt.corpus.data_directory import Part
from prism_mt.corpus.shard_writer import ShardWriter
from prism_mt.models.spec import Shape
from prism_mt.text.subwords import Vocabulary
from prism_mt.training.config import Checkpoints, Limits, Log, Optimizer, Schedule
from prism_mt.training.translation.config import Batches, Denoising, TrainConfig, Validation


@pytest.fixture(scope="session")
def sentencepiece() -> bytes:
    """A SentencePiece model of 60 pieces with the ids of our own models and tags for German and English."""
    trainer: Any = pytest.importorskip("sentencepiece").SentencePieceTrainer
    draw = random.Random(1)
    words = ["".join(draw.choice("abcdefghij") for _ in range(draw.randint(2, 5))) for _ in range(80)]
    model = io.BytesIO()
    trainer.train(
        sentence_iterator=iter([" ".join(draw.choices(words, k=8)) for _ in range(200)]),
        model_writer=model,
        vocab_size=60,
        bos_id=0,
        pad_id=1,
        eos_id=2,
        unk_id=3,
        user_defined_symbols=["<de>", "<en>"],
        minloglevel=2,
    )
    return model.getvalue()


@pytest.fixture(scope="session")
def toy_data(sentencepiece: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """German is English spelled backwards; English comes with itself, and with some single sentences."""
    draw = random.Random(2)
    processor: Any = Vocabulary(sentencepiece).processor
    words = ["".join(draw.choice("abcdefghij") for _ in range(draw.randint(2, 4))) for _ in range(30)]
    folder = tmp_path_factory.mktemp("toy-data")
    with ShardWriter(folder, sentencepiece, ["de", "en"], shard_tokens=1500) as writer:
        for part, count in (("train", 120), ("valid", 12)):
            for _ in range(count):
                text = " ".join(draw.choices(words, k=draw.randint(1, 6)))
                english, german = processor.encode(text), processor.encode(text[::-1])
                writer.add(cast(Part, part), "de", "en", german, english)
                writer.add(cast(Part, part), "en", "en", english, english)
                writer.add(cast(Part, part), "en", "en", [], english)
    return folder


@pytest.fixture
def toy_config(toy_data: Path, tmp_path: Path) -> TrainConfig:
    """A run of seconds."""
    return TrainConfig(
        name="toy",
        data=toy_data,
        output=tmp_path / "run",
        threads=1,
        device="cpu",
        architecture=Shape(
            width=16,
            encoder_layers=1,
            decoder_layers=1,
            encoder_heads=2,
            decoder_heads=2,
            encoder_feed_forward=32,
            decoder_feed_forward=32,
        ),
        optimizer=Optimizer(learning_rate=1e-2),
        schedule=Schedule("constant", warmup=5),
        batches=Batches(tokens=300, buffer=200, max_length=60),
        denoising=Denoising(share=0.25),
        limits=Limits(steps=12),
        validation=Validation(every=4, rows=5),
        checkpoints=Checkpoints(every=5),
        log=Log(every=3, seconds=0.0),
    )


def run_two_processes(script: Path, folder: Path) -> None:
    """Run a script as both processes of a training run; it gets the folder as its argument."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, str(script), str(folder)]
    started = [subprocess.Popen(command, env={**environment, "RANK": rank}) for rank in ("0", "1")]
    try:
        assert [process.wait(timeout=300) for process in started] == [0, 0]
    finally:
        for process in started:
            process.kill()
