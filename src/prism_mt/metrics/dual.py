"""Dual conditional cross-entropy: do both directions of translation find a pair equally, and highly, probable?

Junczys-Dowmunt (2018), "Dual Conditional Cross-Entropy Filtering of Noisy Parallel Corpora", here with one
multilingual model for both directions.
"""

from collections.abc import Sequence
from dataclasses import replace

from prism_mt.metrics.prism import PrismMetric, PrismOptions


class DualMetric(PrismMetric):
    """The logarithm of the paper's adequacy: -(|H(y|x) - H(x|y)| + (H(y|x) + H(x|y)) / 2), H per token."""

    NAME = "prism-dual"

    def complete(self, options: PrismOptions) -> PrismOptions:
        """Both directions, whatever was asked for."""
        return replace(options, direction="both", forward_weight=0.5, reduction="mean")

    def join_directions(self, weights: Sequence[float], scores: Sequence[float]) -> float:
        """From the mean log-probabilities of both directions."""
        forward, backward = scores
        return (forward + backward) / 2 - abs(forward - backward)
