"""Tables and pictures of meta-evaluation."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.bias import Bin, Summary
from prism_mt.evaluation.disagreements import Disagreement, Disagreements
from prism_mt.evaluation.judge import Evaluation, MetricResult
from prism_mt.evaluation.levels import Resampling
from prism_mt.evaluation.protocols import get_protocol
from prism_mt.evaluation.sweep import Sweep, SweepPoint
from prism_mt.report.metaeval import (
    bias_table,
    bins_table,
    disagreement_tables,
    evaluation_table,
    overview_table,
    sweep_table,
)
from prism_mt.report.plots import check_plot_path, plot_bins, plot_sweep
from prism_mt.report.table import as_dict, render
from prism_mt.stats.resampling import Interval

NAN = math.nan


def evaluation(pair: str, *results: MetricResult) -> Evaluation:
    return Evaluation(f"set {pair}", pair, "3 systems", get_protocol("wmt21-mqm"), Resampling(), results)


BEST = MetricResult(
    "m_1", 0.3, Interval(0.2, 0.35), NAN, 1, {"tau-b in segments": 0.1, "accuracy in segments": NAN}
)
CLOSE = MetricResult(
    "close", 0.29, Interval(0.2, 0.35), 0.4, 1, {"tau-b in segments": 0.2, "accuracy in segments": NAN}
)
WORSE = MetricResult("worse", -0.1, None, 0.001, 2, {"tau-b in segments": NAN, "accuracy in segments": NAN})
BROKEN = MetricResult("broken", NAN, None, NAN, 2, {"tau-b in segments": NAN, "accuracy in segments": NAN})


def test_evaluation_table_marks_the_best_and_what_is_not_worse() -> None:
    table = evaluation_table(evaluation("en-de", BEST, CLOSE, WORSE, BROKEN))
    assert [column.title for column in table.columns] == [
        "metric",
        "tau-b",
        "low",
        "high",
        "p",
        "rank",
        "tau-b in segments",
        "accuracy in segments",
    ]
    assert as_dict(table)["columns"] == [
        *("metric", "tau_b", "ci_low", "ci_high", "p_value", "rank"),
        *("tau_b_in_segments", "accuracy_in_segments"),
    ]
    assert table.bold == {(0, 1), (1, 1)}
    assert table.rows[2][:4] == ("worse", -0.1, None, None)
    assert table.caption == "set en-de: 3 systems"
    # A star is a significant difference and nothing else.
    assert "*" not in render(table)
    assert "0.300†" in render(table)
    assert table.notes == (
        "† best, or not significantly worse than the best by PERM-BOTH, p < 0.05, 1000 draws, seed 1; "
        "low and high: 95 % bootstrap intervals, 1000 draws of segments, seed 1",
        "rank: a new one starts with a metric that is significantly worse than one of the rank above",
        "accuracy in segments: undefined here, it needs a segment with two outputs that were judged differently",
    )
    assert all(line.rstrip().endswith("—") for line in render(table).splitlines() if line.startswith("m_1 "))


def test_overview_puts_pairs_side_by_side_best_mean_first() -> None:
    only_here = MetricResult("only here", 0.9, None, NAN, 1, {})
    table = overview_table([evaluation("en-de", CLOSE, WORSE), evaluation("zh-en", WORSE, CLOSE, only_here)])
    assert [row[0] for row in table.rows] == ["close", "worse", "only here"]
    assert table.rows[0][1:] == pytest.approx((0.29, 0.29, 0.29))
    assert math.isnan(table.rows[2][3])  # type: ignore[arg-type]
    assert table.bold == {(0, 1), (0, 2), (2, 2)}


SWEEP = Sweep(
    ("a", "b"),
    (SweepPoint((0.0, 1.0), 0.1, 0.2), SweepPoint((1.0, 0.0), 0.3, 0.1)),
    SweepPoint((1.0, 0.0), 0.3, 0.1),
)


def test_sweep_table_names_the_best_on_dev_and_marks_nothing() -> None:
    table = sweep_table(SWEEP)
    assert table.bold == frozenset()
    assert table.notes[0] == "best on the development set: 1·a, 0.300, 0.100 on the test set"


@pytest.mark.parametrize(
    ("standardized", "note"),
    [(True, "weights of standardized metrics"), (False, "weights of the metrics as they are")],
)
def test_sweep_table_says_whether_metrics_were_standardized(standardized: bool, note: str) -> None:
    assert sweep_table(replace(SWEEP, standardized=standardized)).notes[1] == note


def test_disagreement_tables() -> None:
    item = Disagreement("7", "A", -5.0, 90.0, {"m": 10.0, "n": 50.0}, "source", None, "output")
    higher, lower = disagreement_tables(Disagreements((item,), ()), ["m", "n"], "set en-de")
    assert higher.rows == (("7", "A", -5.0, 90.0, 10.0, 50.0, "source", None, "output"),)
    assert higher.caption == "set en-de: humans higher than m"
    assert lower.rows == ()


BINS = [Bin(0, 50, 3, -2.0), Bin(50, 100, 0, NAN)]


def test_bias_tables() -> None:
    table = bias_table({"x": [Summary("beam", 3, -0.5, 31.9)], "y": [Summary("human", 3, -2.2, 17.1)]})
    assert table.rows == (
        ("H(beam|r0)", -0.5, None),
        ("H(human|r0)", None, -2.2),
        ("BLEU(beam, r0)", 31.9, None),
        ("BLEU(human, r0)", None, 17.1),
    )
    assert bins_table({"x": BINS}).rows[0] == ("0–50", -2.0, 3)


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot_sweep(SWEEP, tmp_path / "sweep.pdf")
    plot_bins({"x": BINS}, tmp_path / "bins.png")
    starts = {"sweep.pdf": b"%PDF", "bins.png": b"\x89PNG"}
    for name, start in starts.items():
        assert (tmp_path / name).read_bytes().startswith(start)


def test_names_of_pictures() -> None:
    with pytest.raises(PrismError, match="must end in .png, .pdf, .svg, .eps"):
        check_plot_path(Path("results.doc"))
    with pytest.raises(PrismError, match="plotted for two metrics"):
        plot_sweep(Sweep(("a", "b", "c"), (), SWEEP.best), Path("x.png"))
