"""Options of `prism finetune`."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, load_toml, option, option_of
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.training.config import Checkpoints, Log, Optimizer, Rule, RunConfig, Schedule


@dataclass(frozen=True)
class Ranking(Config):
    """The loss; every term can be switched off, as in the paper's ablation."""

    cross_entropy: float = option(
        "weight of the translation cross-entropy of the reference given the source; 0: none", 0.1, low=0
    )
    forward: bool = option("rank outputs by their probability given the reference", True)
    backward: bool = option("rank outputs by the probability of the reference given the output", True)
    # Ranking within segments alone may ruin the comparison across segments, which tau over all outputs measures.
    across: float = option(
        "weight of ranking outputs of different segments by their mean ratings, in the ranked directions; "
        "not in the paper",
        0.0,
        low=0,
    )
    # It is easier to make worse outputs unlikely than better ones likely, and a small model soon finds everything
    # unlikely.
    preferred: float = option(
        "weight of the negative log-probability of the better output of each pair, in the ranked "
        "directions; not in the paper",
        0.0,
        low=0,
    )
    margin: float = option("margin by which the better output has to win", 0.1, low=0)
    scores: Literal["probabilities", "log-probabilities"] = option(
        "scores that the margin applies to: mean token log-probabilities, or (as published) their exponentials",
        "probabilities",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.cross_entropy or self.forward or self.backward):
            raise PrismError("every term of the loss is switched off")


@dataclass(frozen=True)
class Adapters(Config):
    """Low-rank adapters on all linear layers instead of training all weights; merged at the end."""

    rank: int = option("rank; 0: train all weights", 0, low=0)
    scale: float = option("scaling factor", 1.0)


@dataclass(frozen=True)
class SegmentBatches(Config):
    """Batching of segments."""

    tokens: int = option("maximum padded batch size: outputs times tokens of the longest", 2000, low=1)
    # Every output is decoded once per direction; decoding every pair separately, which is how the paper counts its
    # 360 thousand tokens, takes some twenty times as many for the same segments.
    update_tokens: int = option("decoded tokens per update", 16_000, low=1)
    max_length: int = option(
        "maximum pieces of a text; longer ones are left out with their pairs, and a warning counts them",
        250,
        low=1,
    )


@dataclass(frozen=True)
class RankingValidation(Config):
    """Validation on held-out pairs; the initial and the final model are always validated."""

    every: int = option("updates between validations", 20, low=1)
    segments: int = option("maximum number of validation segments per language pair; 0: all", 0, low=0)


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig(RunConfig):
    """A run that fine-tunes a model on human judgments."""

    name: str = option("name of the model")
    train: tuple[Path, ...] = option("files written by `prism judgments pairs`")
    valid: tuple[Path, ...] = option("files with held-out pairs")
    model: str = option("model to fine-tune", DEFAULT_MODEL)
    dropout: float = option("dropout", 0.0, low=0, high=1)
    ranking: Ranking = option("table: the loss", Ranking())
    adapters: Adapters = option("table: low-rank adapters", Adapters())
    optimizer: Optimizer = option_of(RunConfig, "optimizer", Optimizer(learning_rate=1e-4, clip=1.2))
    schedule: Schedule = option_of(RunConfig, "schedule", Schedule("constant", warmup=0))
    batches: SegmentBatches = option("table: batches", SegmentBatches())
    validation: RankingValidation = option("table: validation", RankingValidation())
    checkpoints: Checkpoints = option_of(RunConfig, "checkpoints", Checkpoints(export="best"))
    log: Log = option_of(RunConfig, "log", Log(every=1))

    def rules(self) -> list[Rule]:
        """Rules that involve several settings."""
        return [(not self.train or not self.valid, "set train and valid to files of pairs")]


def load_finetune_config(path: Path) -> FinetuneConfig:
    """Read a configuration; relative paths in it, including a model's folder, are resolved against the file."""
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
