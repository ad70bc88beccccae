"""How well a model ranks held-out outputs as humans do."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from prism_mt.stats.correlation import kendall_b
from prism_mt.training.distributed import World
from prism_mt.training.ranking.loss import RankingLoss
from prism_mt.training.ranking.segments import EncodedSegment, cut_batches


@dataclass(frozen=True)
class RankingQuality:
    """Ranking quality on the held-out segments of one language pair.

    Accuracy compares outputs of one segment; tau over all outputs also measures which segments went well. Fine-tuning
    may improve one and ruin the other.
    """

    pair: str
    accuracy: float
    """Share of the raters' pairs ranked correctly."""
    tau: float
    """Kendall's tau-b of mean ratings and scores, all outputs pooled."""
    probability: float
    """Mean of exp(score), which shows how the magnitude of scores drifts."""
    pairs: int


def validate_ranking(
    loss: RankingLoss, segments: Sequence[EncodedSegment], tokens: int, world: World
) -> list[RankingQuality]:
    """Score held-out outputs as Prism-ref does, in both directions; every process takes its share."""
    batches = cut_batches(segments, tokens)
    place = {id(segment): index for index, segment in enumerate(segments)}
    starts = np.cumsum([0, *(len(segment.scores) for segment in segments)])
    scores = np.zeros(int(starts[-1]))
    for batch in islice(batches, world.rank, None, world.size):
        both = (loss.forward_scores(batch) + loss.backward_scores(batch)) / 2
        ends = np.cumsum([len(segment.scores) for segment in batch])[:-1]
        for segment, values in zip(batch, np.split(both.float().cpu().numpy(), ends), strict=True):
            start = int(starts[place[id(segment)]])
            scores[start : start + len(values)] = values
    scores = np.array(world.sums(scores.tolist()))
    found = [(segment, scores[starts[index] : starts[index + 1]]) for index, segment in enumerate(segments)]
    return [
        _quality(lp, [item for item in found if item[0].lp == lp])
        for lp in dict.fromkeys(segment.lp for segment in segments)
    ]


def criterion(qualities: Sequence[RankingQuality]) -> float:
    """The model selection criterion: the mean of accuracy and tau over all language pairs."""
    values = [(quality.accuracy + quality.tau) / 2 for quality in qualities]
    return float(np.nan_to_num(np.mean(values), nan=-1.0))


def _quality(lp: str, found: Sequence[tuple[EncodedSegment, np.ndarray]]) -> RankingQuality:
    right = [scores[better] > scores[worse] for segment, scores in found for better, worse in segment.pairs]
    pooled = np.concatenate([scores for _, scores in found])
    human = np.concatenate([segment.scores for segment, _ in found])
    return RankingQuality(
        lp, float(np.mean(right)), kendall_b(human, pooled), float(np.exp(pooled).mean()), len(right)
    )
