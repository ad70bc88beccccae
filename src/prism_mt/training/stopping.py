"""Signals that ask a run to end."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


class StopRequest:
    """Whether this process was asked to stop."""

    received = False

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """Inside, SIGTERM and SIGINT are only noted, so that a step can end; a second one ends the process at once."""
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

        def note(number: int, _: FrameType | None) -> None:
            self.received = True
            signal.signal(number, before[signal.Signals(number)])

        for number in before:
            signal.signal(number, note)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
