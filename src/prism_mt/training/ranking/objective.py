"""The objective of `prism finetune`: rank outputs as humans do without forgetting how to translate."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.ranking_pairs import RankedSegment, read_ranked, segment_keys
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.resolve import open_model
from prism_mt.training.distributed import World
from prism_mt.training.objective import Outcome, Position, Update, Weights
from prism_mt.training.precision import choose_precision
from prism_mt.training.ranking.adapters import halve_frozen
from prism_mt.training.ranking.config import FinetuneConfig
from prism_mt.training.ranking.loss import RankingLoss, Term
from prism_mt.training.ranking.network import adapted_network, load_trained, origin, trained_weights
from prism_mt.training.ranking.segments import (
    EncodedSegment,
    RoundRobin,
    cut_batches,
    digest_segments,
    encode_segments,
)
from prism_mt.training.ranking.validation import RankingQuality, criterion, validate_ranking


class RankingObjective:
    """Fine-tunes a model on the pairs written by `prism judgments pairs`."""

    validates_ends = True

    def __init__(self, config: FinetuneConfig, world: World, offline: bool = False) -> None:
        self.config, self.world = config, world
        self.base = open_model(config.model, offline)
        _check_output(config, self.base)
        train, valid = (_read(files) for files in (config.train, config.valid))
        self._judged = sorted(segment_keys([*train, *valid]))
        longest = config.batches.max_length
        self.stream = RoundRobin(encode_segments(train, self.base, longest), config.seed)
        self.epoch = self.stream.examples
        self.validation = _first_of_each(encode_segments(valid, self.base, longest), config.validation.segments)
        self.interval = config.validation.every
        self.tables = {"valid": tuple(field.name for field in dataclasses.fields(RankingQuality))}
        torch.manual_seed(config.seed)
        self.model = adapted_network(self.base, config)
        precision = choose_precision(config.precision, world.device)
        if precision != "float32":
            halve_frozen(self.model, getattr(torch, precision))
        self.module = RankingLoss(self.model, self.base.spec.conventions, config.ranking)
        self.terms = cast(dict[str, float], self.module.weights)
        self._pairs = digest_segments([*self.stream.epoch(0), *self.validation])

    def begin(self, world: World) -> None:
        """Do nothing: the initial weights are the model's."""

    def updates(self, position: Position, processes: int) -> Iterator[Update[list[EncodedSegment]]]:
        """Yield updates of about `update_tokens` tokens, cut into batches of segments."""
        (examples,) = position or (0,)
        batches = self.config.batches
        for segments in self.stream.updates(examples, batches.update_tokens):
            examples += len(segments)
            pairs = sum(len(segment.pairs) for segment in segments)
            tokens = sum(segment.tokens for segment in segments)
            yield Update(cut_batches(segments, batches.tokens), pairs, tokens, (examples,), examples)

    def loss(self, term: str, batch: list[EncodedSegment]) -> tuple[Tensor, Tensor]:
        """Sum a term over all pairs."""
        value: Tensor = self.module(cast(Term, term), batch)
        return value, value

    def validate(self) -> Outcome:
        """Accuracy and tau on held-out pairs, in float32 whatever the training precision."""
        qualities = validate_ranking(self.module, self.validation, self.config.batches.tokens, self.world)
        shown = "  ".join(f"{one.pair} accuracy {one.accuracy:.4f} tau {one.tau:.4f}" for one in qualities)
        rows = [dataclasses.asdict(quality) for quality in qualities]
        return Outcome(criterion(qualities), shown, {"valid": rows})

    def identity(self) -> dict[str, Any]:
        """Pairs, loss, model and adapters."""
        return {
            "pairs": self._pairs,
            "ranking": dataclasses.asdict(self.config.ranking),
            **origin(self.base, self.config),
        }

    def weights(self) -> Weights:
        """The trained weights only: with adapters, a small part of the model."""
        return trained_weights(self.model)

    def load_weights(self, weights: Weights) -> None:
        """Restore what `weights` returned."""
        load_trained(self.model, weights)

    def export_state(self) -> dict[str, Any]:
        """Keys of the segments that the model must not be judged on."""
        return {"judged": self._judged}


def _check_output(config: FinetuneConfig, base: ModelDirectory) -> None:
    made = config.output / "model"
    if made.exists() and made.samefile(base.folder):
        raise PrismError(f"{made} is the model to be fine-tuned and would be overwritten: choose another output")


def _read(files: Sequence[Path]) -> list[RankedSegment]:
    return [segment for path in files for segment in read_ranked(path)]


def _first_of_each(segments: list[EncodedSegment], count: int) -> list[EncodedSegment]:
    if not count:
        return segments
    by_pair: dict[str, list[EncodedSegment]] = {}
    for segment in segments:
        by_pair.setdefault(segment.lp, []).append(segment)
    return [segment for found in by_pair.values() for segment in found[:count]]
