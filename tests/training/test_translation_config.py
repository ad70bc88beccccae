from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.models.spec import weight_shapes
from prism_mt.training.translation.config import load_train_config

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


def parameters(name: str, vocabulary: int) -> int:
    architecture = load_train_config(CONFIGS / name).architecture.with_vocabularies(vocabulary, vocabulary)
    total = 0
    for _, shape in weight_shapes(architecture):
        total += shape[0] * (shape[1] if len(shape) > 1 else 1)
    return total


@pytest.mark.parametrize(
    ("name", "vocabulary", "expected"),
    [
        ("prism39.toml", 65_400, 744_757_248),  # the published model
        ("mini.toml", 12_000, 10_182_144),
        ("paraphraser-en.toml", 16_000, 385_810_432),
        ("lm.toml", 64_000, 134_601_216),
    ],
)
def test_sizes_of_the_configurations_that_come_with_prism(name: str, vocabulary: int, expected: int) -> None:
    assert parameters(name, vocabulary) == expected


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
        (BASE.replace("decoder_layers = 1", "decoder_layers = 0"), "the decoder's sizes must be above 0"),
        (BASE.replace("steps = 5", "steps = -5"), "limits: steps must be at least 0, not -5"),
        (BASE + "[optimizer]\nbeta1 = 1.5", "optimizer: beta1 must be between 0 and 1"),
        (BASE + "[optimizer]\nlearning_rate = -1.0", "learning_rate must be at least 0"),
        (BASE.replace("width = 16", ""), "architecture: missing key width"),
        (BASE.replace("width = 16", 'width = "x"'), "architecture: width must be of type int"),
        (BASE.replace("encoder_layers = 1", "", 1).replace("decoder_layers", "x"), "unknown key x"),
        (BASE.replace("\nencoder_layers = 1", ""), "a translation model needs encoder_layers"),
        ('kind = "language-model"\n' + BASE, "a language model has no encoder_layers"),
        (BASE.replace("steps = 5", ""), "training never ends"),
        (BASE.replace("steps = 5", "epochs = 1") + '[schedule]\nkind = "cosine"', "a schedule that ends needs"),
        (BASE + "[batches]\nmax_length = 511", "max_positions is too small"),
        (BASE + "[batches]\ntokens = 100", "smaller than one sentence"),
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
