"""Settings shared by all training runs; each class is a table of the TOML file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option

Rule = tuple[bool, str]
"""Whether a rule is violated, and the rule."""


@dataclass(frozen=True)
class Optimizer(Config):
    """The optimizer."""

    kind: Literal["adam", "muon"] = option(
        "adam, or muon for the matrices inside layers and adam for the rest", "adam"
    )
    learning_rate: float = option("peak learning rate, after warm-up", 5e-4, low=0)
    beta1: float = option("decay rate of the gradient mean", 0.9, low=0, high=1)
    beta2: float = option("decay rate of the squared-gradient mean", 0.98, low=0, high=1)
    epsilon: float = option("added to the denominator", 1e-8, low=0)
    weight_decay: float = option("decoupled weight decay; norms, biases and embeddings are exempt", 0.0, low=0)
    clip: float = option("maximum gradient norm; 0: no clipping", 1.0, low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if 1.0 in (self.beta1, self.beta2):
            raise PrismError("beta1 and beta2 must be below 1")


@dataclass(frozen=True)
class Schedule(Config):
    """Learning-rate schedule."""

    kind: Literal["inverse-sqrt", "linear", "cosine", "constant", "plateau"] = option(
        "shape after warm-up; plateau halves the rate at every validation without improvement",
        "inverse-sqrt",
    )
    warmup: int = option("number of linear warm-up steps", 4000, low=0)
    decay: float = option(
        "share of the run, at its end, in which the rate decays linearly to `final`; for inverse-sqrt and constant",
        0.0,
        low=0,
        high=1,
    )
    final: float = option("final rate of linear, cosine and `decay`, as a share of the peak", 0.0, low=0, high=1)


@dataclass(frozen=True)
class Limits(Config):
    """When training ends: at the first limit reached; 0 means no limit."""

    steps: int = option("updates", 0, low=0)
    epochs: float = option("passes through the data", 0.0, low=0)
    minutes: float = option("minutes per invocation; training can be resumed afterwards", 0.0, low=0)
    patience: int = option("consecutive validations without improvement", 0, low=0)

    def reached(self, step: int, examples: int, epoch: int, worse: int) -> bool:
        """Whether the step, epoch or patience limit ends a run after this many examples, `epoch` being one pass."""
        return 0 < self.steps <= step or 0 < self.epochs * epoch <= examples or 0 < self.patience <= worse


@dataclass(frozen=True)
class Checkpoints(Config):
    """Which checkpoints are kept, and which one is exported."""

    every: int = option("steps between checkpoints; 0: at every validation", 0, low=0)
    minutes: float = option("maximum minutes between checkpoints", 15.0, low=0)
    average: int = option('number of regular checkpoints that `export = "last"` averages', 1, low=1)
    export: Literal["last", "best"] = option(
        "weights to export: the last ones, or those with the best validation result", "last"
    )


@dataclass(frozen=True)
class Log(Config):
    """Logging."""

    every: int = option("steps between rows of train.csv", 50, low=1)
    seconds: float = option("seconds between progress lines", 20.0, low=0)
    tensorboard: bool = option("also write TensorBoard files", False)


@dataclass(frozen=True, kw_only=True)
class RunConfig(Config):
    """Settings of every run; paths are relative to the configuration file."""

    output: Path = option("folder for checkpoints, logs and the result", Path("run"))
    seed: int = option("random seed", 1, low=0, high=2**63 - 1)
    threads: int = option("threads of each process; 0 leaves it to torch", 0, low=0)
    device: Literal["auto", "cpu", "cuda"] = option("where to train", "auto")
    precision: Literal["auto", "float32", "bfloat16", "float16"] = option(
        "precision of matrix multiplications; auto is float16 on a GPU and float32 on a CPU", "float32"
    )
    optimizer: Optimizer = option("table: the optimizer", Optimizer())
    schedule: Schedule = option("table: the learning rate", Schedule())
    limits: Limits = option("table: when training ends", Limits())
    checkpoints: Checkpoints = option("table: checkpoints and export", Checkpoints())
    log: Log = option("table: logging", Log())

    def __post_init__(self) -> None:
        super().__post_init__()
        for broken, rule in (*run_rules(self), *self.rules()):
            if broken:
                raise PrismError(rule)

    def rules(self) -> list[Rule]:
        """Rules that involve several settings."""
        return []


def run_rules(config: RunConfig) -> list[Rule]:
    """Rules that apply to every run."""
    limits, schedule = config.limits, config.schedule
    ending = schedule.kind in ("linear", "cosine") or schedule.decay > 0
    return [
        (
            not any((limits.steps, limits.epochs, limits.minutes, limits.patience)),
            "without a limit, training never ends: set one of limits.steps, epochs, minutes, patience",
        ),
        (ending and not limits.steps, "a schedule with an end needs limits.steps"),
    ]
