"""Processes for work that may have to be stopped: a thread cannot be, but a process can."""

import contextlib
import math
import multiprocessing
import os
import queue
import signal
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from prism_mt._core.errors import PrismError

_Result = TypeVar("_Result")
_MOMENT = 0.02
"""Seconds between checks whether anybody still waits."""
_MEMORY = 1 << 29
"""Maximum memory of a process in bytes, if the system can enforce it."""
_SLACK = 10.0
"""How many times longer work may take than it computes: on a busy machine it waits for the processor."""
_INTERRUPT: signal.Signals | None = getattr(signal, "SIGUSR1", None)
_GRACE = 2.0
"""Seconds in which interrupted work may end before its process is killed: starting a new one takes longer."""


class Stopped(Exception):
    """Nobody waits for the result any more."""


class TooLong(PrismError):
    """The work was stopped because it did not finish in time."""


class Workers:
    """A number of processes, started when needed, each doing one thing at a time."""

    def __init__(self, count: int) -> None:
        self._open = True
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(count):
            self._idle.put(None)  # a process that has not been started

    def run(
        self,
        function: Callable[..., _Result],
        *arguments: Any,
        seconds: float,
        stopped: Callable[[], bool],
        memory: int = _MEMORY,
    ) -> _Result:
        """Call a module-level function in a process, for at most this many seconds and until `stopped` returns True.

        Waiting for a process to become free and to start does not count, nor, where the system tells it, does waiting
        for the processor, within bounds.
        """
        worker = self._take(stopped)
        kept = False
        try:
            worker.send(function, arguments, memory)
            self._wait(worker, math.inf, stopped)
            worker.answer()  # it has started and finished its imports
            try:
                self._wait(worker, seconds, stopped)
            except (Stopped, TooLong):
                kept = self._open and worker.interrupt()
                raise
            answer = worker.answer()
            kept = True
        finally:
            if not kept:
                worker.kill()
            self._idle.put(worker if kept else None)
            if not self._open:
                self.close()
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]

    def close(self) -> None:
        """Stop everything."""
        self._open = False
        with contextlib.suppress(queue.Empty):
            while True:
                if worker := self._idle.get_nowait():
                    worker.kill()

    def _wait(self, worker: "_Worker", seconds: float, stopped: Callable[[], bool]) -> None:
        begun, computed = time.monotonic(), worker.seconds()
        while not worker.has_answer(_MOMENT):
            if stopped() or not self._open:
                raise Stopped
            if worker.seconds() - computed > seconds or time.monotonic() - begun > _SLACK * seconds:
                raise TooLong(f"the work was stopped after {seconds:g} seconds: send shorter texts")

    def _take(self, stopped: Callable[[], bool]) -> "_Worker":
        while self._open and not stopped():
            with contextlib.suppress(queue.Empty):
                if idle := self._idle.get(timeout=_MOMENT):
                    return idle
                try:
                    return _Worker()
                except BaseException:
                    self._idle.put(None)  # or its place would be lost for good
                    raise
        raise Stopped


class _Worker:
    """A process and the pipe to it."""

    def __init__(self) -> None:
        # Forking a process with threads, such as those of the models, can leave locks closed forever.
        context = multiprocessing.get_context("spawn")
        self._pipe, end = context.Pipe()
        self._process = context.Process(target=_work, args=(end,), daemon=True)
        self._process.start()
        end.close()

    def send(self, function: Callable[..., Any], arguments: tuple[Any, ...], memory: int) -> None:
        with contextlib.suppress(OSError):  # a dead process is noticed when its answer is read
            self._pipe.send((function, arguments, memory))

    def seconds(self) -> float:
        """Processor time of the process so far; where the system does not tell, time on the clock."""
        if not sys.platform.startswith("linux") or self._process.pid is None:
            return time.monotonic()
        try:
            return time.clock_gettime((~self._process.pid << 3) | 2)  # as clock_getcpuclockid(3) does
        except OSError:  # it has ended, which is noticed when its answer is read
            return 0.0

    def has_answer(self, seconds: float) -> bool:
        return self._pipe.poll(seconds)

    def answer(self) -> Any:
        try:
            return self._pipe.recv()
        except (EOFError, OSError) as error:
            raise PrismError("the work took too much memory, or failed: send fewer texts") from error

    def interrupt(self) -> bool:
        """Ask the process to give up its work, and return whether it did."""
        if _INTERRUPT is None or self._process.pid is None:
            return False
        with contextlib.suppress(OSError, PrismError):
            os.kill(self._process.pid, _INTERRUPT)
            if self.has_answer(_GRACE):
                self.answer()
                return True
        return False

    def kill(self) -> None:
        self._process.kill()
        self._pipe.close()
        self._process.join()


def _work(pipe: Connection) -> None:
    """Do the work that comes through the pipe until it is closed; errors are answers, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent stops this one
    if _INTERRUPT is not None:
        signal.signal(_INTERRUPT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, OSError):
        while True:
            _limit_memory(_MEMORY)
            function, arguments, memory = pipe.recv()
            _limit_memory(memory)
            answer: Any
            try:
                with _interruptible():
                    pipe.send(None)  # from here on the parent may interrupt
                    answer = function(*arguments)
            except MemoryError:
                answer = PrismError("the work takes too much memory: send fewer texts")
            except Exception as error:
                answer = error
            pipe.send(answer)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let a signal end the work inside; before and after it, the signal is ignored."""
    if _INTERRUPT is None:
        yield
        return

    def give_up(number: int, frame: object) -> None:
        raise Stopped

    signal.signal(_INTERRUPT, give_up)
    try:
        yield
    finally:
        signal.signal(_INTERRUPT, signal.SIG_IGN)


def _limit_memory(size: int) -> None:
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (size, resource.getrlimit(resource.RLIMIT_DATA)[1]))
