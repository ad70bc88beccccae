"""Processes whose work can be stopped."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.serve.workers import Stopped, TooLong, Workers


def test_work_and_its_errors() -> None:
    workers = Workers(1)
    assert workers.run(divmod, 7, 3, seconds=60, stopped=lambda: False) == (2, 1)
    process = workers.run(os.getpid, seconds=60, stopped=lambda: False)
    with pytest.raises(ZeroDivisionError):
        workers.run(divmod, 1, 0, seconds=60, stopped=lambda: False)
    with pytest.raises(PrismError, match="too much memory: send fewer texts"):
        workers.run(bytearray, 4 << 30, seconds=60, stopped=lambda: False)
    small = 100 << 20
    with pytest.raises(PrismError, match="too much memory: send fewer texts"):
        workers.run(bytearray, small, seconds=60, stopped=lambda: False, memory=small)
    assert len(workers.run(bytearray, small, seconds=60, stopped=lambda: False)) == small
    assert workers.run(os.getpid, seconds=60, stopped=lambda: False) == process != os.getpid()
    with pytest.raises(TooLong, match="stopped after 0.1 seconds"):
        workers.run(time.sleep, 60, seconds=0.1, stopped=lambda: False)
    with pytest.raises(Stopped):
        workers.run(time.sleep, 60, seconds=60, stopped=iter([False, False, True]).__next__)
    with pytest.raises(PrismError, match="too much memory, or failed"):
        workers.run(signal.raise_signal, signal.SIGKILL, seconds=60, stopped=lambda: False)
    assert workers.run(os.getpid, seconds=60, stopped=lambda: False) != process
    workers.close()
    with pytest.raises(Stopped):
        workers.run(os.getpid, seconds=60, stopped=lambda: False)


def begin(path: Path) -> None:
    """Work that tells when it has begun."""
    path.touch()
    time.sleep(600)


def test_interrupted_work_leaves_its_process_for_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting a process anew for every client that leaves would keep all others waiting."""
    monkeypatch.setattr("prism_mt.serve.workers._GRACE", 60.0)  # on a busy machine a process may be slow to notice
    workers = Workers(1)
    process = workers.run(os.getpid, seconds=60, stopped=lambda: False)
    for number in range(3):
        with pytest.raises(TooLong):
            workers.run(time.sleep, 600, seconds=0.05, stopped=lambda: False)
        begun = tmp_path / str(number)
        with pytest.raises(Stopped):
            workers.run(begin, begun, seconds=60, stopped=begun.exists)
    assert workers.run(os.getpid, seconds=60, stopped=lambda: False) == process
    workers.close()


def test_a_process_that_cannot_be_started_does_not_take_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    workers = Workers(1)
    with monkeypatch.context() as full, pytest.raises(BlockingIOError):
        full.setattr("prism_mt.serve.workers._Worker", fail)
        workers.run(divmod, 7, 3, seconds=60, stopped=lambda: False)
    deadline = time.monotonic() + 60
    assert workers.run(divmod, 7, 3, seconds=60, stopped=lambda: time.monotonic() > deadline) == (2, 1)
    workers.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere all time counts")
def test_only_the_time_of_the_processor_counts() -> None:
    """On a busy machine a process may wait for seconds: a request that is no work must not be refused then."""
    workers = Workers(1)
    workers.run(time.sleep, 0.5, seconds=0.1, stopped=lambda: False)
    with pytest.raises(TooLong, match="stopped after 0.1 seconds"):
        workers.run(exec, "while True: pass", seconds=0.1, stopped=lambda: False)
    workers.close()


def stubborn() -> None:
    """Work that no signal interrupts."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    time.sleep(60)


def test_work_that_cannot_be_interrupted_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prism_mt.serve.workers._GRACE", 0.1)
    workers = Workers(1)
    process = workers.run(os.getpid, seconds=60, stopped=lambda: False)
    with pytest.raises(TooLong):
        workers.run(stubborn, seconds=0.5, stopped=lambda: False)
    assert workers.run(os.getpid, seconds=60, stopped=lambda: False) != process
    workers.close()
