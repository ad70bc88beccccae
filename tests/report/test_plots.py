"""Figures of systems."""

from pathlib import Path
from typing import Any

import pytest
from made_page import make_page

from prism_mt.report.plots import plot_comparison

pytest.importorskip("matplotlib")


def test_systems_from_best_to_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    monkeypatch.setattr("prism_mt.report.plots.save_figure", lambda figure, path: found.append(figure))
    page = make_page(["A", "B", "C_$x"])
    plot_comparison(page.comparisons, Path("unused.pdf"))
    assert "95 % intervals" in found[0].get_suptitle()
    first, second = found[0].axes
    assert [label.get_text() for label in first.get_yticklabels()] == [r"C_\$x", "B", "A"]  # from below
    assert first.get_xlabel() == "prism-ref"
    assert second.get_xlabel().endswith("(lower is better)")
