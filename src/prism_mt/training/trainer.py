"""The training loop: exact to resume, the same with one process and with many."""

import contextlib
import dataclasses
import time
from itertools import islice
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from prism_mt._core.errors import PrismError
from prism_mt.models.language_model import LanguageModel
from prism_mt.models.network import Transformer
from prism_mt.training.batches import Collator
from prism_mt.training.checkpoints import CheckpointFolder
from prism_mt.training.config import TrainConfig
from prism_mt.training.cooccurrence import cooccurrence_vectors
from prism_mt.training.distributed import World, distribute
from prism_mt.training.log import ProgressLine, Recorder, say
from prism_mt.training.objectives import Objective
from prism_mt.training.optimiser import make_optimiser, restore
from prism_mt.training.schedules import learning_rate
from prism_mt.training.shards import ShardDataset, digest_data, read_vocabulary
from prism_mt.training.stopping import Stop
from prism_mt.training.stream import ExampleStream, Plan, Position
from prism_mt.training.translations import translation_quality
from prism_mt.training.validation import ALL, validate, validation_plans


@dataclasses.dataclass
class Progress:
    """How far a run has come; part of every checkpoint."""

    step: int = 0
    position: Position = Position()
    best: float = float("inf")
    worse: int = 0
    """Validations since the best one."""
    window_loss: float = 0.0
    """Sum over the target tokens since the last row of the log."""
    window_tokens: int = 0
    tokens: int = 0


class Trainer:
    """One run in one process."""

    def __init__(self, config: TrainConfig, world: World, resume: bool = True) -> None:
        self.config, self.world = config, world
        if config.threads:
            torch.set_num_threads(config.threads)
        data = ShardDataset(config.data)
        vocabulary = read_vocabulary(config.data)
        language_model = config.kind == "language-model"
        # A language model has no source: sorted as if it were the target, batches are tight.
        share = 1.0 if language_model else config.denoising.share
        self.stream = ExampleStream(data, config.batches, share, config.seed)
        self.collate = Collator(data, vocabulary, config.denoising, with_source=not language_model)
        self.vocabulary = vocabulary
        self._prepare_validation()
        kept = config.checkpoints
        self.checkpoints = CheckpointFolder(config.output / "checkpoints", kept.average, kept.every)
        self.objective = self._objective(data, begins=not (resume and self.checkpoints.steps()))
        self.module: nn.Module = self.objective
        if world.size > 1:
            self.module = distribute(self.objective)
        self.optimiser = make_optimiser(self.objective, config.optimiser)
        self.scaler = torch.amp.GradScaler(world.device.type, enabled=config.precision == "float16")
        self.progress = Progress()
        self.stop = Stop(config.limits.minutes)
        if resume:
            self._resume()
        elif world.first:
            self.checkpoints.clear()

    def _objective(self, data: ShardDataset, begins: bool) -> Objective:
        config = self.config
        torch.manual_seed(config.seed)
        kind = Transformer if config.kind == "translation" else LanguageModel
        model = kind(config.architecture.architecture(data.meta.vocabulary), config.dropout)
        # Other processes get the first one's weights.
        if begins and self.world.first and isinstance(model, Transformer) and config.embeddings == "cooccurrence":
            say("counting which pieces translate each other")
            with torch.no_grad():
                table = model.source_embedding
                table.copy_(cooccurrence_vectors(data, table, config.seed))
        return Objective(model, config.label_smoothing).to(self.world.device)

    def _prepare_validation(self) -> None:
        config = self.config
        self.validation: list[tuple[str, Plan]] = []
        if not config.validation.every:
            return
        held_out = ShardDataset(config.data, "valid")
        self.validation = validation_plans(held_out, config, config.validation.rows)
        self.translations = validation_plans(held_out, config, config.validation.translations)
        if not self.validation:
            raise PrismError(f"{config.data} has no validation part: prepare one or set validation.every = 0")
        self.collate_validation = Collator(held_out, self.vocabulary, config.denoising, self.collate.with_source)

    def run(self) -> bool:
        """Train to the end; False when a signal or the minutes stopped it before."""
        config, world = self.config, self.world
        saved = time.monotonic()
        recorder = self._recorder() if world.first else None
        line = ProgressLine(config.log.seconds, config.limits.steps)
        self.objective.train()
        batches = self.stream.batches(self.progress.position)
        with self.stop.watch():
            while not self._finished():
                self._step(list(islice(batches, self._batches_per_step)), recorder, line)
                stop = self.stop.needed(world)
                regular = self._due(config.checkpoints.every)
                if self._due(config.validation.every):
                    self._validate(recorder)
                if world.first and (regular or stop or time.monotonic() - saved > config.checkpoints.minutes * 60):
                    self.save()
                    saved = time.monotonic()
                if stop:
                    break
        if world.first and self.progress.step not in self.checkpoints.steps():
            self.save()
        if recorder:
            recorder.close()
        world.wait()
        return self._finished()

    def _recorder(self) -> Recorder:
        return Recorder(self.config.output, self.progress.step, self.progress.tokens, self.config.log.tensorboard)

    @property
    def _batches_per_step(self) -> int:
        return self.config.batches.accumulate * self.world.size

    def _due(self, every: int) -> bool:
        return every > 0 and self.progress.step % every == 0

    def _finished(self) -> bool:
        progress, epoch = self.progress, self.stream.examples
        return self.config.limits.reached(progress.step, progress.position.examples, epoch, progress.worse)

    def _step(self, planned: list[tuple[Plan, Position]], recorder: Recorder | None, line: ProgressLine) -> None:
        """One update from the batches of all processes."""
        config, world, progress = self.config, self.world, self.progress
        progress.step += 1
        rate = learning_rate(config.schedule, config.optimiser.learning_rate, progress.step, config.limits.steps)
        tokens = sum(plan.predicted for plan, _ in planned)
        likelihood = self.gradients([plan for plan, _ in planned][world.rank :: world.size], tokens)
        norm = self._update(rate)
        (likelihood,) = world.sums([likelihood])
        progress.position = planned[-1][1]
        progress.tokens += tokens
        progress.window_loss += likelihood
        progress.window_tokens += tokens
        epoch = progress.position.examples / self.stream.examples
        if world.first:
            line.update(progress.step, likelihood / tokens, rate, tokens, epoch)
        if progress.step % config.log.every == 0:
            row = {
                "step": progress.step,
                "epoch": round(epoch, 6),
                "loss": progress.window_loss / progress.window_tokens,
                "learning_rate": rate,
                "gradient_norm": norm,
                "tokens": progress.tokens,
            }
            if recorder:
                recorder.train(row)
            progress.window_loss, progress.window_tokens = 0.0, 0

    def gradients(self, plans: list[Plan], tokens: int) -> float:
        """Leave in the parameters the gradient of the mean loss over `tokens`, those of all processes.

        Returns the summed negative log-likelihood of this process's batches.
        """
        world, progress = self.world, self.progress
        # Dropout is a function of seed, step and process: no generator's state has to be kept.
        torch.manual_seed((self.config.seed * 1_000_003 + progress.step) * 1_009 + world.rank)
        self.optimiser.zero_grad(set_to_none=True)
        likelihood = 0.0
        for number, plan in enumerate(plans):
            batch = self.collate(plan).to(world.device)
            with self._communication(last=number == len(plans) - 1):
                with self._autocast():
                    loss, summed = self.module(batch)
                # Processes' gradients are averaged, so each is taken times their number.
                self.scaler.scale(loss * (world.size / tokens)).backward()
            likelihood += float(summed)
        return likelihood

    def _update(self, rate: float) -> float:
        """Clip, step, and return the gradient's length."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.scaler.unscale_(self.optimiser)
        clip = self.config.optimiser.clip
        norm = nn.utils.clip_grad_norm_(self.objective.parameters(), clip if clip > 0 else float("inf"))
        # Half precision overflows now and then, and the scaler leaves such a step out.
        if not torch.isfinite(norm) and not self.scaler.is_enabled():
            raise PrismError(
                f"the gradient of step {self.progress.step:,} is not a number: go on from the last checkpoint "
                "with a lower optimiser.learning_rate"
            )
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return float(norm)

    def _communication(self, last: bool) -> contextlib.AbstractContextManager[Any]:
        """Gradients travel once a step, with the last batch."""
        if isinstance(self.module, DistributedDataParallel) and not last:
            return self.module.no_sync()
        return contextlib.nullcontext()

    def _autocast(self) -> contextlib.AbstractContextManager[Any]:
        if self.config.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.world.device.type, getattr(torch, self.config.precision))

    def _validate(self, recorder: Recorder | None) -> None:
        with self._autocast():
            losses = validate(self.objective, self.validation, self.collate_validation, self.world)
        progress = self.progress
        loss = losses[ALL][0]
        better = loss < progress.best
        progress.best, progress.worse = (loss, 0) if better else (progress.best, progress.worse + 1)
        if self.translations:
            self._translate(recorder)
        if recorder:
            recorder.valid(progress.step, losses)
            say(f"step {progress.step:,}  validation loss {loss:.4f}{'  (best so far)' if better else ''}")
            if better:
                self.checkpoints.save_best(self.objective.model.state_dict())

    def _translate(self, recorder: Recorder | None) -> None:
        model, plans = self.objective.model, self.translations
        assert isinstance(model, Transformer)
        found = translation_quality(model, plans, self.collate_validation, self.vocabulary, self.world)
        if recorder:
            recorder.translations(self.progress.step, found)

    def save(self) -> None:
        """Write a checkpoint of this moment."""
        state = {
            "progress": dataclasses.asdict(self.progress),
            "optimiser": self.optimiser.state_dict(),
            "scaler": self.scaler.state_dict(),
            "identity": self._identity(),
        }
        self.checkpoints.save(self.progress.step, self.objective.model.state_dict(), state)

    def _identity(self) -> dict[str, Any]:
        """What must not change between the beginning of a run and its resumption."""
        architecture = dataclasses.asdict(self.objective.model.architecture)
        return {
            "kind": self.config.kind,
            "seed": self.config.seed,
            "precision": self.config.precision,
            "examples": self.stream.examples,
            "data": digest_data(self.config.data),
            **architecture,
        }

    def _resume(self) -> None:
        found = self.checkpoints.resume(self._identity())
        if found is None:
            return
        weights, state = found
        self.objective.model.load_state_dict(weights)
        restore(self.optimiser, state["optimiser"])
        self.scaler.load_state_dict(state["scaler"])
        table = state["progress"]
        self.progress = Progress(**{**table, "position": Position(**table["position"])})
        if self.world.first:
            say(f"going on from step {self.progress.step:,}")
