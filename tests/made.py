"""Small models made on the spot, for tests and benchmarks."""

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prism_mt.models.model import Model
from prism_mt.models.spec import Architecture, Conventions, ModelSpec, weight_shapes
from prism_mt.text.subwords import Vocabulary

SENTENCES = [
    "The committee met in the large hall on Tuesday and adopted the report without a vote.",
    "Der Ausschuss trat am Dienstag im großen Saal zusammen und nahm den Bericht ohne Abstimmung an.",
    "La commission s'est réunie mardi dans la grande salle et a adopté le rapport sans vote.",
    "Комитет собрался во вторник в большом зале и принял доклад без голосования.",
    "委员会星期二在大厅举行会议，未经表决通过了该报告。",
    "She bought three red apples, two pears and a loaf of bread at the market this morning.",
    "Heute Morgen kaufte sie auf dem Markt drei rote Äpfel, zwei Birnen und einen Laib Brot.",
    "Ce matin, elle a acheté trois pommes rouges, deux poires et un pain au marché.",
    "Сегодня утром она купила на рынке три красных яблока, две груши и буханку хлеба.",
    "今天早上她在市场上买了三个红苹果、两个梨和一条面包。",
    "The 28-year-old chef was found dead in the stairwell of a local mall, police said.",
    "Wegen des starken Regens mussten am Wochenende mehrere Spiele abgesagt werden.",
    "Hello world! This is a test, isn't it? Yes: 1, 2, 3 (and 4).",
]

TINY = Architecture(
    width=8,
    encoder_layers=2,
    decoder_layers=2,
    encoder_heads=2,
    decoder_heads=4,
    encoder_feed_forward=12,
    decoder_feed_forward=10,
    source_vocabulary=11,
    target_vocabulary=11,
    max_positions=20,
)
"""Heads and feed-forward layers of the two sides differ, so that a mix-up shows."""


def make_vocabulary(
    languages: Sequence[str] = ("de", "en", "fr", "ru", "zh"),
    size: int = 300,
    sentences: Sequence[str] = SENTENCES,
) -> Vocabulary:
    """A SentencePiece model with our own ids: specials 0–3, then a tag per language, then pieces."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        vocab_size=size,
        hard_vocab_limit=False,
        character_coverage=1.0,
        bos_id=0,
        pad_id=1,
        eos_id=2,
        unk_id=3,
        control_symbols=[f"<{language}>" for language in languages],
        minloglevel=2,
    )
    return Vocabulary(model.getvalue())


def random_weights(architecture: Architecture, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Weights large enough that every choice of the architecture shows in the scores."""
    generator = np.random.default_rng(seed)
    weights = {}
    for name, shape in weight_shapes(architecture):
        noise = generator.standard_normal(shape)
        if "norm" in name:
            array = noise * 0.1 + (1.0 if name.endswith("weight") else 0.0)
        elif "embedding" in name:
            array = noise * 2.0 / np.sqrt(shape[-1])
        elif name.endswith("bias"):
            array = noise * 0.1
        else:
            array = noise / np.sqrt(shape[-1])
        weights[name] = array.astype(np.float32)
    return weights


def make_model(
    seed: int = 0, languages: Sequence[str] = ("de", "en", "fr", "ru", "zh"), **options: object
) -> Model:
    """A random model over the sentences above; `options` override the architecture."""
    vocabulary = make_vocabulary(languages)
    size = len(vocabulary)
    numbers = {
        "width": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_heads": 4,
        "decoder_heads": 4,
        "encoder_feed_forward": 48,
        "decoder_feed_forward": 48,
        "source_vocabulary": size,
        "target_vocabulary": size,
        "max_positions": 256,
    }
    architecture = Architecture(**{**numbers, **options})  # type: ignore[arg-type]
    tags = {language: int(vocabulary.processor.piece_to_id(f"<{language}>")) for language in languages}
    spec = ModelSpec(architecture, Conventions(), dict(tags), name="made", origin="prism")
    return Model(spec, random_weights(architecture, seed), vocabulary, vocabulary)
