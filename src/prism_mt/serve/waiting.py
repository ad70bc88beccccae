"""Wait for work on behalf of a request, and give it up when nobody waits any more."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

from fastapi import Request

from prism_mt._core.errors import PrismError
from prism_mt.serve.requests import Limits, Refused, plain
from prism_mt.serve.workers import Stopped, TooLong

_Answer = TypeVar("_Answer")


class Awaited(Protocol[_Answer]):
    """Work in progress that has an answer and can be given up."""

    @property
    def answer(self) -> "Future[_Answer]":
        """The answer, once available."""

    def abandon(self) -> None:
        """Give up: nobody waits for it."""


class Work(Generic[_Answer]):
    """A function in its own thread, which calls `stopped` to learn whether anybody waits."""

    def __init__(self, function: Callable[..., _Answer]) -> None:
        self.answer: Future[_Answer] = Future()
        self._abandoned = threading.Event()
        self.answer.set_running_or_notify_cancel()  # so that only the thread completes it
        threading.Thread(target=self._run, args=(function,), daemon=True).start()

    def abandon(self) -> None:
        """Stop at the next opportunity."""
        self._abandoned.set()

    def _run(self, function: Callable[..., _Answer]) -> None:
        try:
            self.answer.set_result(function(stopped=self._abandoned.is_set))
        except Exception as error:
            self.answer.set_exception(error)


async def wait_for(request: Request, jobs: "Sequence[Awaited[_Answer]]", limit: Limits) -> list[_Answer]:
    """Wait for the answers, but neither too long nor for a client that has gone."""
    scores = asyncio.gather(*(asyncio.wrap_future(job.answer) for job in jobs))
    scores.add_done_callback(_take_note)
    gone = asyncio.ensure_future(
        request.receive()
    )  # the body is read: the next message is that the client has left
    try:
        first: set[asyncio.Future[Any]] = {scores, gone}
        await asyncio.wait(first, timeout=limit.seconds, return_when=asyncio.FIRST_COMPLETED)
        if scores.done():
            return _result(scores)
        if gone.done():
            raise Refused(499, "the client has gone")
        raise Refused(503, f"not done within {limit.seconds:g} seconds: send fewer texts, or try again")
    except TooLong as error:
        raise Refused(413, plain(error)) from error
    except PrismError as error:
        raise Refused(422, plain(error)) from error
    except Stopped as error:
        raise Refused(503, "the server is being stopped") from error
    finally:
        gone.cancel()
        scores.cancel()
        for job in jobs:
            job.abandon()


def _result(answers: "asyncio.Future[list[_Answer]]") -> list[_Answer]:
    """Return the answers; one that was cancelled before its turn must not look as if this task had been."""
    try:
        return answers.result()
    except asyncio.CancelledError as error:
        raise Stopped from error


def _take_note(answers: "asyncio.Future[Any]") -> None:
    """Retrieve a result that nobody waited for, about which asyncio would otherwise complain."""
    if not answers.cancelled():
        answers.exception()
