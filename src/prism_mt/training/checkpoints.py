"""Checkpoints: each consists of two files, the weights and everything else needed to resume exactly.

    checkpoints/step-00001000.weights.pt    the model's weights by canonical name
    checkpoints/step-00001000.state.pt      optimizer, position in the data, counters; written last
    checkpoints/best.weights.pt             the weights with the best validation result

The two newest have their state; as many weights are kept as are averaged.
"""

import re
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt.training.config import RunConfig

_KEPT = 2
_NAME = re.compile(r"step-(\d{8})\.(weights|state)\.pt")


class CheckpointFolder:
    """The checkpoints of one run."""

    def __init__(self, folder: Path, average: int, every: int) -> None:
        self.folder, self.average, self.every = folder, average, every

    def save(self, step: int, weights: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Write a checkpoint and remove those that are no longer needed."""
        _save(self.folder / f"step-{step:08d}.weights.pt", weights)
        _save(self.folder / f"step-{step:08d}.state.pt", {**state, "step": step})
        self._prune()

    def save_best(self, weights: dict[str, Tensor]) -> None:
        """Save these weights as the best so far."""
        _save(self.folder / "best.weights.pt", weights)

    def steps(self, kind: str = "state") -> list[int]:
        """Steps of all files of a kind, oldest first."""
        names = (_NAME.fullmatch(path.name) for path in self.folder.glob("step-*.pt"))
        return sorted(int(name[1]) for name in names if name and name[2] == kind)

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Weights and state of the newest complete checkpoint; None if there is none."""
        steps = self.steps()
        if not steps:
            return None
        stem = f"step-{steps[-1]:08d}"
        return _load(self.folder / f"{stem}.weights.pt"), _load(self.folder / f"{stem}.state.pt")

    def check(self, identity: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Like `load`, for a run that must match the checkpoint in everything that identifies it."""
        found = self.load()
        if found is None:
            return None
        theirs = found[1]["identity"]
        changed = sorted(key for key in identity if identity[key] != theirs.get(key))
        if changed:
            raise PrismError(
                f"{self.folder} is from a run with other settings ({', '.join(changed)}): "
                "restore the configuration, choose another output, or start again with `fresh=`"
            )
        return found

    def resume(self, identity: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Like `check`, but also remove the weights of an unfinished checkpoint."""
        found = self.check(identity)
        for step in self.steps("weights") if found else ():
            if found and step > found[1]["step"]:
                (self.folder / f"step-{step:08d}.weights.pt").unlink()
        return found

    def averaged(self) -> tuple[dict[str, Tensor], list[int]]:
        """The mean of the last regular checkpoints, and their steps; without averaging, the newest one."""
        newest = self.steps()[-1:]
        if not newest:
            raise PrismError(f"{self.folder} has no checkpoint yet")
        # Weights without a state may still be in the making.
        regular = [step for step in self._regular() if step <= newest[0]]
        chosen = regular or newest if self.average > 1 else newest
        total: dict[str, Tensor] = {}
        for step in chosen:
            for name, tensor in _load(self.folder / f"step-{step:08d}.weights.pt").items():
                total[name] = tensor.double() + total[name] if name in total else tensor.double()
        return {name: (tensor / len(chosen)).float() for name, tensor in total.items()}, chosen

    def exported(self, export: Literal["last", "best"]) -> tuple[dict[str, Tensor], str]:
        """The weights to export, and a description of them."""
        if export == "best":
            return self.best(), "the checkpoint with the best validation"
        weights, steps = self.averaged()
        if len(steps) == 1:
            return weights, f"the checkpoint at step {steps[0]}"
        return weights, f"the mean of the checkpoints at steps {', '.join(map(str, steps))}"

    def best(self) -> dict[str, Tensor]:
        """The weights with the best validation result."""
        path = self.folder / "best.weights.pt"
        if not path.exists():
            raise PrismError(f"{self.folder} has no best checkpoint yet: nothing has been validated")
        best: dict[str, Tensor] = _load(path)
        return best

    def clear(self) -> None:
        """Remove all checkpoints."""
        for path in [*self.folder.glob("step-*.pt"), self.folder / "best.weights.pt"]:
            path.unlink(missing_ok=True)

    def _regular(self) -> list[int]:
        """Steps whose weights are averaged: time-based checkpoints in between would weigh unevenly."""
        return [step for step in self.steps("weights") if self.every and step % self.every == 0][-self.average :]

    def _prune(self) -> None:
        states, weights = self.steps("state"), self.steps("weights")
        for step in states[:-_KEPT]:
            (self.folder / f"step-{step:08d}.state.pt").unlink()
        for step in set(weights[:-_KEPT]) - set(self._regular()):
            (self.folder / f"step-{step:08d}.weights.pt").unlink()


def open_checkpoints(config: RunConfig, interval: int) -> CheckpointFolder:
    """Open the checkpoints of a run that validates at this interval."""
    kept = config.checkpoints
    return CheckpointFolder(config.output / "checkpoints", kept.average, kept.every or interval)


def _save(path: Path, content: Any) -> None:
    try:
        with write_atomically(path, "wb") as handle:
            torch.save(content, handle)
    except RuntimeError as error:
        # torch's writer hides a full disk behind an error of its own.
        raise PrismError(f"cannot write {path}: is the disk full?") from error


def _load(path: Path) -> Any:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # torch reports a damaged file with whatever exception its unpickler hits first.
        raise PrismError(f"cannot read the checkpoint {path}: {error}".splitlines()[0]) from error
