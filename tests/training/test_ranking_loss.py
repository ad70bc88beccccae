"""The ranking loss and its gradients."""

import dataclasses
import math

import pytest
import torch
from made import make_model

from prism_mt.models.network import from_weights
from prism_mt.training.ranking.config import Ranking
from prism_mt.training.ranking.loss import RankingLoss, hinge, pairs_across
from prism_mt.training.ranking.segments import EncodedSegment

TAG = 5


def test_hinge_and_its_gradient_by_hand() -> None:
    scores = torch.tensor([0.5, 0.45, 0.2], requires_grad=True)
    better, worse = torch.tensor([0, 0, 1, 2]), torch.tensor([1, 2, 2, 0])
    # 0.1 - 0.05, satisfied by 0.3, satisfied by 0.25, and the wrong way round: 0.1 + 0.3.
    loss = hinge(scores, better, worse, 0.1)
    assert float(loss.detach()) == pytest.approx(0.05 + 0.4)
    # Pair (0, 1) pulls 0 up and 1 down, pair (2, 0) pulls 2 up and 0 down.
    assert torch.autograd.grad(loss, scores)[0].tolist() == [0.0, 1.0, -1.0]


def objective(ranking: Ranking | None = None) -> RankingLoss:
    model = make_model()
    network = from_weights(model.spec.architecture, model.weights)
    return RankingLoss(network, model.spec.conventions, ranking or Ranking())


def loss_of(made: RankingLoss) -> torch.Tensor:
    terms = [weight * made(term, SEGMENTS) for term, weight in made.weights.items()]
    return torch.stack(terms).sum()


def written(*pieces: int) -> tuple[int, ...]:
    return (2, TAG, *pieces, 2)


def segment(outputs: tuple[tuple[int, ...], ...], pairs: tuple[tuple[int, int], ...]) -> EncodedSegment:
    return EncodedSegment(
        "en-de",
        source=(20, 21, 2),
        reference_source=(30, 31, 32, 2),
        reference_target=written(30, 31, 32),
        output_sources=tuple((*output, 2) for output in outputs),
        output_targets=tuple(written(*output) for output in outputs),
        scores=tuple(float(-place) for place in range(len(outputs))),
        pairs=pairs,
    )


SEGMENTS = [
    segment(((30, 31), (40, 41, 42, 43), (50,)), ((0, 1), (0, 2), (1, 2), (0, 1))),
    segment(((60, 61, 62), (63,)), ((1, 0),)),
]


def one_by_one(made: RankingLoss, source: tuple[int, ...], target: tuple[int, ...]) -> float:
    """The mean over all predicted tokens but the tag, without padding or sharing."""
    with torch.no_grad():
        states = made.model(torch.tensor([source]), torch.tensor([target[:-1]]))
        logs = made.model.project(states).log_softmax(-1)[0]
    values = [float(logs[place, token]) for place, token in enumerate(target[1:])][1:]
    return sum(values) / len(values)


def test_scores_are_those_of_single_decodings() -> None:
    made = objective()
    forward, backward = made.forward_scores(SEGMENTS).tolist(), made.backward_scores(SEGMENTS).tolist()
    row = 0
    for item in SEGMENTS:
        for source, target in zip(item.output_sources, item.output_targets, strict=True):
            assert forward[row] == pytest.approx(one_by_one(made, item.reference_source, target), abs=1e-4)
            assert backward[row] == pytest.approx(one_by_one(made, source, item.reference_target), abs=1e-4)
            row += 1


@pytest.mark.parametrize(
    "ranking",
    [
        Ranking(),
        Ranking(scores="log-probabilities", margin=0.5),
        Ranking(cross_entropy=0.0),
        Ranking(forward=False),
        Ranking(backward=False),
        Ranking(across=0.5),
        Ranking(scores="log-probabilities", preferred=0.7, across=2.0),
    ],
)
def test_loss_is_the_sum_over_pairs(ranking: Ranking) -> None:
    made = objective(ranking)
    forward, backward = made.forward_scores(SEGMENTS).tolist(), made.backward_scores(SEGMENTS).tolist()
    expected, start = 0.0, 0
    for item in SEGMENTS:
        entropy = -one_by_one(made, item.source, item.reference_target)
        for better, worse in item.pairs:
            expected += ranking.cross_entropy * entropy
            for on, scores in ((ranking.forward, forward), (ranking.backward, backward)):
                high, low = scores[start + better], scores[start + worse]
                if ranking.scores == "probabilities":
                    high, low = math.exp(high), math.exp(low)
                expected += 0.5 * on * max(0.0, ranking.margin - high + low)
                expected -= 0.5 * on * ranking.preferred * scores[start + better]
        start += len(item.output_targets)
    # Between the two segments: 0, -1, -2 against 0, -1, all outputs in one row.
    distant = [(0, 4), (3, 1), (3, 2), (4, 2)]
    for on, scores in ((ranking.forward, forward), (ranking.backward, backward)):
        values = [math.exp(score) for score in scores] if ranking.scores == "probabilities" else scores
        hinges = [max(0.0, ranking.margin - values[better] + values[worse]) for better, worse in distant]
        expected += 0.5 * on * ranking.across * 5 * sum(hinges) / len(hinges)  # there are five pairs within
    loss = loss_of(made)
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-4)
    torch.autograd.backward(loss)
    assert all(parameter.grad is not None for parameter in made.parameters())


def test_pairs_across_are_of_one_language_pair_and_clearly_apart() -> None:
    german, other = segment(((30,), (31,)), ((0, 1),)), segment(((40,), (41,)), ((0, 1),))
    close = dataclasses.replace(other, scores=(-0.05, -3.0))
    assert pairs_across([german, close]) == [(0, 3), (1, 3), (2, 1)]
    assert pairs_across([german, dataclasses.replace(close, lp="zh-en")]) == []


def test_gradient_is_the_slope_of_the_loss() -> None:
    made = objective(Ranking(scores="log-probabilities", margin=5.0)).double()
    torch.autograd.backward(loss_of(made))
    weight = made.model.decoder.layers[0].feed_forward.inner.bias  # type: ignore[union-attr]
    assert isinstance(weight, torch.Tensor)
    assert weight.grad is not None
    place, step = int(weight.grad.abs().argmax()), 1e-3
    losses = []
    for sign in (1, -1):
        with torch.no_grad():
            weight[place] += sign * step
            losses.append(float(loss_of(made)))
            weight[place] -= sign * step
    assert float(weight.grad[place]) == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-2)
