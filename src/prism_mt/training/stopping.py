"""What ends a run before its time: a signal, or minutes that are over."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from prism_mt.training.distributed import World


class Stop:
    """Whether the processes of a run have to stop, and why."""

    out_of_time = False
    """Whether the minutes, and not a signal, stopped the run."""

    def __init__(self, minutes: float) -> None:
        """The minutes begin now; 0 is no limit."""
        self._deadline = time.monotonic() + (minutes * 60 or float("inf"))
        self._received = False

    def needed(self, world: World) -> bool:
        """Signals and clocks differ between processes, but all must stop after the same step, for the same reason."""
        signals, late = world.sums([float(self._received), float(time.monotonic() >= self._deadline)])
        self.out_of_time = late > 0 and not signals
        return signals + late > 0

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """Inside, a first SIGTERM or SIGINT is only noted, so that a step can end; a second one ends the process."""
        if threading.current_thread() is not threading.main_thread():  # which alone may receive signals
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
