"""Threads that score for all requests, and group concurrent requests into batches."""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from itertools import chain

from prism_mt._core.errors import PrismError
from prism_mt.metrics.base import Languages, Metric, Scorer, Segment, SegmentScore
from prism_mt.metrics.runtime import Runtime

_TOGETHER = 512
"""Segments scored in one go; more would let a small request wait for long."""
_STEP = 8
"""The same for metrics without a model, which score one after the other and can be slow with each."""
_THREADS = 2
"""While the model works for one thread, the other prepares what comes next, so that the model never waits."""
_MOMENT = 0.01
"""Seconds in which more requests may join; nothing waits when the model is idle."""
_SCORERS = 64
"""Scorers kept for the next request; languages come from outside, so their number must have a bound."""


@dataclass(frozen=True)
class Task:
    """What is asked for; requests with the same task are scored together."""

    metric: Metric
    languages: Languages
    references: int
    tokens: bool = False
    """Whether pieces are wanted, too; they cost time."""


@dataclass(frozen=True)
class Answer:
    """Scores of all segments of a request, the metric that made them, and its signature."""

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

    def abandon(self) -> None:
        """Nobody waits for the answer: it is left out, or given up at the next opportunity."""
        self.abandoned = True
        self.answer.cancel()


class ScoringThreads:
    """Scores in threads of its own; `close` ends them."""

    def __init__(self, runtime: Runtime, models: Sequence[str]) -> None:
        self._runtime, self._models = runtime, models
        self._scorers: dict[tuple[Metric, Languages], Scorer] = {}
        self._opening = threading.Lock()
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._busy = 0
        self._open = True
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(_THREADS)]
        for thread in self._threads:
            thread.start()

    def submit(self, task: Task, segments: Sequence[Segment]) -> Job:
        """Queue segments."""
        job = Job(task, segments)
        with self._changed:
            self._waiting.append(job)
            self._changed.notify_all()
        return job

    def close(self) -> None:
        """Finish what is queued, and end the threads."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while jobs := self._next():
            self.answer(jobs)
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()

    def _next(self) -> list[Job]:
        """Jobs to score together; none when there will be no more."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._waiting or not self._open)
                self._changed.wait_for(self._is_urgent, _MOMENT)
                if self._waiting:
                    self._busy += 1
                    return together(self._waiting)
                if not self._open:
                    return []

    def _is_urgent(self) -> bool:
        """Whether the model has nothing to do, or there is enough to be scored in one go."""
        return not self._busy or not self._open or sum(len(job.segments) for job in self._waiting) >= _TOGETHER

    def answer(self, jobs: list[Job]) -> None:
        """Score jobs of one task; where that fails, each on its own."""
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
        task = jobs[0].task
        scorer = self._open_scorer(task)
        segments = list(chain.from_iterable(job.segments for job in jobs))
        scores: list[SegmentScore] = []
        step = _TOGETHER if task.metric.models else _STEP
        for start in range(0, len(segments), step):
            if all(job.abandoned for job in jobs):
                raise CancelledError
            scores += scorer.score(segments[start : start + step], task.tokens)
        signature = scorer.signature(max(1, task.references))
        for job in jobs:
            own, scores = scores[: len(job.segments)], scores[len(job.segments) :]
            job.answer.set_result(Answer(task.metric, signature, own))

    def _open_scorer(self, task: Task) -> Scorer:
        for model in task.metric.models:
            if model not in self._models:
                raise PrismError(f"no model {model!r} is served, only {', '.join(self._models)}")
        key = (task.metric, task.languages)
        with self._opening:
            if key not in self._scorers:
                if len(self._scorers) >= _SCORERS:
                    self._scorers.clear()
                self._scorers[key] = task.metric.open(self._runtime, task.languages)
            return self._scorers[key]


def together(waiting: "deque[Job]") -> list[Job]:
    """The first job and others that want the same, up to a number of segments; the rest keeps its order."""
    first = waiting.popleft()
    chosen, left, count = [first], [], len(first.segments)
    for job in waiting:
        if job.task == first.task and count + len(job.segments) <= _TOGETHER:
            chosen.append(job)
            count += len(job.segments)
        else:
            left.append(job)
    waiting.clear()
    waiting.extend(left)
    return chosen
