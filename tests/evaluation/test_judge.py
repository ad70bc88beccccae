"""Metrics side by side: values, marks, ranks, degenerate input; scoring of texts."""

import logging
import math

import numpy as np
import pytest

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judge import evaluate
from prism_mt.evaluation.judgments import Judgments, MetricScores, Preferences, Texts
from prism_mt.evaluation.levels import Resampling
from prism_mt.evaluation.protocols import PRESETS, StatisticName, Task, Test, preset
from prism_mt.evaluation.scoring import make_metric, score_texts
from prism_mt.metrics.registry import Setting
from prism_mt.stats.correlation import Correlation

RNG = np.random.default_rng(0)
HUMAN = RNG.normal(size=(6, 40)) + np.arange(6)[:, None]
SYSTEMS, SEGMENTS = tuple("ABCDEF"), tuple(map(str, range(40)))
JUDGMENTS = Judgments("set", "en-de", SYSTEMS, SEGMENTS, HUMAN)
FEW = Resampling(draws=60)


def metric(name: str, scores: np.ndarray) -> MetricScores:
    return MetricScores(name, "en-de", SYSTEMS, SEGMENTS, scores)


GOOD = metric("good", HUMAN + 0.5 * RNG.normal(size=HUMAN.shape))
POOR = metric("poor", HUMAN + 9 * RNG.normal(size=HUMAN.shape))
TWIN = metric("twin", 2 * GOOD.scores)


@pytest.mark.parametrize(
    "test", ["perm-both", "perm-segments", "paired-bootstrap", "intervals", "williams", "perm-systems"]
)
def test_best_and_its_equal_are_on_top_and_the_poor_metric_is_not(test: Test) -> None:
    statistic: StatisticName = "pearson" if test == "williams" else "kendall-b"
    task = Task("", "segments", statistic, test)
    evaluation = evaluate(JUDGMENTS, [POOR, TWIN, GOOD], task, FEW)
    marks = {result.metric: evaluation.is_top(result) for result in evaluation.results}
    assert marks == {"good": True, "twin": True, "poor": False}
    ranks = {result.metric: result.rank for result in evaluation.results}
    assert ranks == {"good": 1, "twin": 1, "poor": 2}


@pytest.mark.parametrize("name", [name for name, task in PRESETS.items() if task.level != "preferences"])
def test_every_preset_runs(name: str) -> None:
    evaluation = evaluate(JUDGMENTS, [POOR, GOOD], preset(name), Resampling(draws=20))
    assert [result.metric for result in evaluation.results] == ["good", "poor"]
    assert math.isnan(evaluation.results[0].p)


def test_the_same_seed_gives_the_same_table() -> None:
    task = preset("wmt21-mqm")
    first, second = (evaluate(JUDGMENTS, [POOR, GOOD], task, FEW, intervals=True) for _ in range(2))
    assert [(r.p, r.interval) for r in first.results[1:]] == [(r.p, r.interval) for r in second.results[1:]]


def test_pooled_and_within_segments_stand_side_by_side() -> None:
    hard = HUMAN - 5 * np.arange(40)
    judgments = Judgments("set", "en-de", SYSTEMS, SEGMENTS, hard)
    # This metric only knows which segments are hard.
    knows_segments = metric(
        "hardness", np.broadcast_to(-np.arange(40.0), hard.shape) + 0.001 * RNG.random(hard.shape)
    )
    result = evaluate(judgments, [knows_segments], preset("wmt21-mqm"), FEW).results[0]
    assert result.value > 0.8
    assert abs(result.beside["tau-b in segments"]) < 0.2
    assert 0.4 < result.beside["accuracy in segments"] < 0.6


def test_system_level_without_outliers() -> None:
    human = np.array([0.1, 0.2, 0.3, 0.4, 9.0])
    judgments = Judgments("set", "en-de", tuple("ABCDE"), (), np.empty((5, 0)), human)
    scores = MetricScores("m", "en-de", tuple("ABCDE"), (), np.empty((5, 0)), np.array([4.0, 3.0, 2.0, 1.0, 99.0]))
    evaluation = evaluate(judgments, [scores], preset("wmt19-sys"))
    result = evaluation.results[0]
    assert result.value > 0.99
    assert result.beside["without outliers"] == pytest.approx(-1.0)
    assert result.beside["accuracy"] == pytest.approx(4 / 10)
    assert evaluation.size == "5 systems, 1 of them outliers"
    with pytest.raises(PrismError, match="perm-both needs segment scores of people and of m"):
        evaluate(judgments, [scores, metric("n", POOR.scores)], Task("", "systems", "pearson", "perm-both"))


def test_preferences_from_raw_scores_and_from_agreements() -> None:
    raw = Judgments("set", "en-de", ("A", "B"), ("1", "2"), np.array([[90.0, 10.0], [50.0, 80.0]]))
    scores = MetricScores("m", "en-de", ("A", "B"), ("1", "2"), np.array([[2.0, 1.0], [1.0, 1.0]]))
    result = evaluate(raw, [scores], preset("wmt20-darr"), FEW).results[0]
    # The first pair is right, the second tied.
    assert result.value == 0.0
    known = Preferences(np.array([0, 1]), np.array([0, 1]), np.array([1, 0]), {"bits": np.array([1.0, 1.0])})
    judged = Judgments("set", "en-de", ("A", "B"), ("1", "2"), np.full((2, 2), math.nan), preferences=known)
    values = {r.metric: r.value for r in evaluate(judged, [scores], preset("wmt17-darr"), FEW).results}
    assert values == {"bits": 1.0, "m": 0.5}
    close = Judgments("set", "en-de", ("A", "B"), ("1",), np.array([[50.0], [60.0]]))
    with pytest.raises(PrismError, match="no two outputs differ by 25 points"):
        evaluate(close, [scores], preset("wmt20-darr"))


@pytest.mark.parametrize(
    ("human", "scores"),
    [
        (HUMAN, np.ones_like(HUMAN)),
        (np.ones_like(HUMAN), GOOD.scores),
        (HUMAN, np.full_like(HUMAN, math.nan)),
        (np.full_like(HUMAN, math.nan), GOOD.scores),
    ],
    ids=["constant metric", "all ties", "no scores", "no judgments"],
)
@pytest.mark.parametrize("name", ["wmt21-mqm", "wmt17-seg", "wmt19-sys"])
def test_undefined_results_are_missing_never_marked_and_last(
    human: np.ndarray, scores: np.ndarray, name: str
) -> None:
    judgments = Judgments("set", "en-de", SYSTEMS, SEGMENTS, human)
    evaluation = evaluate(judgments, [metric("broken", scores), GOOD], preset(name), FEW)
    broken = next(result for result in evaluation.results if result.metric == "broken")
    assert math.isnan(broken.value)
    assert not evaluation.is_top(broken)
    if human is HUMAN:
        assert evaluation.results[-1] is broken
        assert evaluation.is_top(evaluation.results[0])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_systems_have_no_williams_test(count: int) -> None:
    judgments = JUDGMENTS.select(SYSTEMS[:count])
    evaluation = evaluate(judgments, [GOOD, POOR], preset("wmt19-sys"))
    assert all(math.isnan(result.p) for result in evaluation.results)
    assert all(math.isnan(result.value) == (count == 1) for result in evaluation.results)


def test_missing_scores_are_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    holes = GOOD.scores.copy()
    holes[2, :5] = math.nan
    with caplog.at_level(logging.WARNING, logger="prism_mt"):
        evaluation = evaluate(JUDGMENTS, [metric("holes", holes)], preset("wmt21-mqm"), FEW)
    assert "holes: 5 judged items without a score are left out" in caplog.text
    known = ~np.isnan(holes)
    expected = Correlation("kendall-b")(HUMAN[known][None], holes[known][None])
    assert evaluation.results[0].value == pytest.approx(expected)


def test_mistakes_in_the_setup() -> None:
    with pytest.raises(PrismError, match="two sets of scores are called good"):
        evaluate(JUDGMENTS, [GOOD, GOOD], preset("wmt21-mqm"))
    with pytest.raises(PrismError, match="there is no metric to judge"):
        evaluate(JUDGMENTS, [], preset("wmt21-mqm"))
    with pytest.raises(PrismError, match="darr is not a statistic of systems"):
        Task("", "systems", "darr", "none")
    with pytest.raises(PrismError, match="williams does not test preferences"):
        Task("", "preferences", "darr", "williams")
    with pytest.raises(PrismError, match="Williams' test compares Pearson"):
        Task("", "segments", "kendall-b", "williams")
    with pytest.raises(PrismError, match="only correlations of segments are averaged over systems, not accuracy"):
        Task("", "segments", "accuracy", "none", over="systems")
    with pytest.raises(PrismError, match="not pearson of systems"):
        Task("", "systems", "pearson", "none", over="segments")
    with pytest.raises(PrismError, match="unknown preset 'wmt99'"):
        preset("wmt99")


TEXTS = Texts(
    ("one", "two"),
    {"ref": ("the cat sat here", "a dog ran far away")},
    {"A": ("the cat sat here", "a dog ran far away"), "B": ("the cat", None)},
)
WITH_TEXTS = Judgments(
    "set", "xx-en", ("A", "B"), ("1", "2"), np.array([[1.0, math.nan], [0.0, 1.0]]), texts=TEXTS
)


def test_texts_are_scored_where_there_is_everything() -> None:
    scores = score_texts(make_metric("chrf", Setting("en", "xx")), WITH_TEXTS)
    assert scores.scores[0].tolist() == [100.0, 100.0]
    assert 0 < scores.scores[1, 0] < 100
    assert math.isnan(scores.scores[1, 1])
    judged = score_texts(make_metric("chrf", Setting("en", "xx")), WITH_TEXTS, only_judged=True)
    np.testing.assert_array_equal(np.isnan(judged.scores), [[False, True], [False, True]])


def test_error_rates_are_turned_around_and_bleu_of_systems_is_not_a_mean() -> None:
    ter = score_texts(make_metric("ter", Setting("en", "xx")), WITH_TEXTS)
    assert ter.scores[0, 0] == 0.0
    assert ter.scores[1, 0] == -50.0
    bleu = score_texts(make_metric("bleu", Setting("en", "xx")), WITH_TEXTS)
    assert bleu.system_scores is not None
    assert bleu.system_scores[0] == pytest.approx(100.0)


def test_references_must_be_clear() -> None:
    two = Texts(TEXTS.sources, {"refA": TEXTS.references["ref"], "refB": ("x", "y")}, TEXTS.outputs)
    judgments = Judgments("set", "xx-en", ("A",), ("1", "2"), np.ones((1, 2)), texts=two)
    chrf = make_metric("chrf", Setting("en", "xx"))
    with pytest.raises(PrismError, match="which reference of refA, refB"):
        score_texts(chrf, judgments)
    with pytest.raises(PrismError, match="there is no reference 'refC'"):
        score_texts(chrf, judgments, "refC")
    assert score_texts(chrf, judgments, "refA").scores[0, 0] == 100.0
    with pytest.raises(PrismError, match="has no texts to score"):
        score_texts(chrf, JUDGMENTS)
