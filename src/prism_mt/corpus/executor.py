"""Map a function over chunks: in this process, on all cores, or on a Ray cluster, with results in order."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any, Protocol, TypeVar

from prism_mt._core.errors import PrismError
from prism_mt.engines.ray import connect

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Maps `function(shared, item)`; `shared` is sent once, and only a bounded number of items is in flight."""

    def map(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield results in the order of the items."""
        ...


class Serial:
    """Runs everything in this process."""

    def map(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield results in the order of the items."""
        for item in items:
            yield function(shared, item)


class Processes:
    """A pool of processes on this machine."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def map(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield results in the order of the items."""
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(self.workers, context, _start_worker, (function, shared))
        pending: deque[Any] = deque()
        try:
            for item in items:
                with _deaf_children():  # the first item starts the workers
                    pending.append(pool.submit(_call, item))
                # Twice the workers: no worker waits, and memory stays bounded.
                if len(pending) >= 2 * self.workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool as error:
            raise PrismError(
                "a worker process died, possibly out of memory: "
                "run again with fewer `workers=`; finished work is kept"
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes started here never hear an interrupt from the keyboard, not even before they can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Ray:
    """Tasks on a Ray cluster. The output directory must be on a file system that all its machines share."""

    def __init__(self, address: str) -> None:
        self._ray = connect(address)
        self._in_flight = 2 * max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def map(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield results in the order of the items."""
        task, common = self._ray.remote(function), self._ray.put(shared)
        pending: deque[Any] = deque()
        for item in items:
            pending.append(task.remote(common, item))
            if len(pending) >= self._in_flight:
                yield self._get(pending.popleft())
        while pending:
            yield self._get(pending.popleft())

    def _get(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, PrismError):
                raise error.cause from None
            raise


_work: tuple[Callable[[Any, Any], Any], Any] | None = None


def _start_worker(function: Callable[[Any, Any], Any], shared: Any) -> None:
    global _work
    _work = (function, shared)
    # A keyboard interrupt reaches every process; the parent stops the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    """End with the parent: the workers of a killed parent would wait forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _call(item: Any) -> Any:
    assert _work is not None
    function, shared = _work
    return function(shared, item)
