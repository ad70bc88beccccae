"""Options and messages shared by `prism train`, `prism finetune` and `prism metric train`."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.options import Config, option
from prism_mt._core.terminal import printable
from prism_mt.training.api import TrainingResult

EPILOG = """Run the same command again to resume a stopped or killed run from its last checkpoint.
Several processes: torchrun --nproc-per-node 2 -m prism_mt {command} CONFIG.toml"""


@dataclass(frozen=True, kw_only=True)
class RunOptions(Config):
    """Options of every run."""

    config: Path = option("TOML file with the settings of the run", positional=True)
    output: Path | None = option(
        "folder for checkpoints, logs and the result (default: the configuration's `output`)", None, metavar="DIR"
    )
    minutes: float | None = option("stop after this many minutes; the run can be resumed", None, metavar="M")
    fresh: bool = option("start over instead of resuming from the last checkpoint", False)
    export_only: bool = option("export from the existing checkpoints, without training", False)

    @property
    def arguments(self) -> dict[str, Any]:
        """The keyword arguments that `train`, `finetune` and `train_metric` share."""
        return {
            "output": self.output,
            "minutes": self.minutes,
            "fresh": self.fresh,
            "export_only": self.export_only,
        }


def report(options: RunOptions, result: TrainingResult, what: str) -> int:
    """Report how a run ended, and return the exit code; `what` is "model" or "metric"."""
    if not result.finished and not options.export_only and _first_process():
        print(f"Stopped at step {result.steps:,}; run the same command to resume.", file=sys.stderr)
    if result.folder is not None:
        print(printable(f"The {what} is in {result.folder}; `prism score --{what} {result.folder}` uses it."))
        return 0
    return 130 if _first_process() else 0


def _first_process() -> bool:
    return os.environ.get("RANK", "0") == "0"
