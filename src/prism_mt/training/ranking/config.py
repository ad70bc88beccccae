"""Every option of `prism finetune`."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, load_toml, option
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.training.config import Checkpoints, Log, Optimizer, Rule, RunConfig, Schedule


@dataclass(frozen=True)
class Ranking(Config):
    """The loss; every term can be switched off, as the ablation of the paper does."""

    cross_entropy: float = option(
        "weight of translating the source into the reference; 0 leaves it out", 0.1, low=0
    )
    forward: bool = option("rank outputs by their probability given the reference", True)
    backward: bool = option("rank outputs by the probability of the reference given them", True)
    # Pairs of one segment alone may ruin the comparison of segments, which tau over all outputs asks.
    across: float = option(
        "weight of ranking outputs of different segments by their mean ratings, in the directions that are ranked; "
        "not in the paper",
        0.0,
        low=0,
    )
    # It is easier to make worse outputs unlikely than better ones likely, and a small model soon finds everything
    # unlikely.
    preferred: float = option(
        "weight of the negative log-probability of the better output of each pair, in the directions that are "
        "ranked; not in the paper",
        0.0,
        low=0,
    )
    margin: float = option("by how much the better output has to win", 0.1, low=0)
    scores: Literal["probabilities", "log-probabilities"] = option(
        "what has to differ by the margin: mean log-probabilities of tokens, or (as published) their exponentials",
        "probabilities",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.cross_entropy or self.forward or self.backward):
            raise PrismError("every term of the loss is switched off")


@dataclass(frozen=True)
class Adapters(Config):
    """Low-rank changes of all linear layers instead of changes of all weights; merged at the end."""

    rank: int = option("rank of the changes; 0 trains all weights", 0, low=0)
    scale: float = option("factor of the changes", 1.0)


@dataclass(frozen=True)
class SegmentBatches(Config):
    """How segments are put together."""

    tokens: int = option("largest padded batch: outputs times tokens of the longest of them", 2000, low=1)
    # Every output is decoded once per direction; decoding every pair by itself, as the paper's 360 thousand tokens are
    # counted, takes some twenty times as many for the same segments.
    update_tokens: int = option("decoded tokens in one update", 16_000, low=1)
    max_length: int = option(
        "texts of more pieces are left out with their pairs, with a warning that counts them", 250, low=1
    )


@dataclass(frozen=True)
class RankingValidation(Config):
    """What is measured on held-out pairs; the model before training and the last one are always measured."""

    every: int = option("updates between two validations", 20, low=1)
    segments: int = option("validation segments of each language pair at most; 0 takes all", 0, low=0)


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig(RunConfig):
    """A run that fine-tunes a model on human judgments."""

    name: str = option("name of the model")
    train: tuple[Path, ...] = option("files of `prism judgments pairs`")
    valid: tuple[Path, ...] = option("files with held-out pairs")
    model: str = option("model to fine-tune", DEFAULT_MODEL)
    dropout: float = option("dropout", 0.0, low=0, high=1)
    ranking: Ranking = option("table: the loss", Ranking())
    adapters: Adapters = option("table: low-rank adapters", Adapters())
    optimizer: Optimizer = option("table: the optimizer", Optimizer(learning_rate=1e-4, clip=1.2))
    schedule: Schedule = option("table: the learning rate", Schedule("constant", warmup=0))
    batches: SegmentBatches = option("table: batches", SegmentBatches())
    validation: RankingValidation = option("table: validation", RankingValidation())
    checkpoints: Checkpoints = option("table: checkpoints and export", Checkpoints(export="best"))
    log: Log = option("table: the record of the run", Log(every=1))

    def rules(self) -> list[Rule]:
        """What no single value shows to be wrong."""
        return [(not self.train or not self.valid, "name files of pairs under train and under valid")]


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
