import math
from dataclasses import replace

import numpy as np
import pytest
from judging import judged, scored

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.disagreements import disagreements, percentiles
from prism_mt.evaluation.judgments import Texts
from prism_mt.evaluation.protocols import get_protocol
from prism_mt.evaluation.sweep import combine, find_metric, simplex, sweep
from prism_mt.metrics.scores import MetricScores

RNG = np.random.default_rng(0)
TRUTH, NOISE = RNG.normal(size=(2, 5, 30))
SYSTEMS, SEGMENTS = tuple("ABCDE"), tuple(map(str, range(30)))
MQM = get_protocol("wmt21-mqm")
JUDGMENTS = judged("set", "en-de", SYSTEMS, SEGMENTS, TRUTH)


def metric(name: str, scores: np.ndarray) -> MetricScores:
    return scored(name, SYSTEMS, SEGMENTS, scores)


# The noise of one is taken away by the other: half and half is perfect.
PLUS, MINUS = metric("plus", TRUTH + NOISE), metric("minus", TRUTH - NOISE)


def test_simplex() -> None:
    assert list(simplex(2, 2)) == [(0, 1), (0.5, 0.5), (1, 0)]
    assert len(list(simplex(3, 4))) == 15
    assert all(sum(weights) == pytest.approx(1) for weights in simplex(3, 7))


def test_sweep_finds_the_combination_on_dev_and_reports_it_on_test() -> None:
    data = [(JUDGMENTS, [PLUS, MINUS])]
    found = sweep(("plus", "minus"), data, data, MQM, steps=4, standardize=False)
    assert found.best.weights == (0.5, 0.5)
    assert found.best.dev == found.best.test == pytest.approx(1.0)
    assert math.isnan(sweep(("plus", "minus"), data, [], MQM, steps=2).best.test)


def test_standardizing_makes_weights_independent_of_scales() -> None:
    data = [(JUDGMENTS, [metric("plus", 1000 * PLUS.segments), MINUS])]
    found = sweep(("plus", "minus"), data, [], MQM, steps=4)
    assert found.best.weights == (0.5, 0.5)
    assert found.best.dev > 0.9
    plain = sweep(("plus", "minus"), data, [], MQM, steps=4, standardize=False)
    assert plain.best.dev < 0.9


def test_a_metric_with_weight_zero_does_not_matter() -> None:
    empty = metric("empty", np.full_like(TRUTH, math.nan))
    found = sweep(("plus", "empty"), [(JUDGMENTS, [PLUS, empty])], [], MQM, steps=2)
    assert found.best.weights == (1.0, 0.0)


def test_combine_adds_segments_and_systems() -> None:
    combined = combine(JUDGMENTS, [PLUS, MINUS], [0.25, 0.75])
    np.testing.assert_allclose(combined.segments, TRUTH - 0.5 * NOISE)
    np.testing.assert_allclose(combined.system_scores, (TRUTH - 0.5 * NOISE).mean(axis=1))


def test_mistakes() -> None:
    with pytest.raises(PrismError, match="at least two"):
        sweep(("plus",), [(JUDGMENTS, [PLUS])], [], MQM)
    constant = metric("constant", np.ones_like(TRUTH))
    data = [(JUDGMENTS, [constant, metric("other", np.ones_like(TRUTH))])]
    with pytest.raises(PrismError, match="no combination has a defined result"):
        sweep(("constant", "other"), data, [], MQM, steps=2)


@pytest.mark.parametrize(
    ("name", "expected"), [("chrF", "chrF-refA"), ("chrF++", "chrF++-refA"), ("COMET", "COMET (x)")]
)
def test_metrics_are_found_by_the_beginning_of_their_names(name: str, expected: str) -> None:
    metrics = [metric(full, TRUTH + index) for index, full in enumerate(["chrF-refA", "chrF++-refA", "COMET (x)"])]
    found = find_metric(metrics, name)
    assert found.metric == name
    assert found.segments is next(metric for metric in metrics if metric.metric == expected).segments


def test_ambiguous_and_unknown_names() -> None:
    metrics = [metric("chrF-refA", TRUTH), metric("chrF-refB", TRUTH)]
    with pytest.raises(PrismError, match="'chrF' is the start of several metric names: chrF-refA, chrF-refB"):
        find_metric(metrics, "chrF")
    with pytest.raises(PrismError, match="'BLEU' is not among the metrics"):
        find_metric(metrics, "BLEU")


def test_percentiles_share_the_middle_of_ties() -> None:
    values = np.array([[1.0, 5.0], [5.0, math.nan]])
    np.testing.assert_allclose(percentiles(values, ~np.isnan(values)), [100 / 6, 200 / 3, 200 / 3])


def test_disagreements_come_from_different_segments_with_their_texts() -> None:
    human = np.array([[9.0, 1.0, 5.0], [8.0, 2.0, 5.0]])
    scores = np.array([[0.1, 0.9, 0.5], [0.2, 0.8, 0.5]])
    texts = Texts(
        ("s1", "s2", "s3"), {"ref": ("r1", "r2", "r3")}, {"A": ("a1", "a2", "a3"), "B": ("b1", "b2", "b3")}
    )
    judgments = judged("t", "en-de", ("A", "B"), ("1", "2", "3"), human, texts=texts)
    metrics = [
        scored("m", ("A", "B"), ("1", "2", "3"), scores),
        scored("n", ("A", "B"), ("1", "2", "3"), human),
    ]
    found = disagreements(judgments, metrics, count=2, reference="ref")
    (people,) = found.people_higher
    assert (people.segment, people.system, people.output, people.reference) == ("1", "A", "a1", "r1")
    assert people.human == people.metrics["n"] == pytest.approx(100 * 5.5 / 6)
    assert people.metrics["m"] == pytest.approx(100 * 0.5 / 6)
    (machine,) = found.metric_higher
    assert (machine.segment, machine.system, machine.source) == ("2", "A", "s2")
    assert machine.gap < 0


def test_disagreements_need_a_known_reference_and_a_number_but_no_outputs() -> None:
    judgments = replace(JUDGMENTS, texts=Texts(("s",) * 30, {"ref": ("r",) * 30}, {}))
    with pytest.raises(PrismError, match="no reference 'refB'; it has ref"):
        disagreements(judgments, [MINUS], reference="refB")
    with pytest.raises(PrismError, match="at least 1, not 0"):
        disagreements(judgments, [MINUS], count=0)
    first = disagreements(judgments, [MINUS], reference="ref").people_higher[0]
    assert (first.output, first.reference) == (None, "r")


def test_disagreements_without_anything_in_common_are_empty() -> None:
    nothing = scored("m", ("Z",), ("1",), np.ones((1, 1)))
    found = disagreements(JUDGMENTS, [nothing])
    assert found.people_higher == found.metric_higher == ()
