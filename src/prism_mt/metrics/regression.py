"""Metrics that were trained on human judgments, from the directories that `prism metric train` writes.

metric.json           kind of network, its size, the encoder and its digest
weights.safetensors   the network's weights; the encoder's are not in it
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from prism_mt.config import from_table
from prism_mt.encoders.base import PieceEncoder
from prism_mt.encoders.catalogue import open_both_encoders, open_piece_encoder
from prism_mt.encoders.store import StoredEncoder
from prism_mt.errors import MissingExtra, PrismError
from prism_mt.files import write_atomically
from prism_mt.metrics.averaged import AveragedMetric, Reduction
from prism_mt.metrics.base import Side, sign
from prism_mt.models.store import ModelDirectory

if TYPE_CHECKING:
    from prism_mt.metrics.regression_network import RegressionNetwork

CONFIG = "metric.json"
WEIGHTS = "weights.safetensors"
_BATCH = 64


@dataclasses.dataclass(frozen=True)
class MetricSpec:
    """What a trained metric is, besides its weights."""

    kind: Literal["bilstm", "bilstm-attention", "esim"]
    encoder: str
    """As `--encoder` names it."""
    encoder_digest: str
    language: str
    layers: int
    width: int
    hidden: int
    pieces: int
    """Longer texts are cut off here, as they were in training."""
    side: Side = "ref"
    """What outputs were compared with in training."""
    digest: str = ""
    """Of the weights."""


def is_metric_directory(folder: Path) -> bool:
    """Whether the folder has a trained metric."""
    return (folder / CONFIG).is_file()


def read_spec(folder: Path) -> MetricSpec:
    """The description of a trained metric."""
    path = folder / CONFIG
    try:
        table = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise PrismError(f"cannot read {path}: {error}") from error
    return from_table(table, MetricSpec, str(path))


def write_metric(folder: Path, spec: MetricSpec, network: "RegressionNetwork") -> None:
    """Weights first: a directory with a description is complete."""
    from hashlib import sha256

    from safetensors.torch import save

    content = save({name: tensor.contiguous() for name, tensor in network.state_dict().items()})
    with write_atomically(folder / WEIGHTS, "wb") as handle:
        handle.write(content)
    spec = dataclasses.replace(spec, digest=sha256(content).hexdigest())
    with write_atomically(folder / CONFIG) as handle:
        json.dump(dataclasses.asdict(spec), handle, indent=2)
        handle.write("\n")


def read_network(folder: Path, spec: MetricSpec) -> "RegressionNetwork":
    """The network with its weights, ready to score."""
    from hashlib import sha256

    try:
        from safetensors.torch import load

        from prism_mt.metrics.regression_network import RegressionNetwork
    except ImportError:
        raise MissingExtra(f"the metric {folder}", "train") from None
    try:
        content = (folder / WEIGHTS).read_bytes()
    except OSError as error:
        raise PrismError(f"cannot read {folder / WEIGHTS}: {error.strerror}") from error
    if sha256(content).hexdigest() != spec.digest:
        raise PrismError(f"{folder / WEIGHTS} is damaged: its sha256 is not the one in {CONFIG}")
    network = RegressionNetwork(spec.kind, spec.layers, spec.width, spec.hidden)
    network.load_state_dict(load(content))
    return network.eval()


class RegressionMetric(AveragedMetric):
    """A trained network over the vectors of an encoder."""

    def __init__(
        self,
        spec: MetricSpec,
        network: "RegressionNetwork",
        encoder: PieceEncoder,
        references: Reduction = "mean",
        of_sources: PieceEncoder | None = None,
    ) -> None:
        """With an encoder of sources, outputs are compared with them instead of references."""
        super().__init__(
            f"{spec.kind}-src" if of_sources else spec.kind, "src" if of_sources else "ref", references
        )
        self._spec = spec
        self._network = network
        self._encoder = encoder
        self._other = of_sources or encoder

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The network's score of each (output, other text)."""
        import torch

        from prism_mt.metrics.regression_network import pad

        scores: list[float] = []
        with torch.inference_mode():
            for start in range(0, len(pairs), _BATCH):
                ours, theirs = zip(*pairs[start : start + _BATCH], strict=True)
                hypotheses, t_mask = pad(self._encoder.encode(ours), self._spec.pieces)
                others, o_mask = pad(self._other.encode(theirs), self._spec.pieces)
                scores.extend(self._network(hypotheses, others, t_mask, o_mask).tolist())
        return scores

    def signature(self) -> str:
        """Which network over which encoder."""
        return sign(
            self.name,
            weights=self._spec.digest[:12],
            encoder=f"{self._encoder.name}@{self._encoder.digest[:12]}",
            pieces=self._spec.pieces,
            trained=None if self._spec.side in self.needs else self._spec.side,
            refs=self.references if "ref" in self.needs else None,
        )


@dataclasses.dataclass(frozen=True)
class Use:
    """How a trained metric is used."""

    side: Side
    language: str
    source_language: str
    model: Callable[[], ModelDirectory]
    references: Reduction = "mean"
    offline: bool = False


def open_metric(folder: Path, use: Use) -> RegressionMetric:
    """The metric in a directory; its encoder must be the one it was trained with."""
    spec = read_spec(folder)
    network = read_network(folder, spec)
    of_sources: PieceEncoder | None = None
    language = use.language or spec.language
    if use.side == "src":
        encoder, of_sources = open_both_encoders(
            spec.encoder, language, use.source_language, use.model, use.offline
        )
        of_sources = StoredEncoder(of_sources, "all")
    else:
        encoder = open_piece_encoder(spec.encoder, language, use.model, use.offline)
    if encoder.digest != spec.encoder_digest:
        raise PrismError(
            f"the metric {folder} was trained with another encoder {spec.encoder} "
            f"(digest {spec.encoder_digest[:12]}, here {encoder.digest[:12]}): train it again"
        )
    return RegressionMetric(spec, network, StoredEncoder(encoder, "all"), use.references, of_sources)
