"""Cross-entropy and bidirectional pairwise ranking (Vamvas et al. 2023), segment by segment.

Every output of a segment is decoded once given the reference, which is encoded only once, and the reference once given
every output; the hinge terms of all raters and pairs are computed from those scores.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from prism_mt.models.network import Transformer
from prism_mt.models.spec import Conventions
from prism_mt.training.ranking.config import Ranking
from prism_mt.training.ranking.segments import EncodedSegment, Ids

# Rows of logits at a time; they are recomputed for the gradient instead of being kept.
_CHUNK = 512
Term = Literal["cross_entropy", "forward", "backward"]


def hinge(scores: Tensor, better: Tensor, worse: Tensor, margin: float) -> Tensor:
    """Σ max(0, margin - score of the better + score of the worse), over pairs of score indices."""
    return (margin - scores[better] + scores[worse]).clamp_min(0.0).sum()


def pairs_across(segments: Sequence[EncodedSegment], minimum: float = 0.1) -> list[tuple[int, int]]:
    """Indices of a better and a worse output from two segments of one language pair, by mean ratings."""
    outputs = [(segment.lp, number, score) for number, segment in enumerate(segments) for score in segment.scores]
    return [
        (place, other)
        for place, (lp, number, score) in enumerate(outputs)
        for other, (other_lp, other_number, other_score) in enumerate(outputs)
        if lp == other_lp and number != other_number and score > other_score + minimum
    ]


class RankingLoss(nn.Module):
    """A model and its ranking loss."""

    def __init__(self, model: Transformer, conventions: Conventions, ranking: Ranking) -> None:
        super().__init__()
        self.model, self.conventions, self.ranking = model, conventions, ranking

    @property
    def weights(self) -> dict[Term, float]:
        """The active loss terms and their weights; the loss is the weighted sum."""
        ranking = self.ranking
        weights: dict[Term, float] = {
            "cross_entropy": ranking.cross_entropy,
            "forward": 0.5 * ranking.forward,
            "backward": 0.5 * ranking.backward,
        }
        return {term: weight for term, weight in weights.items() if weight}

    def forward(self, term: Term, segments: Sequence[EncodedSegment]) -> Tensor:
        """Sum a term over all pairs. Terms share no graph, so that each can be freed before the next."""
        if term == "cross_entropy":
            return self._cross_entropy(segments)
        scores = self.forward_scores(segments) if term == "forward" else self.backward_scores(segments)
        return self._ranked(segments, scores)

    def _ranked(self, segments: Sequence[EncodedSegment], scores: Tensor) -> Tensor:
        """Hinge terms of the scores, plus the term that makes better outputs likely.

        Pairs across segments, if enabled, count together as much as all others times their weight.
        """
        ranking, pairs, start = self.ranking, [], 0
        for segment in segments:
            pairs += [(start + better, start + worse) for better, worse in segment.pairs]
            start += len(segment.output_targets)
        others = pairs_across(segments) if ranking.across else []
        places, distant = (torch.tensor(some, device=self._device) for some in (pairs, others))
        values = scores.exp() if ranking.scores == "probabilities" else scores
        total = hinge(values, places[:, 0], places[:, 1], ranking.margin)
        if others:
            weight = ranking.across * len(pairs) / len(others)
            total = total + weight * hinge(values, distant[:, 0], distant[:, 1], ranking.margin)
        return total - ranking.preferred * scores[places[:, 0]].sum()

    def forward_scores(self, segments: Sequence[EncodedSegment]) -> Tensor:
        """Mean token log-probability of every output given its reference."""
        rows = [row for row, segment in enumerate(segments) for _ in segment.output_targets]
        targets = [target for segment in segments for target in segment.output_targets]
        return self.scores([segment.reference_source for segment in segments], rows, targets)

    def backward_scores(self, segments: Sequence[EncodedSegment]) -> Tensor:
        """Mean token log-probability of the reference given every output."""
        sources = [source for segment in segments for source in segment.output_sources]
        targets = [segment.reference_target for segment in segments for _ in segment.output_sources]
        return self.scores(sources, list(range(len(sources))), targets)

    def scores(self, sources: Sequence[Ids], rows: Sequence[int], targets: Sequence[Ids]) -> Tensor:
        """Mean log-probability of the counted tokens of each target given the source in its row."""
        source, padding = self._padded(sources)
        memory = self.model.encode(source, padding)
        if list(rows) != list(range(len(sources))):
            index = torch.tensor(rows, device=self._device)
            memory, padding = memory[index], padding[index]
        target, _ = self._padded(targets)
        states = self.model.decode(target[:, :-1], memory, padding)
        counted = torch.zeros_like(target[:, 1:], dtype=torch.bool)
        for row, ids in enumerate(targets):
            counted[row, self.conventions.counted(ids)] = True
        tokens = self._log_probabilities(states[counted], target[:, 1:][counted])
        row_of = counted.nonzero()[:, 0]
        total = torch.zeros(len(targets), device=self._device).index_add(0, row_of, tokens)
        return total / counted.sum(1)

    def _cross_entropy(self, segments: Sequence[EncodedSegment]) -> Tensor:
        """Cross-entropy of the reference given the source, counted once per pair of the segment."""
        sources = [segment.source for segment in segments]
        targets = [segment.reference_target for segment in segments]
        scores = self.scores(sources, list(range(len(segments))), targets)
        weights = torch.tensor([float(len(segment.pairs)) for segment in segments], device=self._device)
        return -(weights * scores).sum()

    def _log_probabilities(self, states: Tensor, targets: Tensor) -> Tensor:
        def chunk(states: Tensor, targets: Tensor) -> Tensor:
            return self.model.project(states).float().log_softmax(1).gather(1, targets[:, None])[:, 0]

        parts = [
            checkpoint(chunk, some, wanted, use_reentrant=False)
            if torch.is_grad_enabled()
            else chunk(some, wanted)
            for some, wanted in zip(torch.split(states, _CHUNK), torch.split(targets, _CHUNK), strict=True)
        ]
        return torch.cat(parts)

    def _padded(self, sequences: Sequence[Ids]) -> tuple[Tensor, Tensor]:
        """(B, T) ids and a mask that is True at padding."""
        longest = max(map(len, sequences))
        rows = [list(ids) + [self.conventions.pad] * (longest - len(ids)) for ids in sequences]
        lengths = torch.tensor([len(ids) for ids in sequences], device=self._device)
        mask = torch.arange(longest, device=self._device)[None, :] >= lengths[:, None]
        return torch.tensor(rows, device=self._device), mask

    @property
    def _device(self) -> torch.device:
        return next(self.parameters()).device
