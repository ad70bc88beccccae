"""The objective of `prism metric train`: regression to human scores over the vectors of a frozen encoder."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from prism_mt._core.errors import PrismError
from prism_mt._core.files import sha256_of
from prism_mt._core.progress import counter
from prism_mt.encoders.cached import StoredEncoder
from prism_mt.encoders.factory import EncoderConfig, open_both_encoders, open_piece_encoder
from prism_mt.metrics.learned import read_spec, read_weights
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.resolve import open_model
from prism_mt.training.distributed import World
from prism_mt.training.objective import Outcome, Position, Update, Weights
from prism_mt.training.regression.config import MetricConfig
from prism_mt.training.regression.export import describe_metric
from prism_mt.training.regression.judgments import JudgedOutput, read_judged_outputs
from prism_mt.training.regression.network import RegressionNetwork, pad

_DEV_BATCH = 64
_KEPT = ("kind", "layer", "language", "side", "source_language", "loss", "margin", "hidden", "pieces", "batch")


class RegressionObjective:
    """Trains a metric on individual judgments; an epoch is a pass through all of them."""

    validates_ends = False

    def __init__(self, config: MetricConfig, world: World, offline: bool = False) -> None:
        self.config, self.world = config, world
        self.train = [row for path in config.train for row in read_judged_outputs(path, config.side)]
        dev = [row for path in config.dev for row in read_judged_outputs(path, config.side)]
        self.dev = sorted(dev, key=_length)  # batches with little padding
        if len(self.train) < 2 or len(self.dev) < 3:
            raise PrismError("training a metric needs at least 2 judgments under `train` and 3 under `dev`")
        self.groups = _group(self.train)
        self.epoch = len(self.train)
        # A group is never cut, so that batches may be larger, and an epoch shorter, than without groups.
        self.interval = math.ceil(self.epoch / (config.batch + max(map(len, self.groups)) - 1))
        self.terms = {"loss": 1.0}
        self.tables = {"valid": ("set", "pearson")}
        self.encoder, self.other_encoder = _open_encoders(config, offline)
        self.spec = describe_metric(config, self.encoder.digest, self.encoder.layers, self.encoder.width)
        torch.manual_seed(config.seed)
        spec = self.spec
        self.module = RegressionNetwork(config.kind, spec.layers, spec.width, config.hidden, config.dropout)
        self._start = Path(config.start) if config.start else None

    def _encode_all(self) -> None:
        """Encode every text once, before training."""
        rows = (*self.train, *self.dev)
        texts = [list(dict.fromkeys(found)) for found in ([r.hypothesis for r in rows], [r.other for r in rows])]
        with counter("encoding", sum(map(len, texts))) as advance:
            self.encoder.prepare(texts[0], advance)
            self.other_encoder.prepare(texts[1], advance)

    def begin(self, world: World) -> None:
        """Start from another metric's network, if configured."""
        if self._start:
            found = read_spec(self._start)
            for name in ("kind", "encoder_digest", "layer", "layers", "width", "hidden"):
                theirs, ours = getattr(found, name), getattr(self.spec, name)
                if theirs != ours:
                    raise PrismError(
                        f"{self._start} cannot be the starting point: its {name} is {theirs}, not {ours}"
                    )
            weights = read_weights(self._start, found)
            self.module.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})

    def updates(self, position: Position, processes: int) -> Iterator[Update[list[JudgedOutput]]]:
        """Encode all texts, and return batches in an order that depends on the seed and the epoch alone."""
        self._encode_all()
        return self._updates(position)

    def _updates(self, position: Position) -> Iterator[Update[list[JudgedOutput]]]:
        """Yield batches; a group is never cut."""
        epoch, done, examples = position or (0, 0, 0)
        while True:
            batches = make_batches(
                self.groups, self.config.batch, np.random.default_rng([self.config.seed, epoch])
            )
            for place, batch in enumerate(batches[done:], done + 1):
                examples += len(batch)
                tokens = sum(len(row.hypothesis.split()) for row in batch)
                yield Update([batch], len(batch), tokens, (epoch, place, examples), examples)
            epoch, done = epoch + 1, 0

    def loss(self, term: str, batch: list[JudgedOutput]) -> tuple[Tensor, Tensor]:
        """The mean loss of the batch times its number of judgments."""
        human = torch.tensor([row.score for row in batch], device=self.world.device)
        scores = self._scores(batch)
        mean = scores.new_zeros(())
        if self.config.loss in ("ranking", "both"):
            mean = mean + ranking_loss(scores, human, self.config.margin, _same_group(batch).to(scores.device))
        if self.config.loss in ("mse", "both"):
            mean = mean + torch.nn.functional.mse_loss(scores, human)
        return mean * len(batch), mean * len(batch)

    def _scores(self, batch: Sequence[JudgedOutput]) -> Tensor:
        device, pieces = self.world.device, self.config.pieces
        t, t_mask = pad(self.encoder.encode([row.hypothesis for row in batch]), pieces)
        r, r_mask = pad(self.other_encoder.encode([row.other for row in batch]), pieces)
        scores: Tensor = self.module(t.to(device), r.to(device), t_mask.to(device), r_mask.to(device))
        return scores

    def validate(self) -> Outcome:
        """Pearson correlation over all validation data."""
        parts = [
            self._scores(self.dev[start : start + _DEV_BATCH]) for start in range(0, len(self.dev), _DEV_BATCH)
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            scores = torch.cat(parts).double().cpu()
            found = float(np.corrcoef(scores, [row.score for row in self.dev])[0, 1])
        if not math.isfinite(found):
            raise PrismError(
                "the correlation with the dev scores is undefined: either they are all equal, or training has "
                "diverged, which a lower optimizer.learning_rate may prevent"
            )
        return Outcome(found, f"dev Pearson {found:.4f}", {"valid": [{"set": "dev", "pearson": found}]})

    def identity(self) -> dict[str, Any]:
        """Network, loss, encoder and judgments."""
        settings = {name: getattr(self.config, name) for name in _KEPT}
        for name in ("train", "dev"):  # by content: paths depend on the working directory
            settings[name] = [sha256_of(path) for path in getattr(self.config, name)]
        return {**settings, "encoder": self.spec.encoder_digest, "batches": "by length"}

    def weights(self) -> Weights:
        """The network's weights, not the encoder's."""
        return self.module.state_dict()

    def load_weights(self, weights: Weights) -> None:
        """Restore what `weights` returned."""
        self.module.load_state_dict(weights)

    def export_state(self) -> dict[str, Any]:
        """Description of the encoder, so that the export does not have to open it."""
        spec = self.spec
        return {"digest": spec.encoder_digest, "layers": spec.layers, "width": spec.width}


def ranking_loss(scores: Tensor, human: Tensor, margin: float, comparable: Tensor) -> Tensor:
    """Mean hinge over all pairs that people tell apart, of those that are `comparable` (B, B)."""
    better = (human[:, None] > human[None, :]) & comparable
    hinge = (margin - (scores[:, None] - scores[None, :])).clamp(min=0)
    return (hinge * better).sum() / better.sum().clamp(min=1)


def _same_group(batch: Sequence[JudgedOutput]) -> Tensor:
    """(B, B): where outputs belong to one group; all do in data without groups."""
    numbers = {group: number for number, group in enumerate(dict.fromkeys(row.group for row in batch))}
    groups = torch.tensor([numbers[row.group] for row in batch])
    return groups[:, None] == groups[None, :]


def _group(rows: Sequence[JudgedOutput]) -> list[list[JudgedOutput]]:
    """What stays together in a batch: the rows of a group, and every row without one on its own."""
    groups: dict[object, list[JudgedOutput]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(row.group or number, []).append(row)
    return list(groups.values())


def make_batches(
    groups: Sequence[Sequence[JudgedOutput]], size: int, rng: np.random.Generator
) -> list[list[JudgedOutput]]:
    """Batches of at least `size` outputs of about the same length, except the last one; in random order.

    Lengths are blurred by a tenth, so that batches differ between epochs, as in the authors' training. With random
    batches more than half of what the networks compute would be padding.
    """
    lengths = np.array([max(map(_length, group)) for group in groups])
    batches: list[list[JudgedOutput]] = []
    for place in np.argsort(lengths * rng.uniform(0.9, 1.1, len(groups)), kind="stable"):
        if not batches or len(batches[-1]) >= size:
            batches.append([])
        batches[-1] += groups[place]
    return [batches[place] for place in rng.permutation(len(batches))]


def _length(row: JudgedOutput) -> int:
    """Characters, which every script has."""
    return len(row.other) + len(row.hypothesis)


def _open_encoders(config: MetricConfig, offline: bool) -> tuple[StoredEncoder, StoredEncoder]:
    """Encoders of outputs, and of references or sources."""

    def model() -> ModelDirectory:
        return open_model(config.model, offline)

    kept: Literal["last", "all"] = "all" if config.layer is None else "last"
    layers = EncoderConfig(
        layer="all" if config.layer is None else config.layer,
        precision="bfloat16" if config.precision == "bfloat16" else "float32",
        overlong="truncate",
    )
    if config.side == "ref":
        encoder = StoredEncoder(open_piece_encoder(config.encoder, config.language, model, offline, layers), kept)
        return encoder, encoder
    one, other = open_both_encoders(
        config.encoder, config.language, config.source_language, model, offline, layers
    )
    return StoredEncoder(one, kept), StoredEncoder(other, kept)
