import itertools
import math

import numpy as np
import pytest

from prism_mt.stats.accuracy import segment_accuracy
from prism_mt.stats.correlation import Correlation, kendall_b
from prism_mt.stats.permutation import Unit, pair_permutation_test, permutation_test
from prism_mt.stats.soft_accuracy import SoftPairwiseAccuracy
from prism_mt.stats.ties import acc_t23, calibrate_ties

NAN = math.nan
TAU = Correlation("kendall-b")


def slow_tau(human: np.ndarray, metric: np.ndarray) -> float:
    """The same statistic, but not recognized as one that has a shortcut."""
    return kendall_b(human.ravel(), metric.ravel())


@pytest.mark.parametrize("unit", ["both", "segments", "systems"])
@pytest.mark.parametrize("decimals", [9, 1, 0], ids=["no ties", "some ties", "many ties"])
def test_fast_permutation_of_tau_is_exact(unit: Unit, decimals: int) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        human = rng.integers(0, 6, (4, 25)).astype(np.float64)
        human[0, 3] = NAN
        a = np.round(0.3 * human + rng.normal(size=human.shape), decimals)
        b = np.round(0.1 * human + rng.normal(size=human.shape), decimals)
        a[2, 5] = NAN
        fast = permutation_test(TAU, human, a, b, np.random.default_rng(1), 100, unit)
        slow = permutation_test(slow_tau, human, a, b, np.random.default_rng(1), 100, unit)
        assert fast == slow


@pytest.mark.parametrize("unit", ["both", "segments", "systems"])
@pytest.mark.parametrize("decimals", [9, 0], ids=["no ties", "many ties"])
@pytest.mark.parametrize("holes", [0.0, 0.1], ids=["complete", "with holes"])
def test_fast_permutation_of_soft_accuracy_is_exact(unit: Unit, decimals: int, holes: float) -> None:
    rng = np.random.default_rng(4)
    human = rng.integers(0, 4, (5, 20)).astype(np.float64)
    human[rng.random(human.shape) < holes] = NAN
    human[:, 3] = NAN
    a, b = np.round(0.3 * human + rng.normal(size=(2, *human.shape)), decimals)
    statistic = SoftPairwiseAccuracy(20, np.random.default_rng(7), draws=72)
    fast = permutation_test(statistic, human, a, b, np.random.default_rng(1), 120, unit)
    slow = permutation_test(
        lambda human, metric: statistic(human, metric), human, a, b, np.random.default_rng(1), 120, unit
    )
    assert fast == slow
    assert 0 < fast.p < 1


def test_permutation_finds_a_real_difference_and_none_between_equals() -> None:
    rng = np.random.default_rng(3)
    human = rng.normal(size=(5, 40))
    good, bad = human + rng.normal(size=human.shape), rng.normal(size=human.shape)
    for statistic in (TAU, segment_accuracy, Correlation("pearson", "segments")):
        assert permutation_test(statistic, human, good, bad, np.random.default_rng(0), 60).p < 0.05
        assert permutation_test(statistic, human, bad, good, np.random.default_rng(0), 60).p > 0.95
        assert permutation_test(statistic, human, good, good * 2, np.random.default_rng(0), 60).p == 1.0


@pytest.mark.parametrize(
    ("human", "metric"),
    [(np.ones((2, 3)), np.arange(6.0).reshape(2, 3)), (np.arange(6.0).reshape(2, 3), np.ones((2, 3)))],
    ids=["people tie all", "constant metric"],
)
def test_permutation_of_an_undefined_statistic_is_nan(human: np.ndarray, metric: np.ndarray) -> None:
    other = np.arange(6.0)[::-1].reshape(2, 3)
    assert math.isnan(permutation_test(TAU, human, metric, other, np.random.default_rng(0), 10).p)


def test_permutation_depends_on_the_generator_only() -> None:
    rng = np.random.default_rng(0)
    human, a, b = rng.normal(size=(3, 4, 10))
    results = {permutation_test(TAU, human, a, b, np.random.default_rng(9), 60) for _ in range(2)}
    assert len(results) == 1


def test_pairs_of_outputs_are_swapped_with_each_metrics_own_epsilon() -> None:
    rng = np.random.default_rng(3)
    human = rng.integers(0, 3, (3, 4)).astype(np.float64)
    a, b = human + rng.normal(scale=0.6, size=human.shape), rng.normal(size=human.shape)
    gains = []
    epsilons = [calibrate_ties(human, scores).epsilon for scores in (a, b)]
    for segment in range(4):
        for first, second in itertools.combinations(range(3), 2):
            right = []
            for scores, epsilon in zip((a, b), epsilons, strict=True):
                gap = scores[first, segment] - scores[second, segment]
                order = 0.0 if abs(gap) <= epsilon else np.sign(gap)
                right.append(int(order == np.sign(human[first, segment] - human[second, segment])))
            gains.append((right[0] - right[1]) / 3 / 4)
    observed = acc_t23(human, a) - acc_t23(human, b)
    assert sum(gains) == pytest.approx(observed)
    # All ways of swapping, instead of some that are drawn.
    swapped = [np.dot(signs, gains) for signs in itertools.product((1, -1), repeat=len(gains))]
    exact = np.mean(np.array(swapped) >= observed - 1e-12)
    found = pair_permutation_test(human, a, b, np.random.default_rng(1), 20_000)
    assert found.difference == pytest.approx(observed)
    assert found.p == pytest.approx(exact, abs=0.015)
    assert 0.01 < exact < 0.99


def test_pairs_of_outputs_without_any_pair() -> None:
    nothing = np.full((2, 3), NAN)
    assert math.isnan(pair_permutation_test(nothing, nothing, nothing, np.random.default_rng(1), 10).p)
