"""Scores of models in threads, of others in processes."""

import time

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.metrics.base import Languages, Segment
from prism_mt.metrics.registry import make_metric
from prism_mt.metrics.runtime import Runtime
from prism_mt.serve import scorer as scorer_module
from prism_mt.serve.lanes import Task
from prism_mt.serve.scorer import ScoringThreads
from prism_mt.serve.workers import Stopped, TooLong

SEGMENT = Segment("a", ("b",))


def task(metric: str) -> Task:
    return Task(make_metric(metric), Languages("en"), 1)


def test_unknown_models_are_not_opened() -> None:
    scorer = ScoringThreads(Runtime(), ["made"])
    with pytest.raises(PrismError, match="no model 'none' is served"):
        scorer.submit(task("prism-ref[model=none]"), [SEGMENT]).answer.result(60)
    scorer.close()


def test_processes_score_and_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment for which TER takes minutes is refused, given up with its client, and does not hold up the end."""
    monkeypatch.setattr(scorer_module, "_SEGMENT", 2.0)
    monkeypatch.setattr(scorer_module, "_MEMORY", 1 << 30)  # so that time is what runs out
    scorer = ScoringThreads(Runtime(), [])
    words = [f"w{number}" for number in range(3000)]
    endless = [Segment(" ".join(words), (" ".join(words[::-1]),))]
    first = scorer.submit(task("chrf"), [Segment("a b c", ("a b c",))] * 3).answer.result(60)
    assert [score.score for score in first.scores] == [100.0] * 3
    assert first.signature.startswith("chrf|")
    slow, gone = scorer.submit(task("ter"), endless), scorer.submit(task("ter"), endless * 2)
    while gone.answer.running() is False:
        time.sleep(0.01)
    gone.abandon()
    assert len(scorer.submit(task("chrf"), [SEGMENT]).answer.result(60).scores) == 1
    with pytest.raises(TooLong, match="ter takes more than 2 seconds for one of the texts"):
        slow.answer.result(60)
    with pytest.raises(Stopped):
        gone.answer.result(60)
    left = scorer.submit(task("ter"), endless)
    while left.answer.running() is False:
        time.sleep(0.01)
    scorer.close()
    with pytest.raises(Stopped):
        left.answer.result(60)
