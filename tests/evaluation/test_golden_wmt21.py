"""WMT21 MQM with the published predictions of Prism+FT (Vamvas et al. 2023)."""

import json
import lzma
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from metaeval_data import Read

from prism_mt.evaluation.judge import judge_scores
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.mqm import penalty
from prism_mt.evaluation.protocols import get_protocol
from prism_mt.evaluation.readers.scores import read_scores
from prism_mt.evaluation.sweep import find_metric, sweep
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.accuracy import segment_accuracy
from prism_mt.stats.arrays import Matrix, Vector
from prism_mt.stats.correlation import Correlation
from prism_mt.stats.permutation import permutation_test

PRISM, FINETUNED = "Prism-ref", "Prism-paper_main_checkpoint1.pt"
TAU = Correlation("kendall-b")

# Kendall tau times 100 of Prism and Prism+FT as printed.
TAUS = {
    ("news", "en-de"): ("19.3", "25.3"),
    ("news", "zh-en"): ("28.8", "31.5"),
    ("ted", "en-de"): ("24.2", "26.9"),
    ("ted", "zh-en"): ("19.6", "21.9"),
}
ACCURACY = {
    "en-de": ("51.4", "53.6", "56.0", "58.5", "59.8"),
    "zh-en": ("50.7", "51.9", "54.6", "54.8", "56.9"),
}


def load(read: Read, data: Path, domain: str, pair: str) -> tuple[Judgments, list[MetricScores]]:
    judgments = read(f"wmt21_mqm_{domain}_{pair}.jsonl.xz")[pair].without_humans()
    folder = "tedtalks" if domain == "ted" else domain
    return judgments, predictions(data / f"prismft_predictions_wmt21.{folder}_{pair}.json.xz")


def aligned(judgments: Judgments, metrics: list[MetricScores], name: str) -> Matrix:
    return find_metric(metrics, name).align(judgments.systems, judgments.segments)


@cache
def predictions(path: Path) -> list[MetricScores]:
    return read_scores(path)


@pytest.mark.parametrize(("domain", "pair"), list(TAUS))
def test_published_taus_and_significance(read: Read, data: Path, domain: str, pair: str) -> None:
    judgments, metrics = load(read, data, domain, pair)
    prism, finetuned = (aligned(judgments, metrics, name) for name in (PRISM, FINETUNED))
    found = tuple(f"{100 * TAU(judgments.scores, scores):.1f}" for scores in (prism, finetuned))
    assert found == TAUS[domain, pair]
    result = permutation_test(TAU, judgments.scores, finetuned, prism, np.random.default_rng(1), 1000)
    assert result.p < 0.05


@pytest.mark.parametrize("pair", list(ACCURACY))
def test_accuracy_within_segments(read: Read, data: Path, pair: str) -> None:
    judgments, metrics = load(read, data, "news", pair)
    names = ("SentBLEU", "ChrF", PRISM, FINETUNED, "COMET")
    values = [segment_accuracy(judgments.scores, aligned(judgments, metrics, name)) for name in names]
    assert tuple(f"{100 * value:.1f}" for value in values) == ACCURACY[pair]


def test_table_marks_the_best_and_what_is_not_worse(read: Read, data: Path) -> None:
    judgments, metrics = load(read, data, "news", "en-de")
    chosen = [find_metric(metrics, name) for name in ("SentBLEU", PRISM, FINETUNED, "COMET")]
    evaluation = judge_scores(judgments, chosen)
    assert [result.metric for result in evaluation.results] == ["COMET", FINETUNED, PRISM, "SentBLEU"]
    assert [evaluation.is_top(result) for result in evaluation.results] == [True, True, False, False]
    assert [result.rank for result in evaluation.results] == [1, 1, 2, 3]


def mt_metrics_eval_p_values(scores: Matrix) -> Vector:
    """The p-values of that tool by its formula and in its precision: 1,000 draws, seed 4."""
    rng = np.random.default_rng(4)
    signs = 2 * np.rint(rng.random(size=(1000, scores.shape[1]), dtype=np.float32)) - 1
    single = scores.astype(np.float32)
    sums, totals = signs @ single.T, single.sum(axis=1)
    first, second = np.triu_indices(len(scores), k=1)
    observed = totals[first] - totals[second]
    shares: Vector = np.mean(sums[:, first] - sums[:, second] >= observed, axis=0, dtype=np.float64)
    return shares


@pytest.mark.parametrize(("domain", "pair"), list(TAUS))
def test_soft_accuracy_is_that_of_mt_metrics_eval(read: Read, data: Path, domain: str, pair: str) -> None:
    judgments, metrics = load(read, data, domain, pair)
    chosen = [find_metric(metrics, name) for name in ("SentBLEU", "ChrF", PRISM, FINETUNED, "COMET")]
    protocol = replace(get_protocol("wmt24-sys"), test="none")
    judged = ~np.isnan(judgments.scores).any(axis=0)
    p_human = mt_metrics_eval_p_values(judgments.scores[:, judged])
    for result in judge_scores(judgments, chosen, protocol=protocol).results:
        scores = aligned(judgments, metrics, result.metric)[:, judged]
        expected = 1 - np.abs(p_human - mt_metrics_eval_p_values(scores)).mean()
        # Single precision misses some of people's ties.
        assert result.value == pytest.approx(expected, abs=0.0003), result.metric


def test_wmt20_penalties_are_those_of_the_error_lists(data: Path) -> None:
    with lzma.open(data / "wmt20_mqm_en-de.jsonl.xz", "rt", encoding="utf-8") as lines:
        for _, line in zip(range(300), lines, strict=False):
            for raters in json.loads(line)["mqm"].values():
                for rating in raters.values():
                    cost = sum(penalty(category, severity) for category, severity in rating["errors"])
                    assert -cost == pytest.approx(rating["score"], abs=1e-9)


def test_combination_tuned_on_wmt20_is_tested_on_wmt21(read: Read, data: Path) -> None:
    dev = read("wmt20_mqm_en-de.jsonl.xz")["en-de"].without_humans()
    dev_metrics = predictions(data / "prismft_predictions_wmt20_en-de.json.xz")
    test, test_metrics = load(read, data, "news", "en-de")
    found = sweep(("ChrF", FINETUNED), [(dev, dev_metrics)], [(test, test_metrics)], get_protocol("wmt21-mqm"), 4)
    assert [point.weights for point in found.points] == [(0, 1), (0.25, 0.75), (0.5, 0.5), (0.75, 0.25), (1, 0)]
    assert f"{100 * found.points[0].test:.1f}" == "25.3"
    assert f"{100 * found.points[-1].test:.1f}" == "11.4"
    assert found.best.dev == max(point.dev for point in found.points)
