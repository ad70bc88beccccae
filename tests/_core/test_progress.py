"""Progress that moves before the first result is there."""

import io
import os
import subprocess
import sys
from pathlib import Path

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


_PRINTS = """
from prism_mt._core.progress import counter
with counter("working", 1) as advance:
    print("word " * 40 + "[bold]")
    advance()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("into_file", [True, False])
def test_what_is_printed_meanwhile_is_not_lost_or_broken(tmp_path: Path, into_file: bool) -> None:
    import pty

    leader, follower = pty.openpty()
    path = tmp_path / "out.txt"
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}
    with path.open("wb") as handle:
        subprocess.run(
            [sys.executable, "-c", _PRINTS],
            stdout=handle if into_file else follower,
            stderr=follower,
            env=environment,
            check=True,
        )
    os.close(follower)
    shown = os.read(leader, 100_000).decode()
    os.close(leader)
    assert "working" in shown
    line = "word " * 40 + "[bold]"
    assert (path.read_text(encoding="utf-8") if into_file else shown).count(line) == 1
    assert (line in shown) is not into_file
