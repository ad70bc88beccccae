import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mt.stats.arrays import Matrix
from prism_mt.stats.soft_accuracy import SoftPairwiseAccuracy

NAN = math.nan


def by_definition(human: Matrix, metric: Matrix, rng: np.random.Generator, draws: int) -> float:
    """Soft pairwise accuracy written out: one permutation test after the other, one draw after the other."""
    # Random numbers rounded to 0 or 1 as mt-metrics-eval does it, then -1 or 1.
    signs = 2 * np.rint(rng.random(size=(draws, human.shape[1]), dtype=np.float32)) - 1
    errors = []
    for one, other in itertools.combinations(range(len(human)), 2):
        known = ~np.isnan(human[one] + human[other] + metric[one] + metric[other])
        if not known.any():
            continue
        p_human, p_metric = (
            np.mean([(draw * gaps).sum() >= gaps.sum() for draw in signs[:, known]])
            for gaps in (scores[one, known] - scores[other, known] for scores in (human, metric))
        )
        errors.append(abs(p_human - p_metric))
    return float(1 - np.mean(errors)) if errors else NAN


def test_two_systems_by_hand() -> None:
    # People: differences 1 and 1, whose signed sums are 2, 0, 0, -2: the observed 2 is reached by 1/4.
    # Metric: differences 1 and -1, whose signed sums are 0, 2, -2, 0: the observed 0 is reached by 3/4.
    human = np.array([[1.0, 1.0], [0.0, 0.0]])
    metric = np.array([[1.0, 0.0], [0.0, 1.0]])
    statistic = SoftPairwiseAccuracy(2, np.random.default_rng(0), draws=40_000)
    assert statistic(human, metric) == pytest.approx(1 - (3 / 4 - 1 / 4), abs=0.01)


def test_three_systems_by_hand() -> None:
    # One segment: a draw flips it or not. The better of two systems has p = 1/2, a tie has 1, the worse has 1.
    human = np.array([[3.0], [2.0], [2.0]])
    metric = np.array([[0.0], [1.0], [0.5]])
    # Pairs 12, 13, 23: people 1/2, 1/2, 1; metric 1, 1, 1/2.
    statistic = SoftPairwiseAccuracy(1, np.random.default_rng(0), draws=40_000)
    assert statistic(human, metric) == pytest.approx(1 / 2, abs=0.01)
    assert statistic(human, human) == 1.0


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    systems=st.integers(1, 5),
    segments=st.integers(1, 9),
    draws=st.sampled_from([16, 37]),
    holes=st.sampled_from([0.0, 0.3]),
)
def test_equals_the_definition_draw_for_draw(
    seed: int, systems: int, segments: int, draws: int, holes: float
) -> None:
    rng = np.random.default_rng(seed)
    # Quarters are exact in binary, so the definition needs no tolerance for sums that are equal.
    human, first, second = rng.integers(-8, 8, (3, systems, segments)) / 4
    human[rng.random(human.shape) < holes] = NAN
    second[rng.random(second.shape) < holes] = NAN
    found = SoftPairwiseAccuracy(segments, np.random.default_rng(seed), draws).each(human, [first, second])
    expected = [by_definition(human, metric, np.random.default_rng(seed), draws) for metric in (first, second)]
    assert found == pytest.approx(expected, nan_ok=True, abs=1e-12)


def test_scores_on_a_decimal_grid_do_not_lose_ties_to_rounding() -> None:
    rng = np.random.default_rng(1)
    human = rng.integers(-50, 0, (6, 40)) / 10 + 70
    exact = SoftPairwiseAccuracy(40, np.random.default_rng(0))(human, np.round(10 * human))
    assert exact == 1.0


@pytest.mark.parametrize(("name", "value"), [("_SEGMENTS", 7), ("_ONE_THREAD", 0), ("_ONE_THREAD", 50 * 33)])
def test_sums_do_not_depend_on_how_products_are_cut(
    monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    human, metric = np.random.default_rng(2).normal(size=(2, 4, 50))
    statistic = SoftPairwiseAccuracy(50, np.random.default_rng(0))
    whole = statistic(human, metric)
    assert 0 < whole < 1
    monkeypatch.setattr(f"prism_mt.stats.soft_accuracy.{name}", value)
    assert statistic(human, metric) == whole


def test_a_metric_that_reverses_people_is_poor_and_one_system_is_undefined() -> None:
    human = np.random.default_rng(5).normal(size=(4, 60)) + np.arange(4)[:, None] / 4
    statistic = SoftPairwiseAccuracy(60, np.random.default_rng(0))
    assert statistic(human, 3 * human + 1) == 1.0
    assert statistic(human, -human) < 0.2
    assert math.isnan(statistic(human[:1], human[:1]))
    assert math.isnan(statistic(human, np.full_like(human, NAN)))
