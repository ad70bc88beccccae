import os
import pickle
import signal
from collections.abc import Iterator

import pytest

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.corpus.executor import Executor, Processes, Serial


def multiply(shared: int, item: int) -> int:
    if item == 13:
        raise MissingExtra("the number 13", "luck")
    if item == 14:
        os._exit(1)
    return shared * item


def hears_interrupts(shared: int, item: int) -> bool:
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize("executor", [Serial(), Processes(2)])
def test_results_keep_the_order_and_items_are_read_as_needed(executor: Executor) -> None:
    read = []

    def items() -> Iterator[int]:
        for number in range(12):
            read.append(number)
            yield number

    results = executor.map(multiply, 3, items())
    assert next(results) == 0
    assert len(read) <= 4
    assert list(results) == [3 * number for number in range(1, 12)]


def test_a_mistake_found_by_a_worker_arrives_as_it_was() -> None:
    with pytest.raises(PrismError, match=r"the number 13 needs .*prism-mt\[luck\]"):
        list(Processes(2).map(multiply, 1, [1, 13]))


def test_a_worker_that_dies_is_one_sentence() -> None:
    with pytest.raises(PrismError, match="a worker process died"):
        list(Processes(2).map(multiply, 1, [1, 14, 2]))


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no masks of signals")
def test_workers_are_deaf_to_the_keyboard_from_their_first_moment() -> None:
    """Or Ctrl-C while they start would print the traceback of an import; afterwards they ignore it."""
    assert list(Processes(2).map(hears_interrupts, 0, [1, 2])) == [False, False]
    assert hears_interrupts(0, 0)


def test_missing_extras_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(MissingExtra("x", "lid")))
    assert isinstance(error, PrismError)
    assert "prism-mt[lid]" in str(error)
