"""One scheduler for all engines: equal pairs once, sorted by length, batches by token budget, order restored.

Pairs are read a window at a time, so memory does not grow with the input.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice

from prism_mt._core.errors import PrismError
from prism_mt.engines.base import Engine, OutOfMemory, Pair, Pending, Remembering, TokenScores

WINDOW = 4096
CLUSTER_WINDOW = 16 * WINDOW
"""Pairs that are sorted together: so many that hundreds of actors seldom wait for the last batch of a window."""


def score_pairs(
    engine: Engine, pairs: Iterable[Pair], budget: int | None = None, window: int = WINDOW
) -> Iterator[TokenScores]:
    """Token log-probabilities of every pair, in the order of the input."""
    scheduler = _Scheduler(engine, budget)
    rest = iter(pairs)
    while chunk := list(islice(rest, window)):
        places: dict[Pair, int] = {}
        order = [places.setdefault(pair, len(places)) for pair in chunk]
        scores = scheduler.run(list(places))
        yield from (scores[place] for place in order)


def make_batches(pairs: Sequence[Pair], budget: int, group_sources: bool = False) -> list[list[int]]:
    """Indices of pairs grouped into batches of similar length whose padded size stays within the budget.

    A pair that is larger than the budget makes a batch of its own. The longest come first, so that memory
    peaks (and runs out) early and the device ends on small work. With `group_sources`, targets of one source
    stay together, at the place of the longest of them.
    """
    longest: dict[tuple[int, ...], int] = {}
    if group_sources:
        for source, target in pairs:
            longest[source] = max(longest.get(source, 0), len(target))

    def size(index: int) -> tuple[int, int, int, Pair]:
        source, target = pairs[index]
        return longest.get(source, len(target)), len(source), 0 if group_sources else len(target), pairs[index]

    longest_first = sorted(range(len(pairs)), key=size, reverse=True)
    batches: list[list[int]] = []
    width = height = 0
    for index in longest_first:
        width = max(width, len(pairs[index].source))
        height = max(height, len(pairs[index].target))
        if batches and (len(batches[-1]) + 1) * (width + height) <= budget:
            batches[-1].append(index)
        else:
            batches.append([index])
            width, height = len(pairs[index].source), len(pairs[index].target)
    return batches


class _Scheduler:
    """Keeps the device busy with a few batches, and makes them smaller when it runs out of memory."""

    def __init__(self, engine: Engine, budget: int | None) -> None:
        self.engine = engine
        self._budget = budget

    @cached_property
    def budget(self) -> int:
        """Asked for only when there is something to score: an engine may load its model to answer."""
        return self._budget or self.engine.budget

    def run(self, pairs: Sequence[Pair]) -> list[TokenScores]:
        """Score distinct pairs; the result has their order."""
        if not isinstance(self.engine, Remembering):
            return self._compute(pairs)
        known = self.engine.remembered(pairs)
        new = iter(self._compute([pair for pair, tokens in zip(pairs, known, strict=True) if tokens is None]))
        return [next(new) if tokens is None else tokens for tokens in known]

    def _compute(self, pairs: Sequence[Pair]) -> list[TokenScores]:
        scores: list[TokenScores | None] = [None] * len(pairs)
        under_way: deque[tuple[list[int], Pending]] = deque()
        waiting = deque(self._batches(pairs) if pairs else ())
        while waiting or under_way:
            while waiting and len(under_way) < self.engine.parallel:
                batch = waiting.popleft()
                under_way.append((batch, self.engine.submit([pairs[i] for i in batch])))
            batch, result = under_way.popleft()
            try:
                for index, tokens in zip(batch, result(), strict=True):
                    scores[index] = tokens
            except OutOfMemory as error:
                waiting = self._split(batch, waiting, pairs, error)
        return [tokens for tokens in scores if tokens is not None]

    def _split(
        self, batch: list[int], waiting: deque[list[int]], pairs: Sequence[Pair], error: OutOfMemory
    ) -> deque[list[int]]:
        """Halve the budget for all that is left, the failed batch included."""
        if len(batch) == 1:
            pair = pairs[batch[0]]
            raise PrismError(
                f"the device has not enough memory for one pair of {len(pair.source)} and {len(pair.target)} "
                "tokens: use a smaller model or quantisation, or another device"
            ) from error
        self.budget = max(1, self.budget // 2)
        left = [*batch, *(index for rest in waiting for index in rest)]
        return deque([left[i] for i in part] for part in self._batches([pairs[i] for i in left]))

    def _batches(self, pairs: Sequence[Pair]) -> list[list[int]]:
        return make_batches(pairs, self.budget, self.engine.shares_sources)
