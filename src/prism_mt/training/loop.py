"""The training loop: exactly resumable, and the same with one process or many, whatever the objective."""

import dataclasses
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from prism_mt._core.allocator import release_freed_memory
from prism_mt._core.errors import PrismError
from prism_mt.training.checkpoints import open_checkpoints
from prism_mt.training.config import RunConfig
from prism_mt.training.distributed import World, share_weights, sum_gradients
from prism_mt.training.log import ProgressLine, Recorder, say
from prism_mt.training.objective import Objective, Position, Update
from prism_mt.training.optimizer import make_optimizers, restore
from prism_mt.training.precision import autocast, choose_precision
from prism_mt.training.schedules import learning_rate
from prism_mt.training.stopping import Stop

_RELEASE = 50
"""Steps after which freed memory is given back."""


@dataclass
class Progress:
    """Progress of a run; part of every checkpoint."""

    step: int = 0
    position: Position = ()
    examples: int = 0
    tokens: int = 0
    best: float = float("-inf")
    best_step: int = 0
    worse: int = 0
    """Validations since the best one."""
    plateaus: int = 0
    """Validations that were not the best so far."""
    window: dict[str, float] = field(default_factory=dict)
    """Sums of the loss terms since the last log row."""
    window_size: int = 0


class Loop:
    """One run in one process."""

    def __init__(self, objective: Objective[Any], config: RunConfig, world: World, resume: bool = True) -> None:
        self.objective, self.config, self.world = objective, config, world
        self.precision = choose_precision(config.precision, world.device)
        objective.module.to(world.device)
        self.optimizers = make_optimizers(objective.module, config.optimizer)
        self.scaler = torch.amp.GradScaler(world.device.type, enabled=self.precision == "float16")
        self.checkpoints = open_checkpoints(config, objective.interval)
        self.progress = Progress()
        self.stop = Stop(config.limits.minutes)
        self._resumed = resume and self._resume()
        if not resume and world.first:
            self.checkpoints.clear()
        if not self._resumed:
            objective.begin(world)
        share_weights(objective.module, world)

    def run(self) -> bool:
        """Train to the end; return False if a signal or the time limit stopped it early."""
        objective, world, progress = self.objective, self.world, self.progress
        recorder = self._recorder() if world.first else None
        line = ProgressLine(self.config.log.seconds, self.config.limits.steps)
        if objective.validates_ends and not self._validated:
            self._validate(recorder)
            self.save()
        objective.module.train()
        updates = iter(()) if self._finished() else objective.updates(progress.position, world.size)
        saved = time.monotonic()
        with self.stop.watch():
            while not self._finished():
                self._update(next(updates), recorder, line)
                if _due(progress.step, _RELEASE):
                    release_freed_memory()
                stop = self.stop.needed(world)
                if _due(progress.step, objective.interval) or (objective.validates_ends and self._finished()):
                    self._validate(recorder)
                late = time.monotonic() - saved > self.config.checkpoints.minutes * 60
                if stop or late or _due(progress.step, self.checkpoints.every):
                    self.save()
                    saved = time.monotonic()
                if stop:
                    break
        if progress.step not in self.checkpoints.steps():
            self.save()
        if recorder:
            recorder.close()
        world.wait()
        return self._finished()

    @property
    def _validated(self) -> bool:
        return self.progress.best > float("-inf")

    def _recorder(self) -> Recorder:
        objective, progress = self.objective, self.progress
        return Recorder(
            self.config.output,
            after=progress.step if self._resumed else -1,
            tokens=progress.tokens,
            terms=tuple(objective.terms),
            tables=objective.tables,
            tensorboard=self.config.log.tensorboard,
        )

    def _finished(self) -> bool:
        progress = self.progress
        return self.config.limits.reached(progress.step, progress.examples, self.objective.epoch, progress.worse)

    def _update(self, update: Update[Any], recorder: Recorder | None, line: ProgressLine) -> None:
        """Make one step from the batches of all processes, and log it."""
        config, world, progress = self.config, self.world, self.progress
        progress.step += 1
        rate = learning_rate(
            config.schedule, config.optimizer.learning_rate, progress.step, config.limits.steps, progress.plateaus
        )
        sums = self.gradients(update)
        norm = self._step(rate)
        sums = dict(zip(sums, world.sums(list(sums.values())), strict=True))
        progress.position, progress.examples = update.position, update.examples
        progress.tokens += update.tokens
        for term, value in sums.items():
            progress.window[term] = progress.window.get(term, 0.0) + value
        progress.window_size += update.size
        epoch = progress.examples / self.objective.epoch
        if world.first:
            line.update(progress.step, self._mean(sums, update.size), rate, update.tokens, epoch)
        if _due(progress.step, config.log.every):
            row = {
                "step": progress.step,
                "epoch": round(epoch, 6),
                "loss": self._mean(progress.window, progress.window_size),
                **{term: value / progress.window_size for term, value in progress.window.items()},
                "learning_rate": rate,
                "gradient_norm": norm,
                "tokens": progress.tokens,
            }
            if recorder:
                recorder.train(row)
            progress.window, progress.window_size = {}, 0

    def _mean(self, sums: dict[str, float], size: int) -> float:
        return sum(weight * sums[term] for term, weight in self.objective.terms.items()) / size

    def gradients(self, update: Update[Any]) -> dict[str, float]:
        """Leave the gradient of the mean loss over all processes in the parameters.

        Returns the reported sums of this process's batches.
        """
        objective, world = self.objective, self.world
        # Dropout is a function of seed, step and process: no generator state has to be kept.
        torch.manual_seed((self.config.seed * 1_000_003 + self.progress.step) * 1_009 + world.rank)
        objective.module.zero_grad(set_to_none=True)
        sums = dict.fromkeys(objective.terms, 0.0)
        for batch in update.batches[world.rank :: world.size]:
            for term, weight in objective.terms.items():
                with autocast(self.precision, world.device):
                    loss, reported = objective.loss(term, batch)
                torch.autograd.backward(self.scaler.scale(loss * (weight / update.size)))
                sums[term] += float(reported.detach())
        sum_gradients(objective.module, world)
        return sums

    def _step(self, rate: float) -> float:
        """Clip, step, and return the gradient norm."""
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            self.scaler.unscale_(optimizer)
        clip = self.config.optimizer.clip
        norm = nn.utils.clip_grad_norm_(self.objective.module.parameters(), clip if clip > 0 else float("inf"))
        # Half precision overflows now and then, and the scaler skips such a step.
        if not torch.isfinite(norm) and not self.scaler.is_enabled():
            raise PrismError(
                f"the gradient of step {self.progress.step:,} is not a number: resume from the last checkpoint "
                "with a lower optimizer.learning_rate"
            )
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()
        return float(norm)

    def _validate(self, recorder: Recorder | None) -> None:
        """Validate, and save the weights if they are the best."""
        progress, module = self.progress, self.objective.module
        training = module.training
        module.eval()
        with torch.no_grad():
            outcome = self.objective.validate()
        module.train(training)
        better = outcome.value > progress.best
        if better:
            progress.best, progress.best_step, progress.worse = outcome.value, progress.step, 0
        else:
            progress.worse += 1
            progress.plateaus += 1
        if recorder:
            recorder.validation(progress.step, outcome.tables)
            say(f"step {progress.step:,}  {outcome.summary}{'  (best so far)' if better else ''}")
            if better:
                self.checkpoints.save_best(self.objective.weights())

    def save(self) -> None:
        """Write a checkpoint of the current state."""
        if not self.world.first:
            return
        state = {
            "progress": dataclasses.asdict(self.progress),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "scaler": self.scaler.state_dict(),
            "identity": self._identity(),
            "export": self.objective.export_state(),
        }
        self.checkpoints.save(self.progress.step, self.objective.weights(), state)

    def _identity(self) -> dict[str, Any]:
        return {
            "seed": self.config.seed,
            "precision": self.precision,
            "optimizer": self.config.optimizer.kind,
            **self.objective.identity(),
        }

    def _resume(self) -> bool:
        """Resume from the newest checkpoint; return False if there is none."""
        found = self.checkpoints.resume(self._identity())
        if found is None:
            return False
        weights, state = found
        self.objective.load_weights(weights)
        restore(self.optimizers, state["optimizers"])
        self.scaler.load_state_dict(state["scaler"])
        self.progress = Progress(**state["progress"])
        if self.world.first:
            say(f"resuming from step {self.progress.step:,}")
        return True


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0
