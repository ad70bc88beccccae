import dataclasses
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt._core.options import describe
from prism_mt.models.spec import Shape, weight_shapes
from prism_mt.training.ranking.config import FinetuneConfig
from prism_mt.training.regression.config import MetricConfig
from prism_mt.training.translation.config import TrainConfig, load_train_config

CONFIGS = Path(__file__).parents[2] / "src" / "prism_mt" / "assets" / "configs"
BASE = """
name = "toy"
[architecture]
width = 16
decoder_layers = 1
decoder_heads = 2
decoder_feed_forward = 32
encoder_layers = 1
encoder_feed_forward = 32
[limits]
steps = 5
"""


def parameters(name: str, target: int, source: int | None = None) -> int:
    architecture = load_train_config(CONFIGS / name).architecture.with_vocabularies(source or target, target)
    total = 0
    for _, shape in weight_shapes(architecture):
        total += shape[0] * (shape[1] if len(shape) > 1 else 1)
    return total


@pytest.mark.parametrize(
    ("name", "vocabulary", "expected"),
    [
        ("prism39.toml", 65_400, 744_757_248),  # the published model
        ("paraphraser-en.toml", 16_000, 251_527_168),  # the published 253M, but for 0.6 %
        ("lm.toml", 65_400, 369_281_024),  # as published
    ],
)
def test_sizes_of_the_configurations_that_come_with_prism(name: str, vocabulary: int, expected: int) -> None:
    assert parameters(name, vocabulary) == expected


def test_size_of_the_embedded_model() -> None:
    assert parameters("mini.toml", 24_000, 96_000) == 69_544_704


def test_published_settings_of_the_contrastive_models() -> None:
    lm, paraphraser = (load_train_config(CONFIGS / name) for name in ("lm.toml", "paraphraser-en.toml"))
    shape = lm.architecture
    assert (shape.decoder_layers, shape.width, shape.decoder_feed_forward, shape.decoder_heads) == (
        24,
        1024,
        4096,
        16,
    )
    assert shape.positions == "sinusoidal"
    assert lm.batches.tokens * lm.batches.accumulate == 131_072
    assert (paraphraser.limits.epochs, paraphraser.limits.patience) == (33, 0)
    assert paraphraser.batches.tokens * paraphraser.batches.accumulate == 31_200


def test_every_option_has_a_help_text() -> None:
    """The reference page is made from them."""
    for kind in (TrainConfig, FinetuneConfig, MetricConfig, Shape):
        names = {field.name for field in dataclasses.fields(kind)}
        rows = {row.name: row for row in describe(kind)}
        assert rows.keys() == names
        assert all(row.help for row in rows.values())


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text('data = "../shards"\n' + BASE)
    config = load_train_config(tmp_path / "toy.toml")
    assert config.data == tmp_path / "../shards"
    assert config.output == tmp_path / "run"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BASE + "[batches]\ntoken = 5", "toy.toml: batches: unknown key token; did you mean 'tokens'"),
        ("nam = 'x'\n" + BASE, "unknown key nam"),
        (BASE.replace("encoder_feed_forward = 32\n[", "["), "encoder_feed_forward must be above 0"),
        (BASE.replace("decoder_layers = 1", "decoder_layers = 0"), "the decoder's sizes must be positive"),
        (BASE.replace("steps = 5", "steps = -5"), "limits: steps must be at least 0, not -5"),
        (BASE + "[optimizer]\nbeta1 = 1.5", "optimizer: beta1 must be between 0 and 1"),
        (BASE + "[optimizer]\nlearning_rate = -1.0", "learning_rate must be at least 0"),
        (BASE.replace("width = 16", ""), "architecture: missing key width"),
        (BASE.replace("width = 16", 'width = "x"'), "architecture: width must be of type int"),
        (BASE.replace("encoder_layers = 1", "", 1).replace("decoder_layers", "x"), "unknown key x"),
        (BASE.replace("\nencoder_layers = 1", ""), "a translation model needs encoder_layers"),
        ('kind = "language-model"\n' + BASE, "a language model has no encoder_layers"),
        (BASE.replace("steps = 5", ""), "training never ends"),
        (BASE.replace("steps = 5", "epochs = 1") + '[schedule]\nkind = "cosine"', "a schedule with an end needs"),
        (BASE + "[batches]\nmax_length = 511", "max_positions is too small"),
        (BASE + "[batches]\ntokens = 100", "too small for a sentence"),
        (BASE + "[batches]\ntemperature = 0", "temperature must be above 0"),
        (BASE + "[denoising]\nshare = 25", "denoising: share must be between 0 and 1"),
        (BASE + "[validation]\nevery = 0\n[checkpoints]\nexport = 'best'", "needs validation.every"),
        ("dropout = 1.5\n" + BASE, "dropout must be between 0 and 1"),
        (BASE + "[validation]\nrows = -1", "validation: rows must be at least 1"),
        (BASE + "[optimizer]\nclip = -1.0", "optimizer: clip must be at least 0"),
        (BASE + "[checkpoints]\naverage = -1", "checkpoints: average must be at least 1"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "toy.toml").write_text(text)
    with pytest.raises(PrismError, match=message):
        load_train_config(tmp_path / "toy.toml")
