"""Settings that all training runs share; each class is a table of the TOML file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option

Rule = tuple[bool, str]
"""Whether a rule is broken, and the rule."""


@dataclass(frozen=True)
class Optimizer(Config):
    """How gradients become changes of weights."""

    kind: Literal["adam", "muon"] = option(
        "adam, or muon for the matrices inside layers and adam for the rest", "adam"
    )
    learning_rate: float = option("learning rate at its peak, after the warm-up", 5e-4, low=0)
    beta1: float = option("decay of the mean of gradients", 0.9, low=0, high=1)
    beta2: float = option("decay of the mean of squared gradients", 0.98, low=0, high=1)
    epsilon: float = option("added to the root of the squared mean", 1e-8, low=0)
    weight_decay: float = option(
        "decay of weights, decoupled from the gradient; norms, biases and embeddings are exempt", 0.0, low=0
    )
    clip: float = option("longest gradient; 0 does not clip", 1.0, low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if 1.0 in (self.beta1, self.beta2):
            raise PrismError("beta1 and beta2 must be below 1")


@dataclass(frozen=True)
class Schedule(Config):
    """The learning rate as a function of the step."""

    kind: Literal["inverse-sqrt", "linear", "cosine", "constant", "plateau"] = option(
        "course after the warm-up; plateau halves the rate at every validation without a better result",
        "inverse-sqrt",
    )
    warmup: int = option("steps in which the rate rises linearly from zero", 4000, low=0)
    decay: float = option(
        "share of the run, at its end, in which the rate falls linearly to `final`; for inverse-sqrt and constant",
        0.0,
        low=0,
        high=1,
    )
    final: float = option("where linear, cosine and `decay` end, as a share of the peak", 0.0, low=0, high=1)


@dataclass(frozen=True)
class Limits(Config):
    """When training ends; the first that is reached counts, 0 is no limit."""

    steps: int = option("updates", 0, low=0)
    epochs: float = option("passes through the data", 0.0, low=0)
    minutes: float = option("time of one invocation; training can be resumed after it", 0.0, low=0)
    patience: int = option("validations in a row without a better result", 0, low=0)

    def reached(self, step: int, examples: int, epoch: int, worse: int) -> bool:
        """Whether steps, epochs or patience end a run that has seen so many examples; an epoch has `epoch` of them."""
        return 0 < self.steps <= step or 0 < self.epochs * epoch <= examples or 0 < self.patience <= worse


@dataclass(frozen=True)
class Checkpoints(Config):
    """What is kept on disk, and which of it becomes the result."""

    every: int = option("steps between checkpoints; 0 makes one at every validation", 0, low=0)
    minutes: float = option("longest time between two checkpoints", 15.0, low=0)
    average: int = option('`export = "last"` is the mean of so many regular checkpoints', 1, low=1)
    export: Literal["last", "best"] = option(
        "weights of the result: the last ones, or those of the best validation", "last"
    )


@dataclass(frozen=True)
class Log(Config):
    """What is written down."""

    every: int = option("steps between two rows of train.csv", 50, low=1)
    seconds: float = option("time between two progress lines", 20.0, low=0)
    tensorboard: bool = option("write TensorBoard files, too", False)


@dataclass(frozen=True, kw_only=True)
class RunConfig(Config):
    """Settings of every run; paths are relative to the configuration file."""

    output: Path = option("folder for checkpoints, logs and the result", Path("run"))
    seed: int = option("random seed", 1, low=0, high=2**63 - 1)
    threads: int = option("threads of each process; 0 leaves it to torch", 0, low=0)
    device: Literal["auto", "cpu", "cuda"] = option("where to train", "auto")
    precision: Literal["auto", "float32", "bfloat16", "float16"] = option(
        "precision of matrix products; auto is float16 on a GPU and float32 on a CPU", "float32"
    )
    optimizer: Optimizer = option("table: the optimizer", Optimizer())
    schedule: Schedule = option("table: the learning rate", Schedule())
    limits: Limits = option("table: when training ends", Limits())
    checkpoints: Checkpoints = option("table: checkpoints and export", Checkpoints())
    log: Log = option("table: the record of the run", Log())

    def __post_init__(self) -> None:
        super().__post_init__()
        for broken, rule in (*run_rules(self), *self.rules()):
            if broken:
                raise PrismError(rule)

    def rules(self) -> list[Rule]:
        """What no single value shows to be wrong."""
        return []


def run_rules(config: RunConfig) -> list[Rule]:
    """The rules of every run."""
    limits, schedule = config.limits, config.schedule
    ending = schedule.kind in ("linear", "cosine") or schedule.decay > 0
    return [
        (
            not any((limits.steps, limits.epochs, limits.minutes, limits.patience)),
            "without limits training never ends: set one of limits.steps, epochs, minutes, patience",
        ),
        (ending and not limits.steps, "a schedule that ends needs limits.steps"),
    ]
