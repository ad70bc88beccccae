"""The tour in Python runs."""

import importlib.util
from pathlib import Path

import pytest


def test_tour(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("tour", Path(__file__).parents[1] / "examples" / "tour.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.tour(tmp_path)
    shown = capsys.readouterr().out
    assert "By prism-ref:" in shown
    assert (tmp_path / "report.html").stat().st_size > 10_000
