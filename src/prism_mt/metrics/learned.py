"""Learned metrics, trained on human judgments, from the directories that `prism metric train` writes.

metric.json           kind of network, its size, the encoder and its digest
weights.safetensors   the network's weights; the encoder's are not in it
"""

import dataclasses
import itertools
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt._core.options import from_table, option, option_of
from prism_mt.encoders.base import PieceEncoder, PieceVectors
from prism_mt.encoders.cached import StoredEncoder
from prism_mt.encoders.ct2 import Precision
from prism_mt.encoders.factory import EncoderConfig, must_be_fetched, open_both_encoders, open_piece_encoder
from prism_mt.metrics.base import HandlesOverlong, Languages, Metric, ReducesReferences, Side, UsesModel, sign
from prism_mt.metrics.learned_network import Kind, RegressionNetwork, cut, network_shapes
from prism_mt.metrics.pairwise import EncoderMetric, PairwiseScorer
from prism_mt.metrics.registry import register
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.storage import Storage, pack, unpack
from prism_mt.text.subwords import OverlongPolicy

CONFIG = "metric.json"
WEIGHTS = "weights.safetensors"
_BATCH = 64
_LOG = logging.getLogger("prism_mt")


@dataclass(frozen=True)
class MetricSpec:
    """Description of a learned metric, apart from its weights."""

    kind: Kind
    encoder: str
    """As for `--encoder`."""
    encoder_digest: str
    language: str
    layers: int
    """How many layers of the encoder are mixed."""
    width: int
    hidden: int
    pieces: int
    """Longer texts are cut off here, as they were in training."""
    layer: int | None = None
    """The one layer of the encoder that is read; None reads all."""
    side: Side = "ref"
    """What outputs were compared with in training."""
    digest: str = ""
    """Digest of the weights."""

    def encoder_config(self, precision: Precision, overlong: OverlongPolicy) -> EncoderConfig:
        """The layers that the network reads, computed as asked for."""
        layer: int | Literal["all"] = "all" if self.layer is None else self.layer
        return EncoderConfig(layer=layer, precision=precision, overlong=overlong)


def is_metric_directory(folder: Path) -> bool:
    """Whether the directory holds a learned metric."""
    return (folder / CONFIG).is_file()


def read_spec(folder: Path) -> MetricSpec:
    """Read the description of a learned metric."""
    path = folder / CONFIG
    try:
        table = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise PrismError(f"cannot read {path}: {error}") from error
    if not isinstance(table, dict):
        raise PrismError(f"{path} is not the description of a learned metric: expected a JSON object")
    return from_table(table, MetricSpec, str(path))


def write_metric(
    folder: Path, spec: MetricSpec, weights: Mapping[str, NDArray[np.float32]], storage: Storage = "float32"
) -> None:
    """Weights first: a directory with a description is complete."""
    from safetensors.numpy import save

    content = save(pack(weights, storage))
    with write_atomically(folder / WEIGHTS, "wb") as handle:
        handle.write(content)
    spec = dataclasses.replace(spec, digest=sha256(content).hexdigest())
    with write_atomically(folder / CONFIG) as handle:
        json.dump(dataclasses.asdict(spec), handle, indent=2)
        handle.write("\n")


def read_weights(folder: Path, spec: MetricSpec) -> dict[str, NDArray[np.float32]]:
    """Read the weights of a network, after their digest, names and shapes have been checked."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = folder / WEIGHTS
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror}") from error
    if sha256(content).hexdigest() != spec.digest:
        raise PrismError(f"{path} is damaged: its sha256 is not the one in {CONFIG}")
    try:
        weights = unpack(load(content))
    except (SafetensorError, PrismError) as error:
        raise PrismError(f"{path} is damaged: {error}") from error
    shapes = network_shapes(spec.kind, spec.layers, spec.width, spec.hidden)
    if {name: array.shape for name, array in weights.items()} != shapes:
        odd = sorted(
            name for name in {*shapes, *weights} if name not in weights or weights[name].shape != shapes.get(name)
        )
        raise PrismError(f"{path} does not have the network that {CONFIG} describes: see {', '.join(odd[:4])}")
    return weights


@register("learned")
@dataclass(frozen=True, kw_only=True)
class Learned(UsesModel, ReducesReferences, HandlesOverlong):
    """A network over the vectors of an encoder, trained on human judgments (`prism metric train`)."""

    served = False

    folder: Path = option("learned: folder written by `prism metric train`", metavar="DIR")
    against: Literal["ref", "src"] | None = option(
        "learned: compare outputs with references or sources (default: as in training)", None
    )
    encoder: str = option_of(EncoderMetric, "encoder", "")

    @cached_property
    def spec(self) -> MetricSpec:
        """The folder's description."""
        return read_spec(self.folder)

    @property
    def side(self) -> Side:
        """What outputs are compared with."""
        return self.against or self.spec.side

    @property
    def needs(self) -> frozenset[Side]:  # type: ignore[override]
        """The side that it compares with."""
        return frozenset({self.side})

    @property
    def label(self) -> str:
        """The folder as given, which distinguishes two metrics of the same kind."""
        return str(self.folder) if self.against is None else f"{self.against}:{self.folder}"

    @property
    def models(self) -> frozenset[str]:
        """The translation model, only if its encoder is used."""
        return super().models if self.spec.encoder == "model" else frozenset()

    def open(self, runtime: Runtime, languages: Languages) -> "LearnedScorer":
        """Load the network and its encoder, which must be the one it was trained with."""
        spec = self.spec
        network = RegressionNetwork(spec.kind, read_weights(self.folder, spec))
        language = languages.target or spec.language
        named = self.encoder == spec.encoder
        if not named and must_be_fetched(spec.encoder, language):
            raise PrismError(
                f"the metric {self.folder} needs the encoder {spec.encoder}, which is not on this machine: "
                f"to fetch it, pass `encoder=` {spec.encoder}"
            )
        model, offline = (lambda: runtime.model(self.model)), runtime.config.offline or not named
        config = spec.encoder_config(runtime.encoder_precision(), self.overlong)
        options = (model, offline, config, spec.encoder_digest)
        # The mix is all that is needed of several layers, at a fraction of their size.
        mix = network.mix if spec.layer is None else None
        of_sources: PieceEncoder | None = None
        if self.side == "src":
            encoder, sources = open_both_encoders(spec.encoder, language, languages.source, *options)
            of_sources = StoredEncoder(sources, mix=mix)
        else:
            encoder = open_piece_encoder(spec.encoder, language, *options)
        scoring = network if mix is None else network.without_mix()
        return LearnedScorer(self, scoring, StoredEncoder(encoder, mix=mix), of_sources)


def parse_folder(text: str) -> tuple[type[Metric], dict[str, Any]] | None:
    """Return class and options of `FOLDER`, `src:FOLDER` or `par:FOLDER`; None if it is not a learned metric."""
    way, separator, folder = text.partition(":")
    variant, path = (way, Path(folder)) if separator and way in ("par", "src", "ref") else ("", Path(text))
    if not is_metric_directory(path):
        return None
    if variant == "par":
        from prism_mt.metrics.paraphrased import ParaphrasedLearned

        return ParaphrasedLearned, {"folder": path}
    return Learned, {"folder": path, "against": variant or None}


class LearnedMetric(Protocol):
    """What a scorer has to know of its metric."""

    @property
    def spec(self) -> MetricSpec:
        """What the network is."""

    @property
    def side(self) -> Side:
        """What outputs are compared with."""

    @property
    def references(self) -> Literal["mean", "max"]:
        """How the scores of several references become one."""

    @property
    def overlong_in_signature(self) -> str | None:
        """What happens to texts that are longer than the encoder takes."""

    @property
    def label(self) -> str:
        """For warnings."""


class LearnedScorer(PairwiseScorer):
    """A trained network over the vectors of an encoder."""

    def __init__(
        self,
        metric: LearnedMetric,
        network: RegressionNetwork,
        encoder: PieceEncoder,
        of_sources: PieceEncoder | None = None,
    ) -> None:
        """With an encoder for sources, outputs are compared with them instead of references."""
        super().__init__(metric.side, metric.references)
        self._metric, self._spec = metric, metric.spec
        self._network = network
        self._encoder = encoder
        self._other = of_sources or encoder
        self._warned = False

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The network's score of each (output, other text); a text is read once, however many it is compared with."""
        scores = [0.0] * len(pairs)
        if self._other is self._encoder:
            ours = theirs = self._read(self._encoder, itertools.chain.from_iterable(pairs))
        else:
            ours = self._read(self._encoder, (output for output, _ in pairs))
            theirs = self._read(self._other, (other for _, other in pairs))
        states = [(ours[output], theirs[other]) for output, other in pairs]
        by_length = sorted(range(len(pairs)), key=lambda place: tuple(map(len, states[place])))
        for start in range(0, len(pairs), _BATCH):
            places = by_length[start : start + _BATCH]
            found = self._network.judge([states[place] for place in places])
            for place, score in zip(places, found, strict=True):
                scores[place] = float(score)
        return scores

    def _read(self, encoder: PieceEncoder, texts: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """The states (T, 2H) of every text."""
        found: dict[str, NDArray[np.float32]] = {}
        by_length = sorted(set(texts), key=lambda text: (len(text), text))
        for start in range(0, len(by_length), _BATCH):
            batch = by_length[start : start + _BATCH]
            read = encoder.encode(batch)
            self._note_cuts(batch, read)
            states = self._network.read([cut(text, self._spec.pieces) for text in read])
            found.update(zip(batch, states, strict=True))
        return found

    def _note_cuts(self, texts: Sequence[str], read: Sequence[PieceVectors]) -> None:
        """Warn once about texts longer than the network's limit."""
        limit = self._spec.pieces
        cut = next((text for text, one in zip(texts, read, strict=True) if one.shape[1] > limit), None)
        if cut is not None and not self._warned:
            self._warned = True
            _LOG.warning(
                "%s reads the first %d pieces of longer texts, such as %r",
                self._metric.label,
                limit,
                f"{cut:.60}…",
            )

    def signature(self, references: int = 1) -> str:
        """Network and encoder."""
        return sign(
            self._spec.kind,
            weights=self._spec.digest[:12],
            encoder=f"{self._encoder.name}@{self._encoder.digest[:12]}",
            pieces=self._spec.pieces,
            long=self._metric.overlong_in_signature,
            side=self.side,
            trained=None if self._spec.side == self.side else self._spec.side,
            refs=self.references if self.side == "ref" else None,
        )
