"""Score all requests, with models in threads and without in processes, which can be stopped."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache

from prism_mt._core.errors import PrismError
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import Languages, Metric, Scorer, Segment, SegmentScore
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.spans.scorer import check_errors, open_scorer
from prism_mt.serve.lanes import THREADS, TURN, Job, Lane, Task
from prism_mt.serve.workers import TooLong, Workers
from prism_mt.text.languages import find_language

_SEGMENT = 5.0
"""Maximum of seconds for one segment of metrics without a model."""
_SCORERS = 64
"""Scorers kept for the next request; languages come from outside, so their number must be bounded."""
_MEMORY = 128 << 20
"""Bytes for metrics without a model, which need them only for texts that take too long anyway."""
_PATIENCE = 1.0
"""Seconds to wait at shutdown for a batch that a model is working on."""


class ScoringThreads:
    """A lane for metrics with a model, and one for the others, which run in processes; `close` stops both."""

    def __init__(self, runtime: Runtime, models: Sequence[str], workers: Workers | None = None) -> None:
        self._runtime, self._models = runtime, models
        self._scorers: dict[tuple[Metric, Languages, bool, bool], Scorer] = {}
        self._opening = threading.Lock()
        self._deadline = 0.0
        self.workers = workers or Workers(THREADS)
        self.reporters = Workers(1)
        """For reports, which may take minutes and must not take the place of scores."""
        self._with_model, self._without = Lane(self.score_here), Lane(self._score_elsewhere, reserved=1)

    def submit(self, task: Task, segments: Sequence[Segment]) -> Job:
        """Queue segments."""
        job = Job(task, segments)
        (self._with_model if task.metric.models else self._without).submit(job)
        return job

    def languages(self, model: str) -> dict[str, str]:
        """Return the languages of a model: its codes, and their names in English."""
        known = {code: find_language(code) for code in self._runtime.model(model).spec.languages}
        return {code: one.name if one else code for code, one in known.items()}

    def close(self) -> bool:
        """Abandon all requests, stop threads and processes, and return whether all have ended.

        A batch cannot be stopped, and is not waited for long: only the first call waits at all.
        """
        lanes = (self._without, self._with_model)
        self._deadline = self._deadline or time.monotonic() + _PATIENCE
        self.workers.close()
        self.reporters.close()
        for lane in lanes:
            lane.close()
        ended = [lane.join(self._deadline) for lane in lanes]
        return all(ended)

    def score_here(
        self, task: Task, segments: Sequence[Segment], _: Callable[[], bool]
    ) -> tuple[list[SegmentScore], str]:
        """Score with a model in this process; a batch cannot be stopped, but ends soon."""
        scorer = self._open_scorer(task)
        return list(scorer.score(segments, task.tokens)), scorer.signature(max(1, task.references))

    def _score_elsewhere(
        self, task: Task, segments: Sequence[Segment], stopped: Callable[[], bool]
    ) -> tuple[list[SegmentScore], str]:
        """Score in a process, which is stopped if a segment takes too long."""
        try:
            return self.workers.run(
                score_some,
                task,
                segments,
                self._runtime.config,
                seconds=TURN + _SEGMENT,
                stopped=stopped,
                memory=_MEMORY,
            )
        except TooLong as error:
            raise TooLong(
                f"{task.metric.name} takes more than {_SEGMENT:g} seconds for one of the texts: send shorter ones"
            ) from error

    def _open_scorer(self, task: Task) -> Scorer:
        for model in task.metric.models:
            if model not in self._models:
                raise PrismError(f"no model {model!r} is served, only {', '.join(self._models)}")
        if task.spans or task.error_free:
            check_errors([task.metric])
        key = (task.metric, task.languages, task.spans, task.error_free)
        with self._opening:
            if key not in self._scorers:
                if len(self._scorers) >= _SCORERS:
                    self._scorers.clear()
                self._scorers[key] = open_scorer(
                    task.metric, self._runtime, task.languages, task.spans, task.error_free
                )
            return self._scorers[key]


def score_some(task: Task, segments: Sequence[Segment], config: EngineConfig) -> tuple[list[SegmentScore], str]:
    """Score segments until the turn is over, at least the first."""
    scorer = _open(task.metric, task.languages, config)
    end = time.monotonic() + TURN
    scores = []
    for score in scorer.score(segments, task.tokens):
        scores.append(score)
        if time.monotonic() > end:
            break
    return scores, scorer.signature(max(1, task.references))


@lru_cache(_SCORERS)
def _open(metric: Metric, languages: Languages, config: EngineConfig) -> Scorer:
    return metric.open(Runtime(config), languages)
