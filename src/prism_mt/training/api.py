"""Training from Python, with the same settings, files and numbers as the commands."""

import contextlib
import dataclasses
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt._core.locks import lock_folder
from prism_mt.models.resolve import EMBEDDED
from prism_mt.training.config import RunConfig
from prism_mt.training.ranking.config import FinetuneConfig, load_finetune_config
from prism_mt.training.regression.config import MetricConfig, load_metric_config
from prism_mt.training.translation.config import TrainConfig, load_train_config

if TYPE_CHECKING:
    from prism_mt.training.distributed import World
    from prism_mt.training.loop import Loop
    from prism_mt.training.objective import Objective

AnyConfig = TypeVar("AnyConfig", bound=RunConfig)
Source = str | Path
_LOG = logging.getLogger("prism_mt")


@dataclass(frozen=True)
class TrainingResult:
    """The outcome of a run."""

    folder: Path | None
    """The model or metric written; None after a signal, and in all processes but the first."""
    finished: bool
    """Whether a limit other than the time limit was reached."""
    steps: int
    best: float | None = None
    """The best validation result (higher is better); None without validation."""


def train(
    config: TrainConfig | Source,
    *,
    data: Source | None = None,
    output: Source | None = None,
    minutes: float | None = None,
    fresh: bool = False,
    export_only: bool = False,
) -> TrainingResult:
    """Train a translation model or a language model, or resume an interrupted run.

    `config` is a configuration or its TOML file; `data`, `output` and `minutes` override it. `fresh` starts over rather
    than resume from the last checkpoint; `export_only` writes the model from the existing checkpoints.
    """
    found = _changed(load_train_config, config, output, minutes, data=None if data is None else Path(data))
    _warn_of_name(found.name)
    _need_torch("training")
    from prism_mt.training.translation.export import export_model
    from prism_mt.training.translation.objective import TranslationObjective

    return _run(found, TranslationObjective, export_model, fresh, export_only)


def finetune(
    config: FinetuneConfig | Source,
    *,
    model: str | None = None,
    output: Source | None = None,
    minutes: float | None = None,
    fresh: bool = False,
    export_only: bool = False,
    offline: bool = False,
) -> TrainingResult:
    """Fine-tune a model on human judgments, or resume an interrupted run.

    `model` is the model to fine-tune, overriding the configuration; the rest is as in `train`.
    """
    found = _changed(load_finetune_config, config, output, minutes, model=model)
    _warn_of_name(found.name)
    _need_torch("fine-tuning")
    from prism_mt.training.ranking.export import export_finetuned
    from prism_mt.training.ranking.objective import RankingObjective

    return _run(found, partial(RankingObjective, offline=offline), export_finetuned, fresh, export_only)


def train_metric(
    config: MetricConfig | Source,
    *,
    output: Source | None = None,
    minutes: float | None = None,
    fresh: bool = False,
    export_only: bool = False,
    offline: bool = False,
) -> TrainingResult:
    """Train a metric on human judgments, or resume an interrupted run; options are as in `train`."""
    found = _changed(load_metric_config, config, output, minutes)
    _need_torch("training")
    from prism_mt.training.regression.export import export_metric
    from prism_mt.training.regression.objective import RegressionObjective

    return _run(found, partial(RegressionObjective, offline=offline), export_metric, fresh, export_only)


def _changed(
    load: Callable[[Path], AnyConfig],
    config: AnyConfig | Source,
    output: Source | None,
    minutes: float | None,
    **changes: Any,
) -> AnyConfig:
    """Apply the caller's overrides to the configuration; None leaves a setting as it is."""
    found = load(Path(config)) if isinstance(config, str | Path) else config
    changes["output"] = None if output is None else Path(output)
    if minutes is not None:
        if minutes <= 0:
            raise PrismError("minutes must be above 0")
        changes["limits"] = dataclasses.replace(found.limits, minutes=minutes)
    return dataclasses.replace(found, **{name: new for name, new in changes.items() if new is not None})


def _warn_of_name(name: str) -> None:
    """Warn if signatures would give the new model the name of one that comes with the package."""
    if name in EMBEDDED:
        _LOG.warning(
            "the new model will sign as %s, like the one that comes with the package: choose another name", name
        )


def _need_torch(purpose: str) -> None:
    """Configure and import torch."""
    # Threads that spin for long while waiting bring training to a standstill if other programs compete for the
    # cores. OpenMP reads this when torch is imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtra(purpose, "train") from error


def _run(
    config: AnyConfig,
    start: "Callable[[AnyConfig, World], Objective[Any]]",
    export: Callable[[AnyConfig], Path],
    fresh: bool,
    export_only: bool,
) -> TrainingResult:
    """Train as one of the run's processes, then let the first one write the result.

    A run stopped by a signal writes nothing, but `export_only` can do so later.
    """
    if export_only:
        return TrainingResult(export(config), finished=False, steps=0)
    # The lock comes first: a second run must not even wait for its other processes.
    first = int(os.environ.get("RANK", "0")) == 0
    with lock_folder(config.output, "training") if first else contextlib.nullcontext():
        loop, finished = _train(config, start, resume=not fresh)
        progress = loop.progress
        wanted = loop.world.first and (finished or loop.stop.out_of_time)
        best = progress.best if progress.best > float("-inf") else None
        return TrainingResult(export(config) if wanted else None, finished, progress.step, best)


def _train(
    config: AnyConfig, start: "Callable[[AnyConfig, World], Objective[Any]]", resume: bool
) -> "tuple[Loop, bool]":
    """Run the loop; return it and whether it finished."""
    import torch

    from prism_mt.training.distributed import join_world, leave_world
    from prism_mt.training.loop import Loop

    if config.threads:
        torch.set_num_threads(config.threads)
    world = join_world(config.device)
    try:
        loop = Loop(start(config, world), config, world, resume)
        return loop, loop.run()
    finally:
        leave_world(world)
