"""One scheduler for scoring and generation: equal work once, longest first, batches by token budget, order restored.

Work is read a window at a time, so memory does not grow with the input.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from prism_mt._core.errors import PrismError
from prism_mt._core.progress import computed
from prism_mt.engines.base import Engine, OutOfMemory, Pair, Pending, Remembering, TokenScores

Item = TypeVar("Item", bound=Hashable)
Result = TypeVar("Result")

_LOG = logging.getLogger("prism_mt")
WINDOW = 4096
"""Number of pairs sorted by length together."""
CLUSTER_WINDOW = 16 * WINDOW
"""Large enough that hundreds of actors seldom wait for the last batch of a window."""


class Work(ABC, Generic[Item, Result]):
    """A kind of work: the sizes of its items, which of them can be batched, and what computes them."""

    @property
    @abstractmethod
    def budget(self) -> int:
        """Maximum padded size of a batch; requested only if there is something to compute."""

    @property
    @abstractmethod
    def parallel(self) -> int:
        """How many batches to keep in flight."""

    @abstractmethod
    def sizes(self, item: Item) -> tuple[int, ...]:
        """Lengths of an item, each of which is padded to the largest in its batch."""

    @abstractmethod
    def submit(self, batch: Sequence[Item]) -> Callable[[], list[Result]]:
        """Start a batch. Waiting for its results raises OutOfMemory if the device could not hold it."""

    @abstractmethod
    def too_large(self, item: Item) -> str:
        """Say that the device cannot even hold this item alone, and what to do."""

    def sort_keys(self, items: Sequence[Item]) -> Sequence[Any]:
        """Sort keys of the items: large keys are computed first, and adjacent items share a batch."""
        return [(self.group(item), self.sizes(item), item) for item in items]

    def group(self, item: Item) -> Any:
        """Items of different groups never share a batch."""
        return 0

    def remembered(self, items: Sequence[Item]) -> Sequence[Result | None]:
        """Return known results, None for the others."""
        return [None] * len(items)


class Scheduler(Generic[Item, Result]):
    """Keeps a device busy with a few batches, and makes them smaller if it runs out of memory."""

    def __init__(self, work: Work[Item, Result]) -> None:
        self._work = work
        self._largest: int | None = None
        """The largest batch to try after memory has run out."""

    def stream(self, items: Iterable[Item], window: int) -> Iterator[Result]:
        """Compute any number of items, `window` of them at a time, preserving their order."""
        rest = iter(items)
        while chunk := list(islice(rest, window)):
            yield from self.run(chunk)

    def run(self, items: Sequence[Item]) -> list[Result]:
        """Compute items, equal ones once, preserving their order."""
        distinct = list(dict.fromkeys(items))
        results = {
            item: result
            for item, result in zip(distinct, self._work.remembered(distinct), strict=True)
            if result is not None
        }
        new = [item for item in distinct if item not in results]
        start = time.monotonic()
        results.update(zip(new, self._compute(new) if new else [], strict=True))
        _LOG.debug(
            "%d items, %d distinct, %d of them known, others computed in %.2f s",
            len(items),
            len(distinct),
            len(distinct) - len(new),
            time.monotonic() - start,
        )
        return [results[item] for item in items]

    def _compute(self, items: Sequence[Item]) -> list[Result]:
        results: dict[int, Result] = {}
        under_way: deque[tuple[list[int], Callable[[], list[Result]]]] = deque()
        waiting = deque(self._batches(items, range(len(items))))
        while waiting or under_way:
            while waiting and len(under_way) < self._work.parallel:
                batch = waiting.popleft()
                under_way.append((batch, self._work.submit([items[place] for place in batch])))
            batch, wait = under_way.popleft()
            try:
                results.update(zip(batch, wait(), strict=True))
                computed(len(batch))
            except OutOfMemory as error:
                if len(batch) == 1:
                    raise PrismError(self._work.too_large(items[batch[0]])) from error
                self._largest = max(1, padded_size([self._work.sizes(items[place]) for place in batch]) // 2)
                waiting = deque(self._batches(items, [*batch, *(place for rest in waiting for place in rest)]))
        return [results[place] for place in range(len(items))]

    def _batches(self, items: Sequence[Item], places: Sequence[int]) -> list[list[int]]:
        """Batches of indices, within what the device has been able to hold."""
        budget = self._work.budget if self._largest is None else min(self._work.budget, self._largest)
        batches = make_batches(self._work, [items[place] for place in places], budget)
        return [[places[index] for index in batch] for batch in batches]


def make_batches(work: Work[Item, Any], items: Sequence[Item], budget: int) -> list[list[int]]:
    """Group items, as indices, into batches of similar sizes that stay within the budget when padded.

    An item larger than the budget is a batch of its own. The largest come first, so that memory peaks (and runs out)
    early and the device ends on small work.
    """
    keys = work.sort_keys(items)
    batches: list[list[int]] = []
    longest: tuple[int, ...] = ()
    group: Any = None
    for index in sorted(range(len(items)), key=keys.__getitem__, reverse=True):
        sizes, own = work.sizes(items[index]), work.group(items[index])
        joint = tuple(map(max, longest, sizes))
        if batches and own == group and (len(batches[-1]) + 1) * sum(joint) <= budget:
            batches[-1].append(index)
            longest = joint
        else:
            batches.append([index])
            longest, group = sizes, own
    return batches


def padded_size(sizes: Sequence[tuple[int, ...]]) -> int:
    """Return the size of a batch with all items padded to the longest."""
    longest: list[int] = [max(column) for column in zip(*sizes, strict=True)]
    return len(sizes) * sum(longest)


class ScoringWork(Work[Pair, TokenScores]):
    """Forced decoding by an engine. An engine that shares sources gets their targets in one batch."""

    def __init__(self, engine: Engine, budget: int | None = None) -> None:
        self._engine = engine
        self._budget = budget

    @property
    def budget(self) -> int:
        """The requested budget, or the engine's own, for which it may have to load its model."""
        return self._budget or self._engine.budget

    @property
    def parallel(self) -> int:
        """The engine's own parallelism."""
        return self._engine.parallel

    def sizes(self, item: Pair) -> tuple[int, ...]:
        """Lengths of source and target."""
        return len(item.source), len(item.target)

    def sort_keys(self, items: Sequence[Pair]) -> Sequence[Any]:
        """Targets before sources; targets of a shared source stay together, at the position of the longest."""
        if not self._engine.shares_sources:
            return [(len(item.target), len(item.source), item) for item in items]
        longest: dict[tuple[int, ...], int] = {}
        for source, target in items:
            longest[source] = max(longest.get(source, 0), len(target))
        return [(longest[item.source], len(item.source), item) for item in items]

    def submit(self, batch: Sequence[Pair]) -> Pending:
        """Start scoring a batch."""
        return self._engine.submit(batch)

    def remembered(self, items: Sequence[Pair]) -> Sequence[TokenScores | None]:
        """Return what a cache in front of the engine knows."""
        return self._engine.remembered(items) if isinstance(self._engine, Remembering) else [None] * len(items)

    def too_large(self, item: Pair) -> str:
        """Report the lengths."""
        return (
            f"the device does not have enough memory for one pair of {len(item.source)} and {len(item.target)} tokens: "
            "use a smaller model or precision, or another device"
        )


def score_pairs(
    engine: Engine, pairs: Iterable[Pair], budget: int | None = None, window: int = WINDOW
) -> Iterator[TokenScores]:
    """Yield the token log-probabilities of every pair, in the order of the input."""
    return Scheduler(ScoringWork(engine, budget)).stream(pairs, window)
