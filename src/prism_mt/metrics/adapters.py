"""Our metrics behind the interfaces of other libraries: Hugging Face's `evaluate`, and mbrs. Neither is imported."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import Languages, Metric, Segment
from prism_mt.metrics.registry import make_metric
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.score import score

if TYPE_CHECKING:
    import torch


class EvaluateMetric:
    """A metric with the methods of `evaluate.load(NAME)`: `add`, `add_batch` and `compute`.

    `compute` returns `score` (of all), `scores` (of each prediction), `signature` and `lower_is_better`. A prediction
    may have several references, every one as many.
    """

    def __init__(
        self,
        metric: str | Metric = "prism-ref",
        *,
        lang: str = "",
        src_lang: str = "",
        config: EngineConfig | None = None,
    ) -> None:
        self.metric = make_metric(metric)
        self.name = self.metric.label
        self._languages, self._runtime = Languages(lang, src_lang), Runtime(config)
        self._added: dict[str, list[Any]] = {"predictions": [], "references": [], "sources": []}

    def add(
        self, *, prediction: str, reference: str | Sequence[str] | None = None, source: str | None = None
    ) -> None:
        """Add one prediction to what `compute` will score."""
        self.add_batch(
            predictions=[prediction],
            references=None if reference is None else [reference],
            sources=None if source is None else [source],
        )

    def add_batch(self, **columns: Sequence[Any] | None) -> None:
        """Add `predictions`, and their `references` or `sources` or both."""
        for name, values in columns.items():
            if name not in self._added:
                raise PrismError(f"there is no {name!r}: give predictions, references and sources")
            self._added[name] += list(values or [])

    def compute(self, **columns: Sequence[Any] | None) -> dict[str, Any]:
        """Score what is given and what was added before."""
        self.add_batch(**columns)
        added, self._added = self._added, {name: [] for name in self._added}
        references = [[texts] if isinstance(texts, str) else list(texts) for texts in added["references"]]
        if len({len(texts) for texts in references}) > 1:
            raise PrismError("all predictions need the same number of references")
        found = score(
            added["predictions"],
            ref=[list(texts) for texts in zip(*references, strict=True)] or None,
            src=added["sources"] or None,
            lang=self._languages.target,
            src_lang=self._languages.source,
            metrics=self.metric,
            runtime=self._runtime,
        ).item()
        return {
            "score": found.score,
            "scores": found.segments.tolist(),
            "signature": found.signature,
            "lower_is_better": self.metric.lower_is_better,
        }


class MbrMetric:
    """A metric with the methods that the decoders of mbrs call; scores are torch tensors, as they are there."""

    def __init__(
        self,
        metric: str | Metric = "prism-ref",
        *,
        lang: str = "",
        src_lang: str = "",
        config: EngineConfig | None = None,
    ) -> None:
        self.metric = make_metric(metric)
        self._scorer = self.metric.open(Runtime(config), Languages(lang, src_lang))

    @property
    def HIGHER_IS_BETTER(self) -> bool:
        """As mbrs spells it."""
        return not self.metric.lower_is_better

    def score(self, hypothesis: str, reference: str, source: str | None = None) -> float:
        """Score one hypothesis."""
        return float(self.pairwise_scores([hypothesis], [reference], source)[0, 0])

    def scores(
        self, hypotheses: Sequence[str], references: Sequence[str], source: str | None = None
    ) -> "torch.Tensor":
        """Score every hypothesis against its own reference."""
        return self._tensor(list(zip(hypotheses, references, strict=True)), source)

    def pairwise_scores(
        self, hypotheses: Sequence[str], references: Sequence[str], source: str | None = None
    ) -> "torch.Tensor":
        """Score every hypothesis against every reference: hypotheses × references."""
        # Grouped by reference: engines encode what is given once for all that is scored against it.
        pairs = [(hypothesis, reference) for reference in references for hypothesis in hypotheses]
        return self._tensor(pairs, source).reshape(len(references), len(hypotheses)).T

    def expected_scores(
        self, hypotheses: Sequence[str], references: Sequence[str], source: str | None = None
    ) -> "torch.Tensor":
        """Average over the references."""
        return self.pairwise_scores(hypotheses, references, source).mean(dim=1)

    def topk(self, scores: "torch.Tensor", k: int = 1) -> tuple[list[float], list[int]]:
        """Return the best values and their places."""
        values, places = scores.topk(min(k, len(scores)), largest=self.HIGHER_IS_BETTER)
        return values.tolist(), places.tolist()

    def argbest(self, scores: "torch.Tensor") -> int:
        """Return the place of the best value."""
        return self.topk(scores)[1][0]

    def _tensor(self, pairs: Sequence[tuple[str, str]], source: str | None) -> "torch.Tensor":
        try:
            import torch
        except ImportError as error:
            raise MissingExtra("mbrs", "train") from error
        segments = (Segment(hypothesis, (reference,), source, number=1) for hypothesis, reference in pairs)
        return torch.tensor([result.score for result in self._scorer.score(segments)])
