"""Metrics that come with the embedded model: its probabilities and vectors together, and learned ones over its encoder.

The weights of the learned ones are in `assets/metrics`; `benchmarks/mini` has the recipes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from prism_mt._core.options import option
from prism_mt.encoders.cached import StoredEncoder
from prism_mt.encoders.factory import MODEL, open_piece_encoder
from prism_mt.metrics.base import (
    REF,
    HandlesOverlong,
    Languages,
    Metric,
    ReducesReferences,
    Scorer,
    Side,
    UsesModel,
)
from prism_mt.metrics.bertscore import BertScore
from prism_mt.metrics.combined import Combined
from prism_mt.metrics.learned import LearnedScorer, MetricSpec, read_spec, read_weights
from prism_mt.metrics.learned_network import RegressionNetwork
from prism_mt.metrics.paraphrased import Paraphrased
from prism_mt.metrics.prism import PrismRef
from prism_mt.metrics.registry import register
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.resolve import DEFAULT_MODEL, embedded

_MATCH_WEIGHT, _LEARNED_WEIGHT = 5.0, 1.0
"""Chosen on documents of WMT20 that ESIM was not trained on."""


@dataclass(frozen=True, kw_only=True)
class EmbeddedLearned(ReducesReferences, HandlesOverlong):
    """A learned metric whose weights come with the package, in all languages of the embedded model."""

    needs = REF
    side: ClassVar[Side] = "ref"

    @property
    def folder(self) -> Path:
        """Where its weights are."""
        return embedded() / ".." / "metrics" / self.name

    @cached_property
    def spec(self) -> MetricSpec:
        """The description in its folder."""
        return read_spec(self.folder)

    @property
    def models(self) -> frozenset[str]:
        """The embedded model, always."""
        return frozenset({DEFAULT_MODEL})

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        """Load the network and the embedded model's encoder."""
        spec = self.spec
        network = RegressionNetwork(spec.kind, read_weights(self.folder, spec))
        encoder = open_piece_encoder(
            MODEL,
            languages.target,
            lambda: runtime.model(DEFAULT_MODEL),
            config=spec.encoder_config(runtime.encoder_precision(), self.overlong),
            digest=spec.encoder_digest,
        )
        return LearnedScorer(self, network, StoredEncoder(encoder))


@register("esim")
@dataclass(frozen=True, kw_only=True)
class Esim(EmbeddedLearned):
    """ESIM over the embedded model's encoder, trained on WMT's judgments (Mathur et al. 2019)."""


@register("prism-mix")
@dataclass(frozen=True, kw_only=True)
class PrismMix(UsesModel, ReducesReferences, HandlesOverlong):
    """Prism-ref plus BERTScore over the same model's encoder plus the embedded ESIM."""

    needs = REF
    needs_language = True

    match_weight: float = option(
        "prism-mix: weight of the cosines (bertscore) beside prism-ref", _MATCH_WEIGHT, metavar="W", low=0
    )
    learned_weight: float = option(
        "prism-mix: weight of esim beside prism-ref", _LEARNED_WEIGHT, metavar="W", low=0
    )

    @property
    def sum(self) -> Combined:
        """The metrics and their weights."""
        prism = PrismRef(model=self.model, references=self.references, overlong=self.overlong)
        matches = BertScore(model=self.model, references=self.references, encoder=MODEL, overlong=self.overlong)
        learned = Esim(references=self.references, overlong=self.overlong)
        terms = ((1.0, prism), (self.match_weight, matches), (self.learned_weight, learned))
        return Combined(terms=tuple((weight, metric) for weight, metric in terms if weight))

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        """Open all of them; they share the model."""
        return self.sum.open(runtime, languages)

    def aggregate(self, totals: Sequence[float]) -> float:
        """Weighted sum of the system scores."""
        return self.sum.aggregate(totals)


@register("paresim")
@dataclass(frozen=True, kw_only=True)
class ParEsim(Paraphrased, HandlesOverlong):
    """The embedded ESIM, averaged over the reference and its paraphrases."""

    @property
    def plain(self) -> Metric:
        """ESIM."""
        return Esim(overlong=self.overlong)
