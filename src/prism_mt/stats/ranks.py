"""Ranks of metrics or systems, shared by those that are not significantly different."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def rank_clusters(ordered: Sequence[Item], is_better: Callable[[Item, Item], bool]) -> dict[Item, int]:
    """Rank items that are ordered from best to worst, starting at 1.

    An item opens a new rank if it is significantly worse than any item of the current rank (the shared tasks' rule).
    `is_better(x, y)` says whether x is significantly better than y; it is called only if it matters.
    """
    ranks: dict[Item, int] = {}
    cluster: list[Item] = []
    rank = 0
    for item in ordered:
        if not cluster or any(is_better(member, item) for member in cluster):
            rank, cluster = rank + 1, []
        cluster.append(item)
        ranks[item] = rank
    return ranks
