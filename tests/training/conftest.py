import io
import random
from typing import Any

import pytest


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
