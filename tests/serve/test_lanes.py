"""Requests take turns, are scored together, and can be given up."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.metrics.base import Languages, Segment, SegmentScore
from prism_mt.metrics.registry import make_metric
from prism_mt.serve import lanes
from prism_mt.serve.lanes import Busy, Job, Lane, Task, next_size, share, together
from prism_mt.serve.workers import Stopped

SEGMENT = Segment("a", ("b",))
Turned = tuple[Sequence[SegmentScore], str]


def task(metric: str) -> Task:
    return Task(make_metric(metric), Languages("en"), 1)


def job(count: int = 1, metric: str = "chrf") -> Job:
    return Job(task(metric), [SEGMENT] * count)


def at_once(task: Task, segments: Sequence[Segment], stopped: Callable[[], bool]) -> Turned:
    return [SegmentScore(0.0)] * len(segments), "made"


def test_requests_of_one_task_are_scored_together() -> None:
    jobs = [job(200), job(300, "bleu"), job(300), job(300)]
    waiting = list(jobs)
    assert together(waiting) == [jobs[0], jobs[2]]  # a third would be too many at once
    assert together(waiting) == [jobs[1]]
    assert together(waiting) == [jobs[3]]
    assert not waiting


def test_who_was_served_least_is_next() -> None:
    long, new = job(600), job(600)
    long.used = 3.0
    assert together([long, new]) == [new]


def test_a_turn_has_a_size() -> None:
    assert [len(part) for part in share([job(600)], 50_000)] == [512]
    assert [len(part) for part in share([job(500), job(500)], 50_000)] == [500, 12]
    long = Segment("a" * 30_000, ("b" * 30_000,))
    assert [len(part) for part in share([Job(task("chrf"), [long, long])], 50_000)] == [1]  # one at least


def test_a_turn_is_as_long_as_the_machine_can_do_in_a_second() -> None:
    assert next_size(50_000, 50_000, 10.0) == 5_000
    assert next_size(5_000, 40_000, 1_000.0) == 500  # never so few that nothing is done together
    assert next_size(5_000, 4_000, 0.2) == 10_000
    assert next_size(5_000, 100, 0.2) == 5_000  # a small request says nothing about large ones
    assert next_size(50_000, 50_000, 0.2) == 50_000


def test_turns_get_shorter_where_they_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "TURN", 0.05)
    sizes = []

    def turn(task: Task, segments: Sequence[Segment], stopped: Callable[[], bool]) -> Turned:
        sizes.append(len(segments))
        time.sleep(0.05 * len(segments))
        return [SegmentScore(0.0)] * len(segments), "made"

    lane = Lane(turn, threads=1)
    heavy = Job(task("chrf"), [Segment("a" * 250, ("b" * 250,))] * 10)
    lane.submit(heavy)
    assert len(heavy.answer.result(60).scores) == 10
    assert sizes == [4, *[1] * 6]
    lane.close()


def test_a_long_request_is_done_in_turns() -> None:
    sizes = []

    def turn(task: Task, segments: Sequence[Segment], stopped: Callable[[], bool]) -> Turned:
        sizes.append(len(segments))
        return [SegmentScore(float(len(sizes)))] * min(300, len(segments)), "made"

    lane = Lane(turn, threads=1)
    long = job(700)
    lane.submit(long)
    assert [score.score for score in long.answer.result(60).scores] == [1.0] * 300 + [2.0] * 300 + [3.0] * 100
    assert sizes == [512, 400, 100]
    lane.close()


def test_cancelled_requests_are_left_out() -> None:
    lane = Lane(at_once, threads=0)
    one, gone = job(), job()
    gone.abandon()
    lane.answer([gone, one])
    assert len(one.answer.result(timeout=1).scores) == 1
    assert gone.answer.cancelled()


def test_a_bad_segment_does_not_spoil_other_requests() -> None:
    def turn(task: Task, segments: Sequence[Segment], stopped: Callable[[], bool]) -> Turned:
        if any(segment.hypothesis == "bad" for segment in segments):
            raise PrismError("bad")
        return at_once(task, segments, stopped)

    good, bad = job(), Job(task("chrf"), [Segment("bad")])
    Lane(turn, threads=0).answer([bad, good])
    assert len(good.answer.result(timeout=1).scores) == 1
    with pytest.raises(PrismError, match="bad"):
        bad.answer.result(timeout=1)


def test_abandoned_while_it_is_scored() -> None:
    def turn(task: Task, segments: Sequence[Segment], stopped: Callable[[], bool]) -> Turned:
        assert not stopped()
        large.abandon()
        assert stopped()
        raise Stopped

    large = job(2000)
    Lane(turn, threads=0).answer([large])
    with pytest.raises(Stopped):
        large.answer.result(timeout=1)


def test_a_long_request_does_not_hold_up_others() -> None:
    go_on = threading.Event()

    def turn(task: Task, segments: Sequence[Segment], stopped: Callable[[], bool]) -> Turned:
        assert task.metric.name != "ter" or go_on.wait(60)
        return at_once(task, segments, stopped)

    lane = Lane(turn)
    slow, *quick = job(1, "ter"), job(), job(), job(1, "bleu")
    for one in (slow, *quick):
        lane.submit(one)
    assert [len(one.answer.result(timeout=60).scores) for one in quick] == [1, 1, 1]
    assert not slow.answer.done()
    go_on.set()
    assert len(slow.answer.result(timeout=60).scores) == 1
    lane.close()


def test_who_waits_for_a_batch_is_told_at_once_that_the_server_stops() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def turn(task: Task, segments: Sequence[Segment], stopped: Callable[[], bool]) -> Turned:
        begun.set()
        go_on.wait(60)
        return at_once(task, segments, stopped)

    lane = Lane(turn, threads=1)
    running, waiting = job(), job()
    lane.submit(running)
    assert begun.wait(60)
    lane.submit(waiting)
    lane.close()
    with pytest.raises(Stopped):
        running.answer.result(0)
    with pytest.raises(CancelledError):
        waiting.answer.result(0)
    with pytest.raises(Busy, match="being stopped"):
        lane.submit(job())
    assert not lane.join(time.monotonic() + 0.05)
    go_on.set()
    assert lane.join(time.monotonic() + 60)


def test_a_queue_has_an_end() -> None:
    lane = Lane(at_once, threads=0)
    jobs = [job() for _ in range(64)]
    for one in jobs:
        lane.submit(one)
    with pytest.raises(Busy, match="try again"):
        lane.submit(job())
    jobs[3].abandon()
    lane.submit(job())
    lane.close()
    assert all(one.abandoned for one in jobs)


def test_short_jobs_share_no_turn_with_others() -> None:
    """A text that takes too long would stop them, twice: together, and then one by one."""
    long = Job(task("ter"), [Segment("a" * 3000, ("b" * 3000,))])
    large = Job(task("ter"), [Segment("a" * 300, ("b" * 300,))] * 100)
    first, second = job(3, "ter"), job(3, "ter")
    waiting = [long, large, first, second]
    assert together(waiting) == [first, second]  # before those that came earlier
    assert together(waiting) == [long]
    assert together(waiting) == [large]


def test_a_job_that_turns_out_long_is_no_longer_short() -> None:
    found = job()
    assert found.is_short
    found.used = 1.5
    assert not found.is_short


def test_long_jobs_leave_a_thread_for_short_ones() -> None:
    go_on = threading.Event()

    def turn(task: Task, segments: Sequence[Segment], stopped: Callable[[], bool]) -> Turned:
        assert len(segments[0].hypothesis) == 1 or go_on.wait(60)
        return at_once(task, segments, stopped)

    lane = Lane(turn, threads=2, reserved=1)
    slow = [Job(task("ter"), [Segment("a" * 3000, ("b",))]) for _ in range(3)]
    for one in slow:
        lane.submit(one)
    quick = job(1, "ter")
    lane.submit(quick)
    assert len(quick.answer.result(timeout=60).scores) == 1
    assert not any(one.answer.done() for one in slow)
    go_on.set()
    assert [len(one.answer.result(timeout=60).scores) for one in slow] == [1, 1, 1]
    lane.close()


def test_who_was_not_served_is_not_charged() -> None:
    """A turn may be full before it comes to the last of those who share it."""
    jobs = [Job(task("chrf"), [Segment("a" * 900, ("b",))] * 3) for _ in range(2)]
    Lane(at_once, threads=0).answer(jobs)
    assert [len(one.scores) for one in jobs] == [2, 0]
    assert jobs[0].used > 0
    assert jobs[1].used == 0
