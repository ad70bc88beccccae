"""Dual conditional cross-entropy: do both directions of translation find a pair equally, and highly, probable?

Junczys-Dowmunt (2018), "Dual Conditional Cross-Entropy Filtering of Noisy Parallel Corpora", here with one
multilingual model for both directions.
"""

from collections.abc import Sequence
from dataclasses import replace

from prism_mt.engines.base import Engine
from prism_mt.engines.batching import WINDOW
from prism_mt.metrics.base import Side
from prism_mt.metrics.prism import PrismMetric, PrismOptions
from prism_mt.models.store import ModelDirectory


class DualMetric(PrismMetric):
    """The logarithm of the paper's adequacy: -(|H(y|x) - H(x|y)| + (H(y|x) + H(x|y)) / 2), H per token."""

    def __init__(
        self,
        side: Side,
        model: ModelDirectory,
        engine: Engine,
        language: str,
        source_language: str | None = None,
        options: PrismOptions | None = None,
        budget: int | None = None,
        window: int = WINDOW,
    ) -> None:
        both = replace(options or PrismOptions(), direction="both", forward_weight=0.5, reduction="mean")
        super().__init__(side, model, engine, language, source_language, both, budget, window)
        self.name = "prism-dual"

    def join_directions(self, weights: Sequence[float], scores: Sequence[float]) -> float:
        """From the mean log-probabilities of both directions."""
        forward, backward = scores
        return (forward + backward) / 2 - abs(forward - backward)
