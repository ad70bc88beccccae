"""Intervals and p-values of systems beside sacreBLEU's own, and of metrics."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from prism_mt.stats.arrays import Matrix, Vector
from prism_mt.stats.correlation import Correlation
from prism_mt.stats.darr import darr_tau
from prism_mt.stats.resampling import (
    Aggregate,
    Bootstrap,
    Interval,
    Randomization,
    bootstrap_p,
    bootstrap_preferences,
    bootstrap_segments,
    bootstrap_systems,
    chance,
    paired_p,
    percentile_interval,
    sacrebleu_interval,
)

TEXT = "the committee met in a large hall on Tuesday and adopted its report without any vote"
WORDS = TEXT.split()
COUNT = 50
NAN = math.nan


def made(seed: int, errors: float) -> list[str]:
    """Lines of words of which some are replaced."""
    order, noise = np.random.default_rng(0), np.random.default_rng(seed)
    lines = []
    for _ in range(COUNT):
        words = order.choice(WORDS, size=int(order.integers(4, 15))).tolist()
        wrong = noise.random(len(words)) < errors
        lines.append(" ".join("Käse" if bad else word for word, bad in zip(words, wrong, strict=True)))
    return lines


REFERENCE = made(0, 0.0)
SYSTEMS: list[tuple[str, Sequence[str]]] = [("A", made(1, 0.2)), ("B", made(2, 0.22)), ("C", made(3, 0.3))]
THEIRS = {"bleu": BLEU(), "ter": TER()}


def bleu_statistics(line: str, reference: str) -> list[float]:
    score = BLEU(effective_order=True).sentence_score(line, [reference])
    return [score.sys_len, score.ref_len, *score.counts, *score.totals]


def bleu(totals: Sequence[float]) -> float:
    length, reference_length, *counts = map(int, totals)
    return float(BLEU.compute_bleu(counts[:4], counts[4:], length, reference_length).score)


def ter_statistics(line: str, reference: str) -> list[float]:
    score = TER().sentence_score(line, [reference])
    return [score.num_edits, score.ref_length]


def ter(totals: Sequence[float]) -> float:
    return 100 * totals[0] / totals[1]


OURS: dict[str, tuple[Callable[[str, str], list[float]], Aggregate]] = {
    "bleu": (bleu_statistics, bleu),
    "ter": (ter_statistics, ter),
}
SEED = 12345


def statistics(metric: str) -> list[Matrix]:
    """What each system's segments add to its score."""
    count, _ = OURS[metric]
    return [np.array([count(*pair) for pair in zip(lines, REFERENCE, strict=True)]) for _, lines in SYSTEMS]


def system_scores(metric: str) -> Vector:
    return np.array([OURS[metric][1](rows.sum(axis=0).tolist()) for rows in statistics(metric)])


def theirs(metric: str, test: str, draws: int) -> list[Any]:
    _, scores = PairedTest(
        SYSTEMS, {metric: THEIRS[metric]}, [REFERENCE], test, draws, -1 if test == "bs" else 1000
    )()
    del scores["System"]
    [results] = scores.values()
    return results


@pytest.mark.parametrize("metric", ["bleu", "ter"])
@pytest.mark.parametrize("draws", [100, 333])
def test_paired_bootstrap_is_sacrebleus(metric: str, draws: int) -> None:
    scores = system_scores(metric)
    samples = Bootstrap(COUNT, draws, SEED).scores(statistics(metric), OURS[metric][1])
    for place, wanted in enumerate(theirs(metric, "bs", draws)):
        own = sacrebleu_interval(samples[place])
        assert scores[place] == pytest.approx(wanted.score, rel=1e-12)
        # sacreBLEU adds up in single precision
        assert samples[place].mean() == pytest.approx(wanted.mean, rel=1e-6)
        assert (own.high - own.low) / 2 == pytest.approx(wanted.ci, rel=1e-4)
        if place:
            assert bootstrap_p(samples[place], samples[0], scores[place] - scores[0]) == wanted.p_value


@pytest.mark.parametrize("metric", ["bleu", "ter"])
def test_randomization_is_sacrebleus(metric: str) -> None:
    scores = system_scores(metric)
    results = theirs(metric, "ar", 400)
    pairs = [(1, 0), (2, 0)]
    shuffled = Randomization(COUNT, 400, SEED).differences(statistics(metric), pairs, OURS[metric][1])
    for (place, first), differences in zip(pairs, shuffled, strict=True):
        assert chance(differences, scores[place] - scores[first]) == results[place].p_value


def test_sacrebleu_interval_leaves_out_a_fortieth_on_each_side() -> None:
    found = sacrebleu_interval(np.arange(80.0)[::-1])
    assert (found.low, found.high) == (2.0, 77.0)


@pytest.mark.parametrize(
    ("differences", "observed", "p"),
    [
        ([0.0, 1.0, 2.0, 3.0], 1.5, 3 / 5),
        ([0.0, 1.0, 2.0, 3.0], -1.5, 3 / 5),
        ([1.0], 0.0, 1.0),
        ([1.0], 1.0, 0.5),
    ],
)
def test_chance_counts_larger_differences(differences: list[float], observed: float, p: float) -> None:
    assert chance(np.array(differences), observed) == p


def test_paired_bootstrap_centers_the_differences() -> None:
    # differences 0, 1, 5 around their mean 2: -2, -1, 3
    assert bootstrap_p(np.array([1.0, 2.0, 6.0]), np.ones(3), 2.5) == 2 / 4


def test_draws_of_negative_scores() -> None:
    statistics = np.array([[-1.0, 1.0], [-2.0, 1.0], [-6.0, 1.0]])
    [scores] = Bootstrap(3, 500, 1).scores([statistics], lambda totals: totals[0] / totals[1])
    assert scores.min() == -6.0
    assert scores.max() == -1.0
    assert scores.mean() == pytest.approx(-3.0, abs=0.2)


def test_draws_in_parts_are_those_of_one_large_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prism_mt.stats.resampling._COLUMNS", 3)
    segments, draws = 7, 101
    first, second = np.random.default_rng(0).normal(size=(2, segments, 1))
    keep = np.random.default_rng(5).integers(2, size=(draws, segments), dtype=np.bool_)[:, :, None]
    mixed, rest = np.where(keep, first, second).sum(axis=1), np.where(keep, second, first).sum(axis=1)
    [found] = Randomization(segments, draws, 5).differences([first, second], [(0, 1)], lambda totals: totals[0])
    np.testing.assert_allclose(found, np.abs(mixed - rest)[:, 0])
    rng = np.random.default_rng(5)
    chosen = [rng.choice(segments, size=segments, replace=True) for _ in range(draws)]
    [scores] = Bootstrap(segments, draws, 5).scores([first], lambda totals: totals[0])
    np.testing.assert_allclose(scores, [first[places].sum() for places in chosen])


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
    samples = bootstrap_segments(
        Correlation("kendall-b"), human, [metric, metric * 2], np.random.default_rng(0), 20
    )
    np.testing.assert_array_equal(samples[:, 0], samples[:, 1])
    assert samples[:, 0].std() > 0


def test_percentile_interval_and_overlap() -> None:
    found = percentile_interval(np.arange(1001.0))
    assert (found.low, found.high) == pytest.approx((25.0, 975.0))
    assert Interval(0, 1).overlaps(Interval(1, 2))
    assert not Interval(0, 1).overlaps(Interval(1.1, 2))


def test_paired_p_counts_draws_without_an_advantage() -> None:
    assert paired_p(np.array([1.0, 2.0, 3.0, NAN]), np.array([0.0, 2.0, 1.0, 0.0])) == 0.5


# WMT19 gu-en: direct assessment (z) and sacreBLEU of 11 systems.
DA = np.array([0.21, 0.126, 0.1, 0.09, 0.066, 0.044, -0.189, -0.192, -0.277, -0.296, -0.598])
BLEU_SCORES = np.array([24.90, 21.45, 17.48, 17.45, 16.79, 17.22, 8.85, 9.38, 9.55, 6.76, 11.85])


def test_bootstrap_of_systems_draws_the_same_systems_for_all_metrics() -> None:
    metrics = [BLEU_SCORES, 1 - 2 * BLEU_SCORES]
    samples = bootstrap_systems(Correlation("pearson"), DA, metrics, np.random.default_rng(0), 50)
    np.testing.assert_allclose(samples[:, 0], -samples[:, 1])
    rng = np.random.default_rng(0)
    chosen = rng.integers(11, size=(50, 11))
    assert samples[7, 0] == pytest.approx(np.corrcoef(DA[chosen[7]], BLEU_SCORES[chosen[7]])[0, 1])
