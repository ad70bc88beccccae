"""Ranks of metrics, and of systems: those that cannot be told apart share one."""

from collections.abc import Callable, Sequence


def rank_clusters(ordered: Sequence[str], is_better: Callable[[str, str], bool]) -> dict[str, int]:
    """Ranks from 1 for names ordered from best to worst.

    A name opens a new rank when it is significantly worse than any one of the current rank (the shared tasks'
    rule). `is_better(x, y)` says whether x is significantly better than y; it is only asked where it matters.
    """
    ranks: dict[str, int] = {}
    cluster: list[str] = []
    for name in ordered:
        if any(is_better(member, name) for member in cluster):
            cluster = []
        if not cluster:
            rank = max(ranks.values(), default=0) + 1
        cluster.append(name)
        ranks[name] = rank
    return ranks
