import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mt._core.errors import PrismError
from prism_mt.engines.base import OutOfMemory, Pair, Pending, TokenScores
from prism_mt.engines.scheduler import ScoringWork, make_batches, score_pairs


class Echo:
    """An engine whose score of a token says which pair it belongs to, and that remembers what it was given."""

    name, dtype, temperature, parallel = "echo", "float32", 1.0, 3

    def __init__(self, budget: int = 100, capacity: int | None = None, shares_sources: bool = False) -> None:
        self.budget = budget
        self.capacity = capacity
        self.shares_sources = shares_sources
        self.batches: list[list[Pair]] = []

    def submit(self, batch: Sequence[Pair]) -> Pending:
        self.batches.append(list(batch))

        def wait() -> list[TokenScores]:
            if self.capacity is not None and padded(batch) > self.capacity:
                raise OutOfMemory
            return [np.full(len(pair.target) - 1, hash(pair) % 1009, dtype=np.float32) for pair in batch]

        return wait


def padded(batch: Sequence[Pair]) -> int:
    return len(batch) * (max(len(pair.source) for pair in batch) + max(len(pair.target) for pair in batch))


ids = st.lists(st.integers(0, 9), min_size=1, max_size=12).map(tuple)
pairs = st.lists(st.builds(Pair, ids, st.tuples(st.just(2)) | ids.map(lambda x: (2, *x))), max_size=60)


@settings(max_examples=60, deadline=None)
@given(pairs, st.integers(1, 80), st.integers(1, 50), st.booleans())
def test_order_is_kept_and_equal_pairs_are_scored_once(
    items: list[Pair], budget: int, window: int, share: bool
) -> None:
    engine = Echo(budget, shares_sources=share)
    scores = list(score_pairs(engine, iter(items), window=window))
    assert [list(score) for score in scores] == [[hash(p) % 1009] * (len(p.target) - 1) for p in items]
    scored = sum(len(batch) for batch in engine.batches)
    assert scored == sum(len(set(items[start : start + window])) for start in range(0, len(items), window))


@settings(max_examples=60, deadline=None)
@given(pairs, st.integers(1, 200), st.booleans())
def test_batches_partition_the_pairs_within_the_budget(items: list[Pair], budget: int, group: bool) -> None:
    batches = make_batches(ScoringWork(Echo(shares_sources=group)), items, budget)
    assert sorted(index for batch in batches for index in batch) == list(range(len(items)))
    for batch in batches:
        assert len(batch) == 1 or padded([items[index] for index in batch]) <= budget


def test_targets_of_one_source_stay_together() -> None:
    sources = [(i, i + 1, i + 2) for i in range(20)]
    items = [Pair(source, (2, *range(1 + (7 * j) % 5))) for source in sources for j in range(4)]
    random.Random(0).shuffle(items)
    batches = make_batches(ScoringWork(Echo(shares_sources=True)), items, 40)
    order = [items[index].source for batch in batches for index in batch]
    assert len([1 for a, b in itertools.pairwise(order) if a != b]) == len(sources) - 1


def test_out_of_memory_makes_batches_smaller() -> None:
    items = [Pair((i, i), (2, i, i)) for i in range(40)]
    engine = Echo(budget=200, capacity=30)
    scores = list(score_pairs(engine, items))
    assert [score[0] for score in scores] == [hash(pair) % 1009 for pair in items]
    sizes = [padded(batch) for batch in engine.batches]
    assert sizes[0] > 30
    assert sizes[-1] <= 30
    assert sizes[:5] == [200, 100, 100, 50, 50]
    assert sizes[5:] == sorted(sizes[5:], reverse=True)  # no larger one is tried again
    first = len(engine.batches)
    list(score_pairs(engine, items))
    assert padded(engine.batches[first]) == 200  # another run may find more memory


def test_one_pair_that_does_not_fit_is_an_error() -> None:
    engine = Echo(budget=200, capacity=3)
    with pytest.raises(PrismError, match="enough memory for one pair of 2 and 3 tokens"):
        list(score_pairs(engine, [Pair((1, 1), (2, 1, 1))]))


def test_the_input_is_read_a_window_at_a_time() -> None:
    read = 0

    def items() -> object:
        nonlocal read
        for i in range(1000):
            read += 1
            yield Pair((i,), (2, i))

    scores = score_pairs(Echo(), items(), window=10)  # type: ignore[arg-type]
    next(scores)
    assert read == 10
