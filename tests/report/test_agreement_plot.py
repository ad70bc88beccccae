"""The figure of metrics and people."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_mt.evaluation.judge import Evaluation, MetricResult
from prism_mt.evaluation.levels import Resampling
from prism_mt.evaluation.protocols import get_protocol
from prism_mt.report.agreement_plot import Scatter, plot_agreement
from prism_mt.stats.resampling import Interval

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def evaluation() -> Evaluation:
    results = (
        MetricResult("best", 0.3, Interval(0.2, 0.35), math.nan, 1, {}),
        MetricResult("worse", -0.1, None, 0.001, 2, {}),
        MetricResult("broken", math.nan, None, math.nan, 2, {}),
    )
    return Evaluation("news en-de", "en-de", "3 systems", get_protocol("wmt21-mqm"), Resampling(), results)


def test_results_are_bars_with_their_numbers(monkeypatch: pytest.MonkeyPatch, evaluation: Evaluation) -> None:
    [panel] = drawn(monkeypatch, (evaluation, [])).axes
    assert [text.get_text() for text in panel.texts] == ["−0.100", "0.300"]
    assert panel.get_xlabel() == "Kendall's τ-b"


def drawn(monkeypatch: pytest.MonkeyPatch, *parts: Any) -> Any:
    """The figure itself instead of its file."""
    found: list[Any] = []
    monkeypatch.setattr("prism_mt.report.agreement_plot.save_figure", lambda figure, path: found.append(figure))
    plot_agreement(parts, Path("unused.pdf"))
    return found[0]


def crowd(count: int) -> Scatter:
    chance = np.random.default_rng(1)
    human = chance.normal(size=count)
    return Scatter("chrf", [f"system-{i}" for i in range(count)], human, human + 0.2 * chance.normal(size=count))


def test_names_cover_neither_points_nor_one_another(monkeypatch: pytest.MonkeyPatch, evaluation: Any) -> None:
    figure = drawn(monkeypatch, (evaluation, [crowd(20)]))
    figure.canvas.draw()
    panel = next(axes for axes in figure.axes if axes.get_ylabel() == "human score")
    boxes = [text.get_window_extent() for text in panel.texts]
    assert len(boxes) > 8  # most have room
    assert not [1 for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]
    dots = panel.transData.transform(panel.collections[0].get_offsets())
    assert not [1 for box in boxes for x, y in dots if box.contains(x, y)]
    named = {text.get_text() for text in panel.texts}
    below = panel.get_xlabel().replace("\n", " ").partition("no room for: ")[2]
    assert {f"system-{i}" for i in range(20)} == {name for name in named if name.startswith("system")} | set(
        below.split(", ") if below else ()
    )


def test_r_and_tau_are_in_the_panel(monkeypatch: pytest.MonkeyPatch, evaluation: Any) -> None:
    scores = Scatter(
        "m$1", ("A", "B", "C", "D"), np.array([1.0, 2.0, 3.0, np.nan]), np.array([0.1, 0.3, 0.2, 9.0])
    )
    figure = drawn(monkeypatch, (evaluation, [scores]))
    panel = next(axes for axes in figure.axes if axes.get_ylabel() == "human score")
    assert panel.texts[0].get_text() == "r = 0.50\nτ = 0.33"
    assert (panel.get_ylabel(), panel.get_xlabel()) == ("human score", r"m\$1")


@pytest.mark.parametrize(
    ("name", "start"), [("f.pdf", b"%PDF"), ("f.svg", b"<?xml"), ("f.eps", b"%!PS"), ("f.png", b"\x89PNG")]
)
def test_formats(tmp_path: Path, evaluation: Any, name: str, start: bytes) -> None:
    plot_agreement([(evaluation, [crowd(3)] * 4), (evaluation, [])], tmp_path / "new" / name)
    assert (tmp_path / "new" / name).read_bytes().startswith(start)
