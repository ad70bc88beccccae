"""Training of metrics: regression to human judgments, or ranking by them, over the vectors of a frozen encoder."""

import csv
import dataclasses
import hashlib
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt._core.options import load_toml
from prism_mt._core.progress import counter
from prism_mt.encoders.cached import StoredEncoder
from prism_mt.encoders.factory import ALL_LAYERS, open_both_encoders, open_piece_encoder
from prism_mt.metrics.learned import MetricSpec, read_network, read_spec, write_metric
from prism_mt.metrics.learned_network import RegressionNetwork, pad
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.resolve import DEFAULT_MODEL, open_model
from prism_mt.text.lines import open_lines


@dataclass(frozen=True)
class MetricConfig:
    """A run of `prism metric train`; paths start at the configuration's folder."""

    train: tuple[Path, ...]
    dev: tuple[Path, ...]
    output: Path
    kind: Literal["bilstm", "bilstm-attention", "esim"] = "esim"
    encoder: str = "minilm"
    language: str = "en"
    side: Literal["ref", "src"] = "ref"
    """The column that outputs are compared with; sources need an encoder of both languages."""
    source_language: str = ""
    model: str = DEFAULT_MODEL
    """The translation model, where the encoder is its own."""
    loss: Literal["mse", "ranking"] = "mse"
    margin: float = 0.1
    """Of the ranking loss."""
    start: str = ""
    """Folder of a trained metric of the same kind and size to start from, such as one that learned another metric."""
    hidden: int = 300
    pieces: int = 100
    batch: int = 32
    rate: float = 4e-4
    clip: float = 10.0
    epochs: int = 50
    patience: int = 4
    """Epochs without a better Pearson correlation on `dev` before training ends."""
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.train or not self.dev:
            raise PrismError("training a metric needs at least one file under `train` and one under `dev`")
        for name in ("hidden", "pieces", "batch", "rate", "clip", "epochs", "patience"):
            if not getattr(self, name) > 0:
                raise PrismError(f"{name} must be above 0, not {getattr(self, name)}")


@dataclass(frozen=True)
class Judged:
    """One output with its reference or source, and what people think of it."""

    other: str
    hypothesis: str
    score: float


@dataclass
class Progress:
    """What the run has come to; kept after every epoch."""

    epoch: int = 0
    best: float = -math.inf
    since_best: int = 0
    history: list[float] = field(default_factory=list)
    """Pearson on dev, epoch by epoch."""


def load_config(path: Path) -> MetricConfig:
    """Read a configuration."""
    config = load_toml(path, MetricConfig)
    home = path.parent
    return dataclasses.replace(
        config,
        train=tuple(home / name for name in config.train),
        dev=tuple(home / name for name in config.dev),
        output=home / config.output,
        start=str(home / config.start) if config.start else "",
    )


def read_judged(path: Path, side: Literal["ref", "src"] = "ref") -> Iterator[Judged]:
    """Rows of a tab-separated file whose first line names its columns, among them ref (or src), hyp and score."""
    columns = (side, "hyp", "score")
    rows = csv.reader(open_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    header = next(rows, [])
    missing = [name for name in columns if name not in header]
    if missing:
        raise PrismError(f"{path}, line 1 must name the columns {', '.join(columns)}: there is no {missing[0]}")
    other, hypothesis, score = (header.index(name) for name in columns)
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise PrismError(f"{path}, line {number}: {len(row)} columns, expected {len(header)}")
        try:
            value = float(row[score])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise PrismError(f"{path}, line {number}: the score {row[score]!r} is not a number")
        yield Judged(row[other], row[hypothesis], value)


def ranking_loss(scores: Tensor, human: Tensor, margin: float) -> Tensor:
    """Mean hinge over all pairs of the batch that people tell apart."""
    better = human[:, None] > human[None, :]
    hinge = (margin - (scores[:, None] - scores[None, :])).clamp(min=0)
    return (hinge * better).sum() / better.sum().clamp(min=1)


class MetricTrainer:
    """Trains until dev Pearson stops growing; goes on where a killed run stopped."""

    def __init__(self, config: MetricConfig, fresh: bool = False, offline: bool = False) -> None:
        self.config = config
        self.train = [row for path in config.train for row in read_judged(path, config.side)]
        self.dev = [row for path in config.dev for row in read_judged(path, config.side)]
        if len(self.train) < 2 or len(self.dev) < 3:
            raise PrismError("training a metric needs at least 2 judgments under `train` and 3 under `dev`")
        self.encoder, self.of_others = self._open_encoders(offline)
        self.spec = MetricSpec(
            config.kind,
            config.encoder,
            self.encoder.digest,
            config.language,
            self.encoder.layers,
            self.encoder.width,
            config.hidden,
            config.pieces,
            config.side,
        )
        torch.manual_seed(config.seed)
        self.network = RegressionNetwork(config.kind, self.spec.layers, self.spec.width, config.hidden)
        if config.start:
            self._take_weights(Path(config.start))
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=config.rate)
        # A plateau is an epoch without a better result.
        self.schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimiser, "max", factor=0.5, patience=0)
        self.progress = Progress()
        self._state = config.output / "state.pt"
        if not fresh and self._state.exists():
            self._resume()

    def _take_weights(self, folder: Path) -> None:
        """Start from another metric's network."""
        found = read_spec(folder)
        for name in ("kind", "encoder_digest", "layers", "width", "hidden"):
            theirs, ours = getattr(found, name), getattr(self.spec, name)
            if theirs != ours:
                raise PrismError(f"{folder} cannot be the start: its {name} is {theirs}, here it is {ours}")
        self.network.load_state_dict(read_network(folder, found).state_dict())

    def _open_encoders(self, offline: bool) -> tuple[StoredEncoder, StoredEncoder]:
        """Of outputs, and of references or sources."""
        config = self.config

        def model() -> ModelDirectory:
            return open_model(config.model, offline)

        if config.side == "ref":
            found = open_piece_encoder(config.encoder, config.language, model, offline, ALL_LAYERS)
            encoder = StoredEncoder(found, "all")
            return encoder, encoder
        codes = config.language, config.source_language
        one, other = open_both_encoders(config.encoder, *codes, model, offline, ALL_LAYERS)
        return StoredEncoder(one, "all"), StoredEncoder(other, "all")

    def run(self) -> Progress:
        """Train, and keep the best network as a metric directory."""
        self._prepare()
        while self.progress.epoch < self.config.epochs and self.progress.since_best < self.config.patience:
            loss = self._epoch()
            correlation = self._evaluate()
            self.schedule.step(correlation)
            self._note(loss, correlation)
        return self.progress

    def _prepare(self) -> None:
        rows = (*self.train, *self.dev)
        texts = [list(dict.fromkeys(found)) for found in ([r.hypothesis for r in rows], [r.other for r in rows])]
        with counter("encoding", sum(map(len, texts))) as advance:
            self.encoder.prepare(texts[0], advance)
            self.of_others.prepare(texts[1], advance)

    def _epoch(self) -> float:
        """One pass in an order that depends on seed and epoch alone, so that a resumed run is the same run."""
        self.network.train()
        torch.manual_seed(self.config.seed * 10_007 + self.progress.epoch)
        order = np.random.default_rng([self.config.seed, self.progress.epoch]).permutation(len(self.train))
        size, total = self.config.batch, 0.0
        with counter(f"epoch {self.progress.epoch + 1}", math.ceil(len(order) / size)) as advance:
            for start in range(0, len(order), size):
                batch = [self.train[place] for place in order[start : start + size]]
                loss = self._loss(batch)
                self.optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
                self.optimiser.step()
                total += loss.item() * len(batch)
                advance()
        return total / len(order)

    def _loss(self, batch: Sequence[Judged]) -> Tensor:
        human = torch.tensor([row.score for row in batch])
        scores = self._scores(batch)
        if self.config.loss == "ranking":
            return ranking_loss(scores, human, self.config.margin)
        return torch.nn.functional.mse_loss(scores, human)

    def _scores(self, batch: Sequence[Judged]) -> Tensor:
        hypotheses, t_mask = pad(self.encoder.encode([row.hypothesis for row in batch]), self.config.pieces)
        others, o_mask = pad(self.of_others.encode([row.other for row in batch]), self.config.pieces)
        scores: Tensor = self.network(hypotheses, others, t_mask, o_mask)
        return scores

    def _evaluate(self) -> float:
        """Pearson over all of dev."""
        self.network.eval()
        with torch.inference_mode():
            parts = [self._scores(self.dev[start : start + 64]) for start in range(0, len(self.dev), 64)]
        with np.errstate(invalid="ignore", divide="ignore"):
            found = float(np.corrcoef(torch.cat(parts).double(), [row.score for row in self.dev])[0, 1])
        if not math.isfinite(found):
            raise PrismError(
                "the correlation with the scores of dev is undefined: all scores there are equal, or training has "
                "gone astray, which a lower rate may prevent"
            )
        return found

    def _note(self, loss: float, correlation: float) -> None:
        progress = self.progress
        progress.epoch += 1
        progress.history.append(correlation)
        progress.since_best += 1
        if correlation > progress.best:
            progress.best, progress.since_best = correlation, 0
            write_metric(self.config.output, self.spec, self.network)
        print(
            f"epoch {progress.epoch}: loss {loss:.4f}, dev Pearson {correlation:.4f}", file=sys.stderr, flush=True
        )
        state = {
            "config": _fingerprint(self.config, self.spec),
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "schedule": self.schedule.state_dict(),
            "progress": dataclasses.asdict(progress),
        }
        with write_atomically(self._state, "wb") as handle:
            torch.save(state, handle)

    def _resume(self) -> None:
        try:
            state: dict[str, Any] = torch.load(self._state, weights_only=True)
        except Exception as error:
            # torch reports a damaged file with whatever exception its unpickler meets first.
            raise PrismError(f"cannot read {self._state}: start again with --fresh") from error
        if state["config"] != _fingerprint(self.config, self.spec):
            raise PrismError(
                f"{self.config.output} has a run with other settings: choose another output, or --fresh"
            )
        self.network.load_state_dict(state["network"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.schedule.load_state_dict(state["schedule"])
        self.progress = Progress(**state["progress"])


def _fingerprint(config: MetricConfig, spec: MetricSpec) -> str:
    """The settings that a run must keep; more epochs or patience may be given to it later."""
    changeable = {"epochs", "patience", "output"}
    settings = {name: value for name, value in dataclasses.asdict(config).items() if name not in changeable}
    for name in (
        "train",
        "dev",
    ):  # by content, as the encoder: paths depend on the folder that the command is given in
        settings[name] = [hashlib.sha256(path.read_bytes()).hexdigest() for path in getattr(config, name)]
    settings["encoder"] = spec.encoder_digest
    return json.dumps(settings, default=str, sort_keys=True)
