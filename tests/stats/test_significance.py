"""Williams, bootstrap, permutation tests and ranks."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mt.stats.bootstrap import Interval, bootstrap_preferences, bootstrap_segments, interval, paired_p
from prism_mt.stats.correlation import Correlation, kendall_b, segment_accuracy
from prism_mt.stats.darr import darr_tau
from prism_mt.stats.permutation import Unit, permutation_test
from prism_mt.stats.ranks import rank_clusters
from prism_mt.stats.swaps import net_concordance
from prism_mt.stats.williams import williams, williams_test

NAN = math.nan
TAU = Correlation("kendall-b")


def test_williams_golden() -> None:
    result = williams(0.9, 0.8, 0.7, 20)
    assert f"{result.t:.5f}" == "1.37233"
    assert f"{result.p:.6f}" == "0.093898"


@pytest.mark.parametrize(
    ("arguments", "t", "p"),
    [
        ((0.9, 0.8, 0.7, 3), NAN, NAN),
        ((NAN, 0.8, 0.7, 20), NAN, NAN),
        ((0.8, 0.8, 1.0, 20), 0.0, 0.5),
        ((0.0, 0.0, 1.0, 20), 0.0, 0.5),
        ((0.9, 0.8, 1.0, 20), None, None),
        ((1.0, -1.0, -1.0, 20), 0.0, 0.5),
    ],
    ids=["n too small", "undefined", "same metric", "same useless metric", "impossible", "opposite metrics"],
)
def test_williams_guards(arguments: tuple[float, float, float, int], t: float | None, p: float | None) -> None:
    result = williams(*arguments)
    if t is None or p is None:
        assert 0 <= result.p <= 0.5
    else:
        assert (result.t, result.p) == pytest.approx((t, p), nan_ok=True)


def test_williams_is_antisymmetric_and_uses_common_cells() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=30)
    a, b = human + rng.normal(size=30), human + 2 * rng.normal(size=30)
    a[3] = NAN
    forward, backward = williams_test(human, a, b), williams_test(human, b, a)
    assert forward.p == pytest.approx(1 - backward.p)
    kept = np.arange(30) != 3
    assert forward == williams_test(human[kept], a[kept], b[kept])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_net_concordance_equals_the_double_loop(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 5, size).astype(np.float64)
    own, other = rng.integers(0, 9, (2, size))
    expected = [
        sum(np.sign(human[i] - human[j]) * np.sign(own[i] - other[j]) for j in range(size)) for i in range(size)
    ]
    np.testing.assert_array_equal(net_concordance(human, own, other), expected)


def slow_tau(human: np.ndarray, metric: np.ndarray) -> float:
    """The same statistic, but not recognised as one that has a shortcut."""
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


def test_bootstrap_of_preferences_has_the_spread_of_the_binomial() -> None:
    first = np.repeat([1.0, -1.0], [600, 400])
    second = np.roll(first, 100)
    samples = bootstrap_preferences([first, second], np.random.default_rng(0), draws=4000)
    assert samples.mean(axis=0) == pytest.approx([0.2, 0.2], abs=0.005)
    # Of a share: sqrt(.6 * .4 / 1000); tau is twice the share.
    assert samples.std(axis=0) == pytest.approx([0.03098, 0.03098], rel=0.05)
    # Discordant pairs of metrics: 100 each way, so the variance of the difference is 4 * 200 / 1000**2.
    assert (samples[:, 0] - samples[:, 1]).std() == pytest.approx(math.sqrt(4 * 200) / 1000, rel=0.05)


def test_bootstrap_of_preferences_keeps_rules_for_ties_and_missing_scores() -> None:
    values = np.array([0.0, 0.0, NAN])
    assert np.nanmax(bootstrap_preferences([values], np.random.default_rng(0), 20)) == -1.0
    assert darr_tau(values, "neutral") == 0.0
    assert np.nanmax(bootstrap_preferences([values], np.random.default_rng(0), 20, "neutral")) == 0.0


def test_bootstrap_of_segments_uses_the_same_draws_for_all_metrics() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(3, 30))
    metric = human + rng.normal(size=human.shape)
    samples = bootstrap_segments(TAU, human, [metric, metric * 2], np.random.default_rng(0), 20)
    np.testing.assert_array_equal(samples[:, 0], samples[:, 1])
    assert samples[:, 0].std() > 0


def test_interval_and_overlap() -> None:
    found = interval(np.arange(1001.0))
    assert (found.low, found.high) == pytest.approx((25.0, 975.0))
    assert Interval(0, 1).overlaps(Interval(1, 2))
    assert not Interval(0, 1).overlaps(Interval(1.1, 2))


def test_paired_p_counts_draws_without_an_advantage() -> None:
    assert paired_p(np.array([1.0, 2.0, 3.0, NAN]), np.array([0.0, 2.0, 1.0, 0.0])) == 0.5


def test_rank_clusters_open_when_worse_than_any_member() -> None:
    better = {("a", "c"), ("b", "d"), ("c", "e"), ("a", "e")}
    ranks = rank_clusters(["a", "b", "c", "d", "e"], lambda x, y: (x, y) in better)
    # c is worse than a: rank 2; d is not worse than c; e is worse than c: rank 3.
    assert ranks == {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3}
    assert rank_clusters([], lambda x, y: True) == {}
