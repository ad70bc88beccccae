"""Every option of a training run; `prism train` reads it from a TOML file with one table per class."""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import load_toml
from prism_mt.models.spec import Architecture


@dataclass(frozen=True)
class Shape:
    """The architecture without the vocabulary, which comes with the data; see `models.spec.Architecture`.

    A language model takes the decoder's numbers and has no encoder.
    """

    width: int
    decoder_layers: int
    decoder_heads: int
    decoder_feed_forward: int
    encoder_layers: int = 0
    encoder_heads: int = 1
    encoder_feed_forward: int = 0
    max_positions: int = 512
    norm: Literal["pre", "post"] = "pre"
    final_norm: bool = True
    embedding_norm: bool = False
    activation: Literal["relu", "gelu", "swish"] = "relu"
    positions: Literal["sinusoidal", "marian", "learned"] = "sinusoidal"
    position_offset: int = 2
    scaled_embedding: bool = True
    tied_embeddings: bool = True
    tied_output: bool = True
    output_bias: bool = False
    norm_epsilon: float = 1e-5

    def architecture(self, vocabulary: int) -> Architecture:
        """With the size of the vocabulary it is complete."""
        return Architecture(source_vocabulary=vocabulary, target_vocabulary=vocabulary, **dataclasses.asdict(self))


@dataclass(frozen=True)
class Optimiser:
    """Adam."""

    learning_rate: float = 5e-4
    """At its peak, after the warm-up."""
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    """Decoupled from the gradient; norms, biases and embeddings are exempt."""
    clip: float = 1.0
    """Longest gradient; 0 does not clip."""


@dataclass(frozen=True)
class Schedule:
    """The learning rate as a function of the step."""

    kind: Literal["inverse-sqrt", "linear", "cosine", "constant"] = "inverse-sqrt"
    warmup: int = 4000
    """Steps in which it rises linearly from zero."""
    decay: float = 0.0
    """Over this share of the run, at its end, it falls linearly to `final`; for inverse-sqrt and constant."""
    final: float = 0.0
    """Where linear, cosine and `decay` end, as a share of the peak."""


@dataclass(frozen=True)
class Batches:
    """How examples are chosen and put together."""

    tokens: int = 4000
    """Largest padded batch: sentences times tokens of the longest of them, on the longer side."""
    accumulate: int = 1
    """Batches of each process in one step."""
    buffer: int = 16384
    """Examples that are drawn at once, sorted by length and cut into batches."""
    max_length: int = 200
    """Pairs with more pieces on a side are left out, with a warning that counts them."""
    temperature: float = 1.0
    """Pairs of languages are drawn in proportion to size^(1 / temperature)."""
    weights: dict[str, float] = field(default_factory=dict)
    """A factor for single pairs of languages, like "de-zh" = 2; 0 leaves a pair out."""


@dataclass(frozen=True)
class Denoising:
    """Copies whose source is the target with mistakes; the probabilities are those of a source piece."""

    share: float = 0.0
    """Share of the examples that are made into such copies."""
    drop: float = 0.1
    replace: float = 0.1
    """Replaced by a piece of another sentence in the batch."""
    shuffle: float = 0.1
    """Moved by up to three places."""


@dataclass(frozen=True)
class Limits:
    """When training ends; the first that is reached counts, 0 is no limit."""

    steps: int = 0
    epochs: float = 0.0
    minutes: float = 0.0
    """Of one invocation; training can be resumed after it."""
    patience: int = 0
    """Validations in a row without a better result."""

    def reached(self, step: int, examples: int, epoch: int, worse: int) -> bool:
        """Whether steps, epochs or patience end a run that has seen so many examples; an epoch has `epoch` of them."""
        return 0 < self.steps <= step or 0 < self.epochs * epoch <= examples or 0 < self.patience <= worse


@dataclass(frozen=True)
class Validation:
    """What is measured on the validation part of the data."""

    every: int = 1000
    """Steps between validations; 0 never validates."""
    rows: int = 200
    """At most so many rows of each pair of languages, each in both directions."""
    translations: int = 0
    """Rows of each pair that are translated, for BLEU and chrF of each direction; 0 translates nothing."""


@dataclass(frozen=True)
class Checkpoints:
    """What is kept on disk."""

    every: int = 1000
    """Steps; 0 leaves it to `minutes`."""
    minutes: float = 15.0
    """Longest time between two checkpoints."""
    average: int = 1
    """The exported model is the mean of the last so many checkpoints that were made by `every`."""
    export: Literal["average", "best"] = "average"


@dataclass(frozen=True)
class Log:
    """What is written down."""

    every: int = 50
    """Steps between two rows of train.csv."""
    seconds: float = 20.0
    """Between two progress lines."""
    tensorboard: bool = False


@dataclass(frozen=True)
class TrainConfig:
    """One training run."""

    name: str
    architecture: Shape
    data: Path = Path("data")
    """The data directory; relative to the config file."""
    output: Path = Path("run")
    """Checkpoints, logs and the model; relative to the config file."""
    kind: Literal["translation", "language-model"] = "translation"
    seed: int = 1
    threads: int = 0
    """Of each process; 0 leaves it to torch."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    dropout: float = 0.1
    label_smoothing: float = 0.1
    embeddings: Literal["random", "cooccurrence"] = "random"
    """What the piece vectors begin with; "cooccurrence" brings translations close together by counting them."""
    optimiser: Optimiser = Optimiser()
    schedule: Schedule = Schedule()
    batches: Batches = Batches()
    denoising: Denoising = Denoising()
    limits: Limits = Limits()
    validation: Validation = Validation()
    checkpoints: Checkpoints = Checkpoints()
    log: Log = Log()

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise PrismError(f"training configuration: {problem}")


def load_config(path: Path) -> TrainConfig:
    """Read a configuration; its relative paths become relative to the file."""
    config = load_toml(path, TrainConfig)
    folder = path.parent
    return dataclasses.replace(config, data=folder / config.data, output=folder / config.output)


def _problems(config: TrainConfig) -> list[str]:
    """What no type can rule out."""
    shape, limits, checkpoints = config.architecture, config.limits, config.checkpoints
    shares = {
        "dropout": config.dropout,
        "label_smoothing": config.label_smoothing,
        "denoising.share": config.denoising.share,
        "denoising.drop": config.denoising.drop,
        "denoising.replace": config.denoising.replace,
        "denoising.shuffle": config.denoising.shuffle,
    }
    rules = [
        (config.kind == "translation" and shape.encoder_layers < 1, "a translation model needs encoder_layers"),
        (config.kind == "language-model" and shape.encoder_layers > 0, "a language model has no encoder_layers"),
        (
            config.embeddings == "cooccurrence" and (config.kind == "language-model" or not shape.tied_embeddings),
            'embeddings = "cooccurrence" is for translation models with tied_embeddings',
        ),
        *rules_of_runs(config.optimiser, config.schedule, config.limits),
        (
            config.kind == "language-model" and config.validation.translations > 0,
            "a language model has no validation.translations",
        ),
        (limits.patience > 0 and config.validation.every < 1, "limits.patience needs validation.every"),
        (checkpoints.every < 1 and checkpoints.average > 1, "checkpoints.average needs checkpoints.every"),
        (
            checkpoints.export == "best" and config.validation.every < 1,
            'checkpoints.export = "best" needs validation.every',
        ),
        (
            config.batches.tokens < config.batches.max_length + 2,
            "batches.tokens is smaller than one sentence of batches.max_length pieces and its special tokens",
        ),
        (
            shape.max_positions < config.batches.max_length + 2,
            "architecture.max_positions is too small for batches.max_length pieces and their special tokens",
        ),
        (config.batches.temperature <= 0, "batches.temperature must be above 0"),
        (any(weight < 0 for weight in config.batches.weights.values()), "batches.weights must not be negative"),
        (
            config.batches.accumulate < 1 or config.batches.buffer < 1,
            "batches.accumulate and buffer must be above 0",
        ),
        (config.log.every < 1, "log.every must be above 0"),
        (
            min(shape.width, shape.decoder_layers, shape.decoder_feed_forward) < 1,
            "the decoder's sizes must be above 0",
        ),
        (shape.encoder_layers > 0 and shape.encoder_feed_forward < 1, "encoder_feed_forward must be above 0"),
        (min(config.seed, config.threads) < 0, "seed and threads must not be negative"),
    ]
    wrong = [f"{name} must be between 0 and 1" for name, value in shares.items() if not 0 <= value <= 1]
    return wrong + [message for broken, message in rules if broken]


def rules_of_runs(optimiser: Optimiser, schedule: Schedule, limits: Limits) -> list[tuple[bool, str]]:
    """What training and fine-tuning have in common: whether a rule is broken, and the rule."""
    ending = schedule.kind in ("linear", "cosine") or schedule.decay > 0
    return [
        (
            not any((limits.steps, limits.epochs, limits.minutes, limits.patience)),
            "without limits training never ends: set one of limits.steps, epochs, minutes, patience",
        ),
        (
            min(limits.steps, limits.epochs, limits.minutes, limits.patience) < 0,
            "limits must not be negative",
        ),
        (ending and not limits.steps, "a schedule that ends needs limits.steps"),
        (schedule.warmup < 0, "schedule.warmup must not be negative"),
        (
            not (0 <= schedule.decay <= 1 and 0 <= schedule.final <= 1),
            "schedule.decay and final must be between 0 and 1",
        ),
        (
            not (0 <= optimiser.beta1 < 1 and 0 <= optimiser.beta2 < 1),
            "optimiser.beta1 and beta2 must be at least 0 and below 1",
        ),
        (
            min(optimiser.learning_rate, optimiser.epsilon, optimiser.weight_decay) < 0,
            "optimiser.learning_rate, epsilon and weight_decay must not be negative",
        ),
    ]
