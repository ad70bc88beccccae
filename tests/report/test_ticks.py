"""Axes have round numbers."""

import pytest

from prism_mt.report.ticks import label, ticks


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (21.99, 47.27, [25.0, 30.0, 35.0, 40.0, 45.0]),
        (-2.977, -1.958, [-2.8, -2.6, -2.4, -2.2, -2.0]),
        (0.001, 0.0034, [0.001, 0.0015, 0.002, 0.0025, 0.003]),
        (5.0, 5.0, [5.0]),
        (-3.0, 12345.0, [0.0, 2500.0, 5000.0, 7500.0, 10000.0]),
    ],
)
def test_round_numbers(low: float, high: float, wanted: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(wanted)
    assert len(ticks(low, high, 3)) <= 3


def test_labels() -> None:
    assert label([25.0, 30.0]) == ["25", "30"]
    assert label([-2.5, 0.0]) == ["−2.5", "0.0"]
    assert label([0.0, 2500.0]) == ["0", "2,500"]
