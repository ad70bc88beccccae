"""Our metrics behind the interfaces of other libraries: Hugging Face's `evaluate`, and mbrs. Neither is imported."""

from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import Languages, Metric, Segment
from prism_mt.metrics.registry import make_metric
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.score import score

if TYPE_CHECKING:
    import torch

_COLUMNS = ("predictions", "references", "sources")


class EvaluateMetric:
    """A metric with the methods of `evaluate.load(NAME)`: `add`, `add_batch`, `compute`; `evaluate.combine` takes it.

    `compute` returns `score` (of all), `scores` (of each prediction), `signature` and `lower_is_better`. A prediction
    may have several references, but all must have the same number.
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
        self._added: dict[str, list[Any]] = {name: [] for name in _COLUMNS}

    def _feature_names(self) -> list[str]:
        """The columns that it takes, by the name under which `evaluate.combine` asks for them."""
        sides = {"references": "ref", "sources": "src"}
        return [name for name in _COLUMNS if name not in sides or sides[name] in self.metric.needs]

    def add(
        self,
        *,
        prediction: str | None = None,
        reference: str | Sequence[str] | None = None,
        source: str | None = None,
        **columns: Any,
    ) -> None:
        """Add one prediction to what `compute` will score; `evaluate.combine` calls it `predictions=`, and so on."""
        values = {"predictions": prediction, "references": reference, "sources": source, **columns}
        self.add_batch(**{name: [value] for name, value in values.items() if value is not None})

    def add_batch(self, **columns: Iterable[Any] | None) -> None:
        """Add `predictions`, and their `references` or `sources` or both."""
        for name, values in columns.items():
            if name not in self._added:
                raise PrismError(f"no argument {name!r}; known: {', '.join(_COLUMNS)}")
            self._added[name] += [] if values is None else list(values)

    def compute(self, **columns: Iterable[Any] | None) -> dict[str, Any]:
        """Score what is given and what was added before."""
        self.add_batch(**columns)
        added, self._added = self._added, {name: [] for name in _COLUMNS}
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
    """A metric with the methods that decoders of mbrs call; scores are torch tensors, as they are there.

    A metric of sources only, such as Prism-src, works in its reranking decoder.
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
        if self.metric.needs_language and not lang:
            raise PrismError(f"{self.metric.label} needs the language of the outputs: set `lang=`")
        self._languages, self._runtime = Languages(lang, src_lang), Runtime(config)
        self._scorer = self.metric.open(self._runtime, self._languages)

    @property
    def HIGHER_IS_BETTER(self) -> bool:
        """The trait under its name in mbrs."""
        return not self.metric.lower_is_better

    @property
    def device(self) -> "torch.device":
        """Device of the scores, which need not be where they are computed."""
        device: torch.device = _torch().device("cpu")
        return device

    def score(self, hypothesis: str, reference: str | None = None, source: str | None = None) -> float:
        """Score one hypothesis."""
        return float(self._tensor([Segment(hypothesis, _given(reference), source, number=1)])[0])

    def scores(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
    ) -> "torch.Tensor":
        """Score every hypothesis against its own reference, source or both."""
        nothing = [None] * len(hypotheses)
        rows = zip(hypotheses, references or nothing, sources or nothing, strict=True)
        return self._tensor(
            [
                Segment(text, _given(reference), source, number=n)
                for n, (text, reference, source) in enumerate(rows, 1)
            ]
        )

    def pairwise_scores(
        self, hypotheses: Sequence[str], references: Sequence[str], source: str | None = None
    ) -> "torch.Tensor":
        """Score every hypothesis against every reference: hypotheses × references."""
        # Grouped by reference: engines encode what is given once for all that is scored against it.
        pairs = [Segment(text, (reference,), source, number=1) for reference in references for text in hypotheses]
        return self._tensor(pairs).reshape(len(references), len(hypotheses)).T

    def expected_scores(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        source: str | None = None,
        reference_lprobs: "torch.Tensor | None" = None,
    ) -> "torch.Tensor":
        """Average over the references, weighted by their probabilities where these are given."""
        table = self.pairwise_scores(hypotheses, references, source)
        return table.mean(dim=1) if reference_lprobs is None else table @ reference_lprobs.to(table).softmax(dim=0)

    def corpus_score(
        self,
        hypotheses: Sequence[str],
        references_lists: Sequence[Sequence[str]] | None = None,
        sources: Sequence[str] | None = None,
    ) -> float:
        """Compute the metric's own system score: corpus BLEU for BLEU, the mean for most."""
        found = score(
            list(hypotheses),
            ref=[list(texts) for texts in references_lists or []] or None,
            src=list(sources or []) or None,
            lang=self._languages.target,
            src_lang=self._languages.source,
            metrics=self.metric,
            runtime=self._runtime,
        )
        return found.item().score

    def _tensor(self, segments: Sequence[Segment]) -> "torch.Tensor":
        for segment in segments:
            if "ref" in self.metric.needs and not segment.references:
                raise PrismError(f"{self.metric.label} needs references")
            if "src" in self.metric.needs and segment.source is None:
                raise PrismError(f"{self.metric.label} needs sources")
        tensor: torch.Tensor = _torch().tensor([result.score for result in self._scorer.score(segments)])
        return tensor


def _given(reference: str | None) -> tuple[str, ...]:
    return () if reference is None else (reference,)


def _torch() -> ModuleType:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("mbrs", "train") from error
    return torch
