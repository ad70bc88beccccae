"""Options of `prism metric train`."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.options import load_toml, option, option_of
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.training.config import Checkpoints, Limits, Optimizer, Rule, RunConfig, Schedule


@dataclass(frozen=True, kw_only=True)
class MetricConfig(RunConfig):
    """A run that trains a metric on human judgments."""

    train: tuple[Path, ...] = option(
        "tab-separated files whose first line names the columns ref (or src), hyp, score, and where only some outputs "
        "can be ranked against each other, group"
    )
    dev: tuple[Path, ...] = option("validation files, used after every epoch")
    kind: Literal["bilstm", "bilstm-attention", "esim"] = option("network", "esim")
    encoder: str = option("encoder, as `--encoder` names it", "minilm")
    layer: int | None = option(
        "layer of the encoder that is read: 1 is the first, -1 the last, and scoring needs no torch "
        "(default: a learned mix of all layers)",
        None,
    )
    language: str = option("language of outputs and references", "en")
    side: Literal["ref", "src"] = option(
        "column to compare outputs with; src needs an encoder for both languages", "ref"
    )
    source_language: str = option("language of the sources", "")
    model: str = option("translation model, where the encoder is its own", DEFAULT_MODEL)
    loss: Literal["mse", "ranking", "both"] = option(
        "regression, a hinge between the outputs of each group (of a batch, in data without groups), or both",
        "mse",
    )
    margin: float = option("margin of the ranking loss", 0.1)
    start: str = option("folder of a trained metric of the same kind and size to start from", "")
    dropout: float = option(
        "dropout on the inputs of LSTMs (one mask per text), on the features and after the ReLU",
        0.5,
        low=0,
        high=0.9,
    )
    hidden: int = option("hidden units per direction", 300, low=1)
    pieces: int = option("maximum pieces read per text", 100, low=1)
    batch: int = option("judgments per batch", 32, low=1)
    optimizer: Optimizer = option_of(RunConfig, "optimizer", Optimizer(learning_rate=4e-4, beta2=0.999, clip=10.0))
    schedule: Schedule = option_of(RunConfig, "schedule", Schedule("plateau", warmup=0))
    limits: Limits = option_of(RunConfig, "limits", Limits(epochs=50, patience=4))
    checkpoints: Checkpoints = option_of(RunConfig, "checkpoints", Checkpoints(export="best"))

    def rules(self) -> list[Rule]:
        """Rules that involve several settings."""
        kept = self.checkpoints
        return [
            (not self.train or not self.dev, "training a metric needs a file under `train` and one under `dev`"),
            (kept.average > 1 and not kept.every, "checkpoints.average needs checkpoints.every"),
        ]


def load_metric_config(path: Path) -> MetricConfig:
    """Read a configuration; relative paths in it are resolved against the file."""
    config = load_toml(path, MetricConfig)
    folder = path.parent
    return dataclasses.replace(
        config,
        train=tuple(folder / name for name in config.train),
        dev=tuple(folder / name for name in config.dev),
        output=folder / config.output,
        start=str(folder / config.start) if config.start else "",
    )
