"""Every option of fine-tuning on human judgments; `prism finetune` reads it from a TOML file."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import load_toml
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.training.config import Limits, Optimiser, Schedule, rules_of_runs


@dataclass(frozen=True)
class Ranking:
    """What is minimised; every term can be switched off, as the ablation of the paper does."""

    cross_entropy: float = 0.1
    """Weight of translating the source into the reference; 0 leaves it out."""
    forward: bool = True
    """Rank outputs by their probability given the reference."""
    backward: bool = True
    """Rank outputs by the probability of the reference given them."""
    across: float = 0.0
    """Weight of ranking outputs of different segments by their mean ratings, in the directions that are ranked. Not
    in the paper: pairs of one segment alone may ruin the comparison of segments, which tau over all outputs asks."""
    preferred: float = 0.0
    """Weight of the negative log-probability of the better output of each pair, in the directions that are ranked.
    Not in the paper: it is easier to make worse outputs unlikely than better ones likely, and a small model soon
    finds everything unlikely."""
    margin: float = 0.1
    """By how much the better output has to win."""
    scores: Literal["probabilities", "log-probabilities"] = "probabilities"
    """What has to differ by the margin: mean log-probabilities of tokens, or (as published) their exponentials."""


@dataclass(frozen=True)
class Adapters:
    """Low-rank changes of all linear layers instead of changes of all weights; merged at the end."""

    rank: int = 0
    """0 changes all weights."""
    scale: float = 1.0


@dataclass(frozen=True)
class FinetuneBatches:
    """How segments are put together."""

    tokens: int = 2000
    """Largest padded batch: outputs times tokens of the longest of them."""
    update_tokens: int = 16_000
    """Decoded tokens in one update. Every output is decoded once per direction; decoding every pair by itself,
    as the paper's 360 thousand tokens are counted, takes some twenty times as many for the same segments."""
    max_length: int = 250
    """Texts of more pieces are left out with their pairs, with a warning that counts them."""


@dataclass(frozen=True)
class FinetuneChecks:
    """When the model is validated and kept."""

    every: int = 20
    """Updates between two validations, each with a checkpoint."""
    segments: int = 0
    """At most so many validation segments of each pair of languages; 0 takes all."""
    export: Literal["best", "last"] = "best"
    """The model with the best mean of ranking accuracy and tau, which may be the one before training, or the last."""


@dataclass(frozen=True)
class FinetuneConfig:
    """One run of fine-tuning."""

    name: str
    train: tuple[Path, ...]
    """Files of `prism judgments pairs`; relative to the config file, as are all paths."""
    valid: tuple[Path, ...]
    model: str = DEFAULT_MODEL
    output: Path = Path("run")
    """Checkpoints, logs and the model."""
    seed: int = 1
    threads: int = 0
    """Of each process; 0 leaves it to torch."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["float32", "bfloat16"] = "float32"
    dropout: float = 0.0
    ranking: Ranking = Ranking()
    adapters: Adapters = Adapters()
    optimiser: Optimiser = Optimiser(learning_rate=1e-4, clip=1.2)
    schedule: Schedule = Schedule("constant", warmup=0)
    batches: FinetuneBatches = FinetuneBatches()
    limits: Limits = dataclasses.field(default_factory=lambda: Limits(epochs=1.0))
    """One epoch if no limit is named; a factory, because any other limit stands instead of it."""
    checks: FinetuneChecks = FinetuneChecks()

    def __post_init__(self) -> None:
        ranking, batches = self.ranking, self.batches
        rules = [
            (not self.train or not self.valid, "name files of pairs under train and under valid"),
            (
                not (ranking.cross_entropy or ranking.forward or ranking.backward),
                "every term of the loss is switched off",
            ),
            (
                min(ranking.cross_entropy, ranking.across, ranking.preferred, ranking.margin) < 0,
                "cross_entropy, across, preferred and margin must not be negative",
            ),
            (not 0 <= self.dropout < 1, "dropout must be at least 0 and below 1"),
            (self.adapters.rank < 0, "adapters.rank must not be negative"),
            (min(batches.tokens, batches.update_tokens, batches.max_length) < 1, "batches must be above 0"),
            (self.checks.every < 1 or self.checks.segments < 0, "checks.every must be above 0"),
            (min(self.seed, self.threads) < 0, "seed and threads must not be negative"),
            *rules_of_runs(self.optimiser, self.schedule, self.limits),
        ]
        for broken, message in rules:
            if broken:
                raise PrismError(f"fine-tuning configuration: {message}")


def load_finetune_config(path: Path) -> FinetuneConfig:
    """Read a configuration; its relative paths, a model's folder among them, become relative to the file."""
    config = load_toml(path, FinetuneConfig)
    folder = path.parent
    model = folder / config.model
    return dataclasses.replace(
        config,
        train=tuple(folder / file for file in config.train),
        valid=tuple(folder / file for file in config.valid),
        output=folder / config.output,
        model=str(model) if model.exists() else config.model,
    )
