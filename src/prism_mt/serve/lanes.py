"""Queues of requests: concurrent ones are grouped into batches, long ones take turns, and all can be given up."""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from prism_mt._core.errors import PrismError
from prism_mt.metrics.base import Languages, Metric, Segment, SegmentScore
from prism_mt.serve.workers import Stopped

_TOGETHER = 512
"""Segments scored at a time; more would make a small request wait long."""
_CHARACTERS, _FEWEST = 50_000, 500
"""The same for their length in characters, on a fast machine and on the slowest."""
THREADS = 2
"""While the model works for one thread, the other prepares the next batch, so that the model never waits."""
_MOMENT = 0.01
"""Seconds in which more requests may join; nothing waits while the model is idle."""
_QUEUE = 64
"""Maximum number of waiting requests."""
TURN = 1.0
"""Seconds per turn."""
_SHORT, _SMALL = 1_000, 20_000
"""Characters of the longest segment, and of all, in a job that is surely done within a turn, whatever the metric."""


@dataclass(frozen=True)
class Task:
    """What is requested; requests with the same task are scored together."""

    metric: Metric
    languages: Languages
    references: int
    tokens: bool = False
    """Whether pieces are requested, too; they cost time."""
    spans: bool = False
    error_free: bool = False


@dataclass(frozen=True)
class Answer:
    """Scores of all segments of a request, the metric, and its signature."""

    metric: Metric
    signature: str
    scores: list[SegmentScore]


@dataclass(eq=False)
class Job:
    """A request in the queue."""

    task: Task
    segments: Sequence[Segment]
    answer: "Future[Answer]" = field(default_factory=Future)
    abandoned: bool = False
    scores: list[SegmentScore] = field(default_factory=list)
    """Scores computed so far."""
    used: float = 0.0
    """Seconds of work spent on it."""

    @property
    def left(self) -> Sequence[Segment]:
        """Segments without a score."""
        return self.segments[len(self.scores) :]

    @property
    def count(self) -> int:
        """Number of segments without a score."""
        return len(self.segments) - len(self.scores)

    @property
    def is_short(self) -> bool:
        """Whether it will not take longer than a turn, as far as can be told from its texts and from its past."""
        return self._is_small and self.used < TURN

    @cached_property
    def _is_small(self) -> bool:
        lengths = [_length(segment) for segment in self.segments]
        return max(lengths, default=0) <= _SHORT and sum(lengths) <= _SMALL

    def abandon(self) -> None:
        """Give up the job at the next opportunity: nobody waits for the answer."""
        self.abandoned = True
        self.answer.cancel()

    def end(self, signature: str) -> None:
        """Answer if everything is done."""
        if not self.count:
            with contextlib.suppress(InvalidStateError):  # the server was stopped meanwhile
                self.answer.set_result(Answer(self.task.metric, signature, self.scores))

    def fail(self, error: Exception) -> None:
        """Answer with an error, unless there is an answer."""
        with contextlib.suppress(InvalidStateError):
            self.answer.set_exception(error)


Turn = Callable[[Task, Sequence[Segment], Callable[[], bool]], tuple[Sequence[SegmentScore], str]]
"""Scores some of the segments, at least the first, and returns the signature; may ask whether nobody waits."""


class Busy(PrismError):
    """More requests are waiting than the server can hold."""


class Lane:
    """A queue and the threads that work on it, with requests taking turns.

    Some threads can be reserved for short jobs, so that those with turns that cannot be kept short never hold up all.
    """

    def __init__(self, turn: Turn, threads: int = THREADS, reserved: int = 0) -> None:
        self._turn = turn
        self._waiting: list[Job] = []
        self._changed = threading.Condition()
        self._busy: list[list[Job]] = []
        self._characters = 4 * _FEWEST  # per turn; it grows while turns are short
        self._open = True
        self._threads = [
            threading.Thread(target=self._run, args=(number < reserved,), daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> None:
        """Queue a request."""
        with self._changed:
            if not self._open:
                raise Busy("the server is being stopped")
            self._waiting = [waiting for waiting in self._waiting if not waiting.abandoned]
            if len(self._waiting) >= _QUEUE:
                raise Busy("too many requests are waiting: try again in a minute")
            self._waiting.append(job)
            self._changed.notify_all()

    def close(self) -> None:
        """Abandon everything, and let the threads end."""
        with self._changed:
            self._open = False
            for job in [*self._waiting, *chain(*self._busy)]:
                job.abandon()
                job.fail(Stopped())
            self._waiting.clear()
            self._changed.notify_all()

    def join(self, deadline: float) -> bool:
        """Wait for the threads, but not beyond a point in time, and return whether all have ended."""
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self, reserved: bool) -> None:
        while jobs := self._next(reserved):
            self.answer(jobs)
            with self._changed:
                self._busy.remove(jobs)
                self._waiting += [job for job in jobs if not job.answer.done() and self._open]
                self._changed.notify_all()

    def _next(self, reserved: bool) -> list[Job]:
        """The jobs to score together; none at shutdown."""

        def ready() -> list[Job]:
            return [job for job in self._waiting if job.is_short or not reserved]

        with self._changed:
            while True:
                self._changed.wait_for(lambda: ready() or not self._open)
                self._changed.wait_for(self._is_urgent, _MOMENT)
                if found := ready():
                    chosen = together(found)
                    self._waiting = [job for job in self._waiting if job not in chosen]
                    self._busy.append(chosen)
                    return chosen
                if not self._open:
                    return []

    def _is_urgent(self) -> bool:
        """Whether there is nothing to do, or enough for a full batch."""
        return not self._busy or not self._open or sum(job.count for job in self._waiting) >= _TOGETHER

    def answer(self, jobs: list[Job]) -> None:
        """Give jobs of one task a turn; if that fails, each separately."""
        jobs = [job for job in jobs if not job.answer.done()]
        jobs = [job for job in jobs if job.answer.running() or job.answer.set_running_or_notify_cancel()]
        for gone in [job for job in jobs if job.abandoned]:
            gone.fail(Stopped())
            jobs.remove(gone)
        try:
            self._score(jobs)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].fail(error)
                return
            for job in jobs:  # one bad segment must not spoil the requests of others
                self.answer([job])

    def _score(self, jobs: list[Job]) -> None:
        if not jobs:
            return
        start = time.monotonic()
        parts = share(jobs, self._characters)
        segments = [segment for part in parts for segment in part]
        done, signature = self._turn(jobs[0].task, segments, lambda: all(job.abandoned for job in jobs))
        seconds = time.monotonic() - start
        self._characters = next_size(self._characters, sum(map(_length, segments[: len(done)])), seconds)
        for job, part in zip(jobs, parts, strict=True):
            job.scores += done[: len(part)]
            done = done[len(part) :]
            job.used += seconds if part else 0.0
            job.end(signature)


def together(waiting: list[Job]) -> list[Job]:
    """Take the job with the least work so far, and others with the same task, up to a number of segments.

    So a new request waits for turns of others, but not until they are done. Only short jobs share a turn: a text that
    takes too long ends it for all of them.
    """
    first = min(waiting, key=lambda job: (job.used, not job.is_short))
    chosen, count = [first], first.count
    for job in waiting:
        alike = job.task == first.task and job.is_short and first.is_short
        if job is not first and alike and count + job.count <= _TOGETHER:
            chosen.append(job)
            count += job.count
    waiting[:] = [job for job in waiting if job not in chosen]
    return chosen


def share(jobs: Sequence[Job], most: int) -> list[Sequence[Segment]]:
    """The segments of one turn: from the front of every job, up to a number and a length, but at least one in total."""
    parts: list[Sequence[Segment]] = []
    count = characters = 0
    for job in jobs:
        size = 0
        for segment in job.left:
            if count and (count >= _TOGETHER or characters + _length(segment) > most):
                break
            count, characters, size = count + 1, characters + _length(segment), size + 1
        parts.append(job.left[:size])
    return parts


def _length(segment: Segment) -> int:
    return len(segment.hypothesis) + sum(map(len, segment.references)) + len(segment.source or "")


def next_size(size: int, characters: int, seconds: float) -> int:
    """Adapt the characters per turn to the machine, so that a turn takes about as long as it should.

    A turn that was too long says how many would have fitted; a short one proves more only if it was full.
    """
    if seconds > TURN:
        return max(_FEWEST, min(size, int(characters * TURN / seconds)))
    if seconds < TURN / 2 and characters > size / 2:
        return min(_CHARACTERS, 2 * size)
    return size
