"""What decoders of mbrs ask of a metric, call by call, for where that package (which needs COMET) is not installed.

Written after mbrs 0.1.8: `DecoderMBR.decode`, the rounds of `DecoderPruningMBR` without their bootstrap, and
`DecoderRerank.decode`, with the selection of `SelectorNbest`.
"""

from typing import Any

import torch

Choice = tuple[list[int], list[float]]


def mbr(
    metric: Any, hypotheses: list[str], references: list[str], lprobs: torch.Tensor | None = None, nbest: int = 1
) -> Choice:
    """Take those with the best expected scores."""
    return _select(metric, metric.expected_scores(hypotheses, references, None, reference_lprobs=lprobs), nbest)


def rounds(metric: Any, hypotheses: list[str], references: list[str], sizes: list[int], nbest: int = 1) -> Choice:
    """Fill the table of scores in rounds, on the device of the metric, and average at the end."""
    table = torch.zeros((len(hypotheses), len(references)), device=metric.device)
    before = 0
    for size in sizes:
        table[:, before:size] = metric.pairwise_scores(hypotheses, references[before:size], None)
        before = size
    return _select(metric, table[:, :before].mean(dim=-1), nbest)


def rerank(metric: Any, hypotheses: list[str], source: str, nbest: int = 1) -> Choice:
    """Score every hypothesis given the source."""
    return _select(metric, metric.scores(hypotheses, sources=[source] * len(hypotheses)), nbest)


def _select(metric: Any, scores: torch.Tensor, nbest: int) -> Choice:
    values, places = torch.topk(scores, k=min(len(scores), nbest), largest=metric.HIGHER_IS_BETTER)
    return places.tolist(), values.tolist()
