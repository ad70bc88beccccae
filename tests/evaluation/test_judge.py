"""Metrics side by side: values, marks, ranks, degenerate input; scoring of texts."""

import logging
import math
from pathlib import Path

import numpy as np
import pytest
from judging import judged, scored

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judge import average, judge_parts, judge_scores, pooled_accuracy
from prism_mt.evaluation.judgments import Preferences
from prism_mt.evaluation.levels import Resampling
from prism_mt.evaluation.protocols import PROTOCOLS, Protocol, StatisticName, Test, get_protocol
from prism_mt.evaluation.readers import read_judgments
from prism_mt.evaluation.readers.scores import read_scores
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.correlation import Correlation

RNG = np.random.default_rng(0)
HUMAN = RNG.normal(size=(6, 40)) + np.arange(6)[:, None]
SYSTEMS, SEGMENTS = tuple("ABCDEF"), tuple(map(str, range(40)))
JUDGMENTS = judged("set", "en-de", SYSTEMS, SEGMENTS, HUMAN)
FEW = Resampling(draws=60)


def metric(name: str, scores: np.ndarray) -> MetricScores:
    return scored(name, SYSTEMS, SEGMENTS, scores)


GOOD = metric("good", HUMAN + 0.5 * RNG.normal(size=HUMAN.shape))
POOR = metric("poor", HUMAN + 9 * RNG.normal(size=HUMAN.shape))
TWIN = metric("twin", 2 * GOOD.segments)


@pytest.mark.parametrize(
    "test", ["perm-both", "perm-segments", "paired-bootstrap", "intervals", "williams", "perm-systems"]
)
def test_best_and_its_equal_are_on_top_and_the_poor_metric_is_not(test: Test) -> None:
    statistic: StatisticName = "pearson" if test == "williams" else "kendall-b"
    protocol = Protocol("mine", "", "segments", statistic, test)
    evaluation = judge_scores(JUDGMENTS, [POOR, TWIN, GOOD], protocol=protocol, resampling=FEW)
    marks = {result.metric: evaluation.is_top(result) for result in evaluation.results}
    assert marks == {"good": True, "twin": True, "poor": False}
    ranks = {result.metric: result.rank for result in evaluation.results}
    assert ranks == {"good": 1, "twin": 1, "poor": 2}


@pytest.mark.parametrize("name", [name for name, protocol in PROTOCOLS.items() if protocol.level != "preferences"])
def test_every_protocol_runs(name: str) -> None:
    evaluation = judge_scores(JUDGMENTS, [POOR, GOOD], protocol=name, resampling=Resampling(draws=20))
    assert [result.metric for result in evaluation.results] == ["good", "poor"]
    assert math.isnan(evaluation.results[0].p)


def test_the_same_seed_gives_the_same_table() -> None:
    first, second = (judge_scores(JUDGMENTS, [POOR, GOOD], resampling=FEW, intervals=True) for _ in range(2))
    assert [(r.p, r.interval) for r in first.results[1:]] == [(r.p, r.interval) for r in second.results[1:]]


def test_pooled_and_within_segments_stand_side_by_side() -> None:
    hard = HUMAN - 5 * np.arange(40)
    judgments = judged("set", "en-de", SYSTEMS, SEGMENTS, hard)
    # This metric only knows which segments are hard.
    knows_segments = metric(
        "hardness", np.broadcast_to(-np.arange(40.0), hard.shape) + 0.001 * RNG.random(hard.shape)
    )
    result = judge_scores(judgments, [knows_segments], protocol="wmt21-mqm", resampling=FEW).results[0]
    assert result.value > 0.8
    assert abs(result.others["tau-b in segments"]) < 0.2
    assert 0.4 < result.others["accuracy in segments"] < 0.6


def test_system_level_without_outliers() -> None:
    human = np.array([0.1, 0.2, 0.3, 0.4, 9.0])
    judgments = judged("set", "en-de", tuple("ABCDE"), (), np.empty((5, 0)), system_scores=human)
    scores = scored("m", tuple("ABCDE"), (), np.empty((5, 0)), np.array([4.0, 3.0, 2.0, 1.0, 99.0]))
    evaluation = judge_scores(judgments, [scores], protocol="wmt19-sys")
    result = evaluation.results[0]
    assert result.value > 0.99
    assert result.others["without outliers"] == pytest.approx(-1.0)
    assert result.others["accuracy"] == pytest.approx(4 / 10)
    assert evaluation.size == "5 systems, 1 of them outliers"
    with pytest.raises(PrismError, match="perm-both needs human segment scores and those of m"):
        judge_scores(
            judgments,
            [scores, metric("n", POOR.segments)],
            protocol=Protocol("mine", "", "systems", "pearson", "perm-both"),
        )


def test_preferences_from_raw_scores_and_from_agreements() -> None:
    raw = judged("set", "en-de", ("A", "B"), ("1", "2"), np.array([[90.0, 10.0], [50.0, 80.0]]))
    scores = scored("m", ("A", "B"), ("1", "2"), np.array([[2.0, 1.0], [1.0, 1.0]]))
    result = judge_scores(raw, [scores], protocol="wmt20-darr", resampling=FEW).results[0]
    # The first pair is right, the second tied.
    assert result.value == 0.0
    known = Preferences(np.array([0, 1]), np.array([0, 1]), np.array([1, 0]), {"bits": np.array([1.0, 1.0])})
    known_pairs = judged("set", "en-de", ("A", "B"), ("1", "2"), np.full((2, 2), math.nan), preferences=known)
    values = {
        r.metric: r.value
        for r in judge_scores(known_pairs, [scores], protocol="wmt17-darr", resampling=FEW).results
    }
    assert values == {"bits": 1.0, "m": 0.5}
    for protocol in ("wmt19-sys", "wmt17-seg", "wmt21-mqm"):
        with pytest.raises(PrismError, match="relative rankings without scores"):
            judge_scores(known_pairs, [scores], protocol=protocol)
    close = judged("set", "en-de", ("A", "B"), ("1",), np.array([[50.0], [60.0]]))
    with pytest.raises(PrismError, match="no two outputs differ by 25 points"):
        judge_scores(close, [scores], protocol="wmt20-darr")


@pytest.mark.parametrize(
    ("human", "scores"),
    [
        (HUMAN, np.ones_like(HUMAN)),
        (np.ones_like(HUMAN), GOOD.segments),
        (HUMAN, np.full_like(HUMAN, math.nan)),
        (np.full_like(HUMAN, math.nan), GOOD.segments),
    ],
    ids=["constant metric", "all ties", "no scores", "no judgments"],
)
@pytest.mark.parametrize("name", ["wmt21-mqm", "wmt17-seg", "wmt19-sys"])
def test_undefined_results_are_missing_never_marked_and_last(
    human: np.ndarray, scores: np.ndarray, name: str
) -> None:
    judgments = judged("set", "en-de", SYSTEMS, SEGMENTS, human)
    evaluation = judge_scores(judgments, [metric("broken", scores), GOOD], protocol=name, resampling=FEW)
    broken = next(result for result in evaluation.results if result.metric == "broken")
    assert math.isnan(broken.value)
    assert not evaluation.is_top(broken)
    if human is HUMAN:
        assert evaluation.results[-1] is broken
        assert evaluation.is_top(evaluation.results[0])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_systems_have_no_williams_test(count: int) -> None:
    judgments = JUDGMENTS.select(SYSTEMS[:count])
    evaluation = judge_scores(judgments, [GOOD, POOR], protocol="wmt19-sys")
    assert all(math.isnan(result.p) for result in evaluation.results)
    assert all(math.isnan(result.value) == (count == 1) for result in evaluation.results)


def test_missing_scores_are_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    holes = GOOD.segments.copy()
    holes[2, :5] = math.nan
    with caplog.at_level(logging.WARNING, logger="prism_mt"):
        evaluation = judge_scores(JUDGMENTS, [metric("holes", holes)], protocol="wmt21-mqm", resampling=FEW)
    assert "holes: 5 judged items without a score are left out" in caplog.text
    known = ~np.isnan(holes)
    expected = Correlation("kendall-b")(HUMAN[known][None], holes[known][None])
    assert evaluation.results[0].value == pytest.approx(expected)


def test_mistakes_in_the_setup() -> None:
    with pytest.raises(PrismError, match="two sets of scores are named good"):
        judge_scores(JUDGMENTS, [GOOD, GOOD], protocol="wmt21-mqm")
    with pytest.raises(PrismError, match="no metric to judge"):
        judge_scores(JUDGMENTS, [], protocol="wmt21-mqm")
    with pytest.raises(PrismError, match="darr is not a statistic of systems"):
        Protocol("mine", "", "systems", "darr", "none")
    with pytest.raises(PrismError, match="williams does not test preferences"):
        Protocol("mine", "", "preferences", "darr", "williams")
    with pytest.raises(PrismError, match="Williams' test compares Pearson"):
        Protocol("mine", "", "segments", "kendall-b", "williams")
    with pytest.raises(PrismError, match="only correlations of segments are averaged over systems, not accuracy"):
        Protocol("mine", "", "segments", "accuracy", "none", over="systems")
    with pytest.raises(PrismError, match="not pearson of systems"):
        Protocol("mine", "", "systems", "pearson", "none", over="segments")
    with pytest.raises(PrismError, match="unknown protocol 'wmt99'"):
        get_protocol("wmt99")


def test_acc_t23_shows_epsilon_and_what_tying_all_pairs_gives() -> None:
    # A metric that says nothing: the best epsilon ties everything, and the accuracy is that baseline.
    ties = np.where(RNG.random(HUMAN.shape) < 0.7, 0.0, -1.0)
    noise = metric("noise", RNG.normal(size=HUMAN.shape))
    judgments = judged("set", "en-de", SYSTEMS, SEGMENTS, ties)
    [result] = judge_scores(judgments, [noise], protocol="wmt23-mqm", resampling=FEW).results
    assert result.calibration is not None
    assert result.value == pytest.approx(result.calibration.all_tied)
    assert result.calibration.epsilon > 1
    [result] = judge_scores(judgments, [noise], resampling=FEW).results
    assert result.calibration is None


def test_error_rates_are_judged_by_their_trait() -> None:
    errors = scored("errors", SYSTEMS, SEGMENTS, -HUMAN, lower_is_better=True)
    for protocol in ("wmt21-mqm", "wmt21-sys", "wmt24-sys", "pdp"):
        [result] = judge_scores(JUDGMENTS, [errors], protocol=protocol, resampling=FEW).results
        assert result.value == pytest.approx(1.0)


def test_pairwise_difference_pearson_by_hand() -> None:
    human, scores = np.array([[1.0, 5.0], [3.0, 2.0]]), np.array([[2.0, 7.0], [3.0, 8.0]])
    judgments = judged("set", "en-de", ("A", "B"), ("1", "2"), human)
    [result] = judge_scores(
        judgments, [scored("m", ("A", "B"), ("1", "2"), scores)], protocol="pdp", resampling=FEW
    ).results
    # Differences of A and B: people -2 and 3, the metric -1 and -1; each counts both ways, so their means are 0.
    assert result.value == pytest.approx((2 - 3) / math.sqrt((4 + 9) * 2))


def test_nothing_is_marked_where_nothing_was_tested() -> None:
    untested = Protocol("mine", "", "segments", "kendall-b", "none")
    evaluation = judge_scores(JUDGMENTS, [GOOD, POOR], protocol=untested)
    assert not any(evaluation.is_top(result) for result in evaluation.results)


def test_systems_are_drawn_where_only_they_were_judged() -> None:
    human = np.arange(8.0)
    names = tuple("ABCDEFGH")
    judgments = judged("set", "en-de", names, (), np.empty((8, 0)), system_scores=human)
    scores = scored("m", names, (), np.empty((8, 0)), human + np.array([1.0, -1, 0, 2, 0, -1, 1, 0]))
    evaluation = judge_scores(
        judgments, [scores], protocol="wmt19-sys", intervals=True, resampling=Resampling(draws=300)
    )
    [result] = evaluation.results
    assert evaluation.resampled == "systems"
    assert result.interval is not None
    assert 0.5 < result.interval.low < result.value < result.interval.high <= 1.0
    two = judge_scores(
        judgments.select("AB"), [scores], protocol="wmt19-sys", intervals=True, resampling=FEW
    ).results[0]
    assert two.interval is not None
    assert math.isnan(two.interval.low)


def test_every_domain_and_document_is_judged_on_its_own_segments() -> None:
    domains = ("news",) * 30 + ("speech",) * 10
    documents = tuple(f"d{index // 20}" for index in range(40))
    judgments = judged(
        "set",
        "en-de",
        SYSTEMS,
        SEGMENTS,
        HUMAN,
        domains=domains,
        documents=documents,
        system_scores=np.arange(6.0),
    )
    news, speech = judge_parts(judgments, [GOOD, POOR], "domains", protocol="wmt21-mqm")
    assert (news.part, speech.part) == ("news", "speech")
    assert news.size == "6 systems, 30 segments, 180 outputs"
    whole = Correlation("kendall-b")
    assert speech.value("good") == pytest.approx(whole(HUMAN[:, 30:], GOOD.segments[:, 30:]))
    assert not any(news.is_top(result) for result in news.results)
    first, second = judge_parts(judgments, [GOOD], "documents", protocol="wmt19-sys")
    assert first.value("good") == pytest.approx(
        Correlation("pearson")(HUMAN[:, :20].mean(axis=1)[:, None], GOOD.segments[:, :20].mean(axis=1)[:, None])
    )
    assert first.value("good") != second.value("good")
    with pytest.raises(PrismError, match="does not say which domains"):
        judge_parts(JUDGMENTS, [GOOD], "domains")


def test_averages_need_every_pair() -> None:
    other = judged("set", "zh-en", SYSTEMS, SEGMENTS, HUMAN)
    evaluations = [
        judge_scores(JUDGMENTS, [GOOD, POOR], resampling=FEW),
        judge_scores(other, [GOOD], resampling=FEW),
    ]
    good, poor = average(evaluations)
    assert good.metric == "good"
    assert good.mean == pytest.approx(evaluations[0].value("good"))
    assert poor.metric == "poor"
    assert math.isnan(poor.mean)


def test_pooled_accuracy_counts_the_pairs_of_all_language_pairs() -> None:
    two = judged("set", "zh-en", ("A", "B"), ("1",), np.array([[1.0], [0.0]]))
    wrong = scored("errors", ("A", "B"), ("1",), np.array([[2.0], [1.0]]), lower_is_better=True)
    right = scored("errors", SYSTEMS, SEGMENTS, -HUMAN, lower_is_better=True)
    [found] = pooled_accuracy([(JUDGMENTS, [right]), (two, [wrong])])
    assert (found.metric, found.pairs) == ("errors", 16)
    assert found.accuracy == pytest.approx(15 / 16)


def test_a_folder_of_mt_metrics_eval_is_judged_whole(tmp_path: Path) -> None:
    files = {
        "sources/en-de.txt": ["one", "two", "three"],
        "references/en-de.refA.txt": ["eins", "zwei", "drei"],
        "references/en-de.refB.txt": ["ein", "zwo", "drei"],
        "documents/en-de.docs": ["news d1", "news d1", "speech d2"],
        "human-scores/en-de.esa.seg.score": [*(f"A {x}" for x in (90, 50, 70)), *(f"B {x}" for x in (90, 80, 60))],
        "metric-scores/en-de/prismRef-refA.seg.score": ["A -1", "A -3", "A -2", "B -1.1", "B -2", "B -1.5"],
        "metric-scores/en-de/prismRef-refB.seg.score": ["A -3", "A -3", "A -2", "B -1", "B -2", "B -1"],
    }
    for name, lines in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    judgments = read_judgments(tmp_path, prefer=get_protocol("wmt25-esa").human_scores)
    scores = read_scores(tmp_path, reference="refA")
    evaluation = judge_scores(judgments, scores, protocol="wmt25-esa", reference="refA", resampling=FEW)
    [result] = evaluation.results
    # People: a tie, B better, A better. The metric's gaps: 0.1 for A, 1 for B, 0.5 for B. Ties up to 0.1 make the
    # first right, and the second is right already; the third is wrong with any epsilon.
    assert (result.metric, evaluation.reference) == ("prismRef", "refA")
    assert result.value == pytest.approx(2 / 3)
    assert result.calibration is not None
    assert result.calibration.epsilon == pytest.approx(0.1)
    assert result.calibration.all_tied == pytest.approx(1 / 3)
    parts = judge_parts(judgments, scores, "domains", protocol="wmt25-esa")
    assert [(part.part, part.value("prismRef")) for part in parts] == [("news", 1.0), ("speech", 0.0)]
