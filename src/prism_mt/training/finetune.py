"""Fine-tuning on human judgments: the loop, exact to resume."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import torch
import torch.distributed as dist
from torch import nn

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.ranking_pairs import RankedSegment, read_ranked, segment_keys
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.network import Transformer, from_weights
from prism_mt.models.resolve import open_model
from prism_mt.training.adapters import add_adapters, halve_frozen
from prism_mt.training.checkpoints import CheckpointFolder
from prism_mt.training.distributed import World
from prism_mt.training.finetune_config import FinetuneConfig
from prism_mt.training.finetune_data import (
    EncodedSegment,
    RoundRobin,
    cut_batches,
    digest_segments,
    encode_segments,
)
from prism_mt.training.finetune_validation import RankingQuality, criterion, validate_ranking
from prism_mt.training.log import CsvLog, ProgressLine, say
from prism_mt.training.optimiser import make_optimiser, restore
from prism_mt.training.ranking import RankingObjective, Term
from prism_mt.training.schedules import learning_rate
from prism_mt.training.stopping import Stop

TERMS: tuple[Term, ...] = get_args(Term)
TRAIN_COLUMNS = ("step", "epoch", "loss", *TERMS, "learning_rate", "gradient_norm")
VALID_COLUMNS = ("step", *(field.name for field in dataclasses.fields(RankingQuality)))
_PROGRESS_SECONDS = 20.0


@dataclasses.dataclass
class FinetuneProgress:
    """How far a run has come; part of every checkpoint."""

    step: int = 0
    segments: int = 0
    best: float = float("-inf")
    best_step: int = 0
    worse: int = 0
    """Validations since the best one."""


class Finetuner:
    """One run in one process."""

    def __init__(self, config: FinetuneConfig, world: World, resume: bool = True) -> None:
        self.config, self.world = config, world
        if config.threads:
            torch.set_num_threads(config.threads)
        base = open_model(config.model)
        made = config.output / "model"
        if made.exists() and made.samefile(base.folder):
            raise PrismError(
                f"{made} is the model to be fine-tuned and would be overwritten: choose another output"
            )
        train, valid = (_read(files) for files in (config.train, config.valid))
        self._judged = sorted(segment_keys([*train, *valid]))
        longest = config.batches.max_length
        self.stream = RoundRobin(encode_segments(train, base, longest), config.seed)
        self.validation = _first_of_each(encode_segments(valid, base, longest), config.checks.segments)
        torch.manual_seed(config.seed)
        network = adapted_network(base, config)
        if config.precision == "bfloat16":
            halve_frozen(network)
        self.objective = RankingObjective(network, base.spec.conventions, config.ranking).to(world.device)
        self.optimiser = make_optimiser(self.objective, config.optimiser)
        self.checkpoints = CheckpointFolder(config.output / "checkpoints", 1, config.checks.every)
        self.progress = FinetuneProgress()
        self._base = base
        self._pairs = digest_segments([*self.stream.epoch(0), *self.validation])
        self.stop = Stop(config.limits.minutes)
        if resume:
            self._resume()
        elif world.first:
            self.checkpoints.clear()

    def run(self) -> bool:
        """Train to the end; False when a signal or the minutes stopped it before."""
        config, progress = self.config, self.progress
        logs = self._logs() if self.world.first else None
        line = ProgressLine(_PROGRESS_SECONDS, config.limits.steps)
        if not self._validated:
            self._validate(logs)
        self.objective.train()
        updates = self.stream.updates(progress.segments, config.batches.update_tokens)
        with self.stop.watch():
            while not self._finished():
                self._update(next(updates), logs, line)
                stop = self.stop.needed(self.world)
                if progress.step % config.checks.every == 0 or self._finished():
                    self._validate(logs)
                elif stop:
                    self._save()
                if stop:
                    break
        self.world.wait()
        return self._finished()

    @property
    def _validated(self) -> bool:
        """Whether the model before training has been validated, by this process or by one that it goes on from."""
        return self.progress.best > float("-inf")

    def _logs(self) -> tuple[CsvLog, CsvLog]:
        folder = self.config.output
        after = self.progress.step if self._validated else -1
        return (
            CsvLog(folder / "train.csv", TRAIN_COLUMNS, after),
            CsvLog(folder / "ranking.csv", VALID_COLUMNS, after),
        )

    def _finished(self) -> bool:
        progress = self.progress
        return self.config.limits.reached(progress.step, progress.segments, self.stream.examples, progress.worse)

    def _update(
        self, segments: list[EncodedSegment], logs: tuple[CsvLog, CsvLog] | None, line: ProgressLine
    ) -> None:
        """One step on the mean loss of all pairs of these segments, the batches shared among processes."""
        config, progress, world = self.config, self.progress, self.world
        progress.step += 1
        pairs = sum(len(segment.pairs) for segment in segments)
        # Dropout is a function of seed, step and process, so that a resumed run is the same run.
        torch.manual_seed((config.seed * 1_000_003 + progress.step) * 1_009 + world.rank)
        self.optimiser.zero_grad(set_to_none=True)
        weights = self.objective.weights
        sums = dict.fromkeys(TERMS, 0.0)
        for batch in cut_batches(segments, config.batches.tokens)[world.rank :: world.size]:
            for term, weight in weights.items():
                with torch.autocast(world.device.type, torch.bfloat16, enabled=config.precision == "bfloat16"):
                    value = self.objective(term, batch)
                (value * (weight / pairs)).backward()
                sums[term] += float(value.detach())
        if world.size > 1:
            self._add_gradients()
        rate = learning_rate(config.schedule, config.optimiser.learning_rate, progress.step, config.limits.steps)
        norm = self._step(rate)
        progress.segments += len(segments)
        means = dict(zip(TERMS, (total / pairs for total in world.sums(list(sums.values()))), strict=True))
        loss = sum(weight * means[term] for term, weight in weights.items())
        epoch = progress.segments / self.stream.examples
        line.update(progress.step, loss, rate, sum(segment.tokens for segment in segments), epoch)
        if logs:
            numbers = (progress.step, round(epoch, 6), loss, *means.values(), rate, norm)
            logs[0].add(dict(zip(TRAIN_COLUMNS, numbers, strict=True)))

    def _add_gradients(self) -> None:
        """Sum over processes; one with nothing to do in this step adds zeros."""
        for parameter in self.objective.parameters():
            if parameter.requires_grad:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter.grad)

    def _step(self, rate: float) -> float:
        """Clip, step, and return the gradient's length."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        clip = self.config.optimiser.clip
        norm = nn.utils.clip_grad_norm_(self.objective.parameters(), clip if clip > 0 else float("inf"))
        if not torch.isfinite(norm):
            raise PrismError(
                f"the gradient of step {self.progress.step:,} is not a number: go on from the last checkpoint "
                "with a lower optimiser.learning_rate"
            )
        self.optimiser.step()
        return float(norm)

    def _validate(self, logs: tuple[CsvLog, CsvLog] | None) -> None:
        """Measure, remember the best, and write a checkpoint."""
        progress = self.progress
        qualities = validate_ranking(self.objective, self.validation, self.config.batches.tokens, self.world)
        value = criterion(qualities)
        better = value > progress.best
        if better:
            progress.best, progress.best_step, progress.worse = value, progress.step, 0
        else:
            progress.worse += 1
        if not logs:
            return
        for quality in qualities:
            logs[1].add({"step": progress.step, **dataclasses.asdict(quality)})
        shown = "  ".join(f"{one.lp} accuracy {one.accuracy:.4f} tau {one.tau:.4f}" for one in qualities)
        say(f"step {progress.step:,}  {shown}{'  (best so far)' if better else ''}")
        if better:
            self.checkpoints.save_best(trained_weights(self.objective.model))
        self._save()

    def _save(self) -> None:
        """Write a checkpoint of this moment."""
        if not self.world.first:
            return
        state = {
            "progress": dataclasses.asdict(self.progress),
            "optimiser": self.optimiser.state_dict(),
            "identity": self._identity(),
            "judged": self._judged,
        }
        self.checkpoints.save(self.progress.step, trained_weights(self.objective.model), state)

    def _identity(self) -> dict[str, Any]:
        """What must not change between the beginning of a run and its resumption."""
        config = self.config
        return {
            "seed": config.seed,
            "pairs": self._pairs,
            "ranking": dataclasses.asdict(config.ranking),
            **origin(self._base, config),
        }

    def _resume(self) -> None:
        found = self.checkpoints.resume(self._identity())
        if found is None:
            return
        weights, state = found
        load_trained(self.objective.model, weights)
        restore(self.optimiser, state["optimiser"])
        self.progress = FinetuneProgress(**state["progress"])
        if self.world.first:
            say(f"going on from step {self.progress.step:,}")


def origin(base: ModelDirectory, config: FinetuneConfig) -> dict[str, Any]:
    """What trained weights are changes of: without it they mean nothing."""
    return {"model": base.digest, "adapters": dataclasses.asdict(config.adapters)}


def adapted_network(base: ModelDirectory, config: FinetuneConfig) -> Transformer:
    """The model to be trained, with adapters where they are asked for."""
    network = from_weights(base.spec.architecture, base.weights())
    if config.adapters.rank:
        add_adapters(network, config.adapters)
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = config.dropout
    return network


def trained_weights(network: Transformer) -> dict[str, torch.Tensor]:
    """Only what is trained: with adapters that is a small part of the model."""
    return {name: tensor.detach() for name, tensor in network.named_parameters() if tensor.requires_grad}


def load_trained(network: Transformer, weights: Mapping[str, torch.Tensor]) -> None:
    """Put back what `trained_weights` gave."""
    trained = trained_weights(network).keys()
    if weights.keys() != trained:
        odd = min(weights.keys() ^ trained)
        raise PrismError(f"this checkpoint does not fit the model ({odd}): start again with --fresh")
    network.load_state_dict(weights, strict=False)


def _read(files: Sequence[Path]) -> list[RankedSegment]:
    return [segment for path in files for segment in read_ranked(path)]


def _first_of_each(segments: list[EncodedSegment], count: int) -> list[EncodedSegment]:
    if not count:
        return segments
    by_pair: dict[str, list[EncodedSegment]] = {}
    for segment in segments:
        by_pair.setdefault(segment.lp, []).append(segment)
    return [segment for found in by_pair.values() for segment in found[:count]]
