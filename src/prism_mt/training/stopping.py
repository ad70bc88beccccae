"""Early stops: a signal, or the time limit."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from prism_mt.training.distributed import World


class Stop:
    """Decides whether the processes of a run have to stop, and why."""

    out_of_time = False
    """Whether the time limit, not a signal, stopped the run."""

    def __init__(self, minutes: float) -> None:
        """The clock starts now; 0 means no limit."""
        self._deadline = time.monotonic() + (minutes * 60 or float("inf"))
        self._received = False

    def needed(self, world: World) -> bool:
        """Agree on stopping: signals and clocks differ between processes, but all must stop after the same step."""
        signals, late = world.sums([float(self._received), float(time.monotonic() >= self._deadline)])
        self.out_of_time = late > 0 and not signals
        return signals + late > 0

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """Inside, a first SIGTERM or SIGINT is only recorded, so that the step can finish; a second one kills."""
        if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

        def note(number: int, _: FrameType | None) -> None:
            self._received = True
            signal.signal(number, before[signal.Signals(number)])

        for number in before:
            signal.signal(number, note)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
