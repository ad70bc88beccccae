"""Progress that moves before the first result is there."""

import io
import sys

import pytest

from prism_mt._core.progress import computed, counter, track


class Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self) -> bool:
        """Pretend."""
        return True


def test_computed_items_show_before_results_come_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with counter("scoring", 10):
        computed(1024)
        computed(512)
    assert "scoring" in terminal.getvalue()
    assert "1,536 computed" in terminal.getvalue()
    assert "0/10" in terminal.getvalue()
    # Nobody listens any more.
    computed(1)


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track("abc", "scoring", 3)) == ["a", "b", "c"]
    computed(3)
    assert capsys.readouterr() == ("", "")
