"""Options of `prism train`."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, load_toml, option, option_of
from prism_mt.models.spec import Shape
from prism_mt.training.config import Checkpoints, Rule, RunConfig


@dataclass(frozen=True)
class Batches(Config):
    """Selection and batching of examples."""

    tokens: int = option(
        "maximum padded batch size: sentences times tokens of the longest, on the longer side", 4000, low=1
    )
    accumulate: int = option("batches per process and step", 1, low=1)
    buffer: int = option("examples drawn at a time, then sorted by length and cut into batches", 16384, low=1)
    max_length: int = option(
        "maximum pieces on either side; longer pairs are left out, and a warning counts them", 200, low=1
    )
    temperature: float = option("sample language pairs in proportion to size^(1 / temperature)", 1.0, low=0)
    weights: dict[str, float] = option(
        'factors for individual language pairs, such as "de-zh" = 2; 0 leaves a pair out', {}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.temperature == 0:
            raise PrismError("temperature must be above 0")
        if any(weight < 0 for weight in self.weights.values()):
            raise PrismError("weights must not be negative")


@dataclass(frozen=True)
class Denoising(Config):
    """Denoising examples, whose source is a noisy copy of the target; probabilities are per source piece."""

    share: float = option("share of denoising examples", 0.0, low=0, high=1)
    drop: float = option("probability that a piece is dropped", 0.1, low=0, high=1)
    replace: float = option(
        "probability that a piece is replaced by one from another sentence of the batch", 0.1, low=0, high=1
    )
    shuffle: float = option("probability that a piece is moved by up to three places", 0.1, low=0, high=1)


@dataclass(frozen=True)
class Initial(Config):
    """Initial weights, other than random."""

    encoder: str = option(
        "initialize the encoder from a model directory, a .safetensors file with our weight names, or an "
        "encoder (e5, or a BERT folder): all weights whose names and shapes match; embeddings piece by piece",
        "",
    )
    decoder: bool = option(
        "start the decoder from the same encoder, too: its first layers but for cross-attention, its positions, and "
        "for each target piece the mean vector of that encoder's pieces for it",
        False,
    )
    model: str = option(
        "continue from all weights of a model directory, or of mini, with the same architecture and vocabularies",
        "",
    )


@dataclass(frozen=True)
class Validation(Config):
    """Validation on the held-out part of the data."""

    every: int = option("steps between validations; 0: never", 1000, low=0)
    rows: int = option("maximum number of rows per language pair, each in both directions", 200, low=1)
    translations: int = option("rows per pair to translate for BLEU and chrF of each direction", 0, low=0)


@dataclass(frozen=True, kw_only=True)
class TrainConfig(RunConfig):
    """A run that trains a translation model or a language model."""

    name: str = option("name of the model")
    architecture: Shape = option("table: the architecture; the vocabularies come with the data")
    kind: Literal["translation", "language-model"] = option("kind of model", "translation")
    data: Path = option("data directory, made by `prism corpus prepare`", Path("data"))
    dropout: float = option("dropout", 0.1, low=0, high=1)
    label_smoothing: float = option("probability mass spread over all pieces", 0.1, low=0, high=1)
    embeddings: Literal["random", "cooccurrence"] = option(
        "initial embeddings; cooccurrence places translations close together, by counting", "random"
    )
    initial: Initial = option("table: initial weights", Initial())
    frozen: tuple[Literal["encoder"], ...] = option("parts of the model to freeze", ())
    source_symbols: tuple[Literal["bos", "pieces", "eos"], ...] | None = option(
        "tokens of a source (default: those of the initial.encoder model, else pieces and eos)", None
    )
    negatives: int = option(
        "sampled softmax: train with the pieces of each batch and this many random others instead of the "
        "whole vocabulary; 0: full softmax, which validation always uses",
        0,
        low=0,
    )
    checkpoints: Checkpoints = option_of(RunConfig, "checkpoints", Checkpoints(every=1000))
    batches: Batches = option("table: batches", Batches())
    denoising: Denoising = option("table: denoising", Denoising())
    validation: Validation = option("table: validation", Validation())

    def rules(self) -> list[Rule]:
        """Rules that involve several settings."""
        shape, validation = self.architecture, self.validation
        longest = self.batches.max_length + 2
        return [
            *(_language_model_rules(self) if self.kind == "language-model" else _translation_rules(self)),
            (min(shape.decoder_layers, shape.decoder_feed_forward) < 1, "the decoder's sizes must be positive"),
            (self.limits.patience > 0 and not validation.every, "limits.patience needs validation.every"),
            (
                self.schedule.kind == "plateau" and not validation.every,
                "a plateau schedule needs validation.every",
            ),
            (
                self.checkpoints.average > 1 and not (self.checkpoints.every or validation.every),
                "checkpoints.average needs checkpoints.every",
            ),
            (
                self.checkpoints.export == "best" and not validation.every,
                'checkpoints.export = "best" needs validation.every',
            ),
            (
                self.batches.tokens < longest,
                "batches.tokens is too small for a sentence of batches.max_length pieces and its special tokens",
            ),
            (
                shape.max_positions < longest,
                "architecture.max_positions is too small for batches.max_length pieces and their special tokens",
            ),
        ]


def _translation_rules(config: TrainConfig) -> list[Rule]:
    shape, initial = config.architecture, config.initial
    return [
        (shape.encoder_layers < 1, "a translation model needs encoder_layers"),
        (
            config.source_symbols is not None and config.source_symbols.count("pieces") != 1,
            "source_symbols must contain the pieces exactly once",
        ),
        (bool(initial.model and initial.encoder), "initial.model and initial.encoder exclude each other"),
        (
            bool(config.frozen) and not (initial.encoder or initial.model),
            'frozen = ["encoder"] needs initial.encoder or initial.model',
        ),
        (initial.decoder and not initial.encoder, "initial.decoder needs initial.encoder"),
        (initial.decoder and shape.tied_embeddings, "initial.decoder needs tied_embeddings = false"),
        (
            bool(initial.encoder or initial.model) and config.embeddings == "cooccurrence",
            'initial weights and embeddings = "cooccurrence" exclude each other',
        ),
        (shape.encoder_feed_forward < 1, "encoder_feed_forward must be above 0"),
        (
            config.embeddings == "cooccurrence" and not shape.tied_embeddings,
            'embeddings = "cooccurrence" needs tied_embeddings',
        ),
    ]


def _language_model_rules(config: TrainConfig) -> list[Rule]:
    return [
        (config.architecture.encoder_layers > 0, "a language model has no encoder_layers"),
        (
            bool(config.initial.encoder or config.initial.model or config.frozen),
            "a language model has no encoder to start from or to freeze",
        ),
        (config.source_symbols is not None, "a language model has no source_symbols"),
        (config.embeddings == "cooccurrence", 'embeddings = "cooccurrence" is for translation models'),
        (config.validation.translations > 0, "a language model has no validation.translations"),
    ]


def load_train_config(path: Path) -> TrainConfig:
    """Read a configuration; relative paths in it are resolved against the file."""
    config = load_toml(path, TrainConfig)
    folder = path.parent

    def located(name: str) -> str:
        """A path beside the file; other names, such as `mini`, stay as they are."""
        return str(folder / name) if name and (folder / name).exists() else name

    start = config.initial
    initial = dataclasses.replace(start, encoder=located(start.encoder), model=located(start.model))
    return dataclasses.replace(config, data=folder / config.data, output=folder / config.output, initial=initial)
