"""One thread that scores for all requests, and puts together what goes together."""

import queue
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import chain, islice

from prism_mt.errors import PrismError
from prism_mt.metrics.base import Metric, Segment, SegmentScore
from prism_mt.metrics.catalogue import ModelInUse, Setting, make_metric
from prism_mt.metrics.prism import PrismOptions

_TOGETHER = 512
"""Segments scored in one go; more would let a small request wait for long."""

_METRICS = 64
"""Metrics kept for the next request; wishes come from outside, so their number must have a bound."""


@dataclass(frozen=True)
class Wish:
    """What is asked for; requests with the same wish are scored together."""

    metric: str
    language: str
    source_language: str | None
    model: str
    references: int
    tokens: bool = False
    """Whether pieces are wanted, too; they cost time."""


@dataclass(frozen=True)
class Answer:
    """Scores of all segments of a request, and the metric that made them."""

    metric: Metric
    scores: list[SegmentScore]


@dataclass(eq=False)
class Job:
    """A request in the queue."""

    wish: Wish
    segments: Sequence[Segment]
    answer: "Future[Answer]" = field(default_factory=Future)


class Scorer:
    """Scores in a thread of its own; `close` ends it."""

    def __init__(self, models: dict[str, ModelInUse]) -> None:
        self._models = models
        self._metrics: dict[Wish, Metric] = {}
        self._queue: queue.Queue[Job | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def submit(self, wish: Wish, segments: Sequence[Segment]) -> "Future[Answer]":
        """Queue segments; a cancelled future is left out if its turn has not come."""
        job = Job(wish, segments)
        self._queue.put(job)
        return job.answer

    def close(self) -> None:
        """Finish what is queued, and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        waiting: deque[Job] = deque()
        open_ = True
        while open_ or waiting:
            if not waiting:
                open_ = self._take(waiting, block=True)
            while open_ and not self._queue.empty():
                open_ = self._take(waiting, block=False)
            if waiting:
                self.answer(together(waiting))

    def _take(self, waiting: "deque[Job]", block: bool) -> bool:
        """Move the next job; false when there will be no more."""
        job = self._queue.get(block)
        if job is None:
            return False
        waiting.append(job)
        return True

    def answer(self, jobs: list[Job]) -> None:
        """Score jobs of one wish; where that fails, each on its own."""
        jobs = [job for job in jobs if job.answer.set_running_or_notify_cancel()]
        try:
            self._score(jobs)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].answer.set_exception(error)
                return
            for job in jobs:  # one bad segment must not spoil the requests of others
                try:
                    self._score([job])
                except Exception as own:
                    job.answer.set_exception(own)

    def _score(self, jobs: list[Job]) -> None:
        if not jobs:
            return
        metric = self._metric(jobs[0].wish)
        scores = metric.score(chain.from_iterable(job.segments for job in jobs))
        found = [list(islice(scores, len(job.segments))) for job in jobs]
        for _ in scores:  # lets the metric finish what it does at its end
            pass
        for job, own in zip(jobs, found, strict=True):
            job.answer.set_result(Answer(metric, own))

    def _metric(self, wish: Wish) -> Metric:
        if wish not in self._metrics:
            if wish.model not in self._models:
                raise PrismError(f"no model {wish.model!r} is served, only {', '.join(self._models)}")
            if len(self._metrics) >= _METRICS:
                self._metrics.clear()
            options = PrismOptions(tokens=wish.tokens)
            setting = Setting(wish.language, wish.source_language, self._models[wish.model], options)
            self._metrics[wish] = make_metric(wish.metric, setting)
        return self._metrics[wish]


def together(waiting: "deque[Job]") -> list[Job]:
    """The first job and others that want the same, up to a number of segments; the rest keeps its order."""
    first = waiting.popleft()
    chosen, left, count = [first], [], len(first.segments)
    for job in waiting:
        if job.wish == first.wish and count + len(job.segments) <= _TOGETHER:
            chosen.append(job)
            count += len(job.segments)
        else:
            left.append(job)
    waiting.clear()
    waiting.extend(left)
    return chosen
