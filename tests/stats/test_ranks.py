from prism_mt.stats.ranks import rank_clusters


def test_rank_clusters_open_when_worse_than_any_member() -> None:
    better = {("a", "c"), ("b", "d"), ("c", "e"), ("a", "e")}
    ranks = rank_clusters(["a", "b", "c", "d", "e"], lambda x, y: (x, y) in better)
    # c is worse than a: rank 2; d is not worse than c; e is worse than c: rank 3.
    assert ranks == {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3}
    assert rank_clusters([], lambda x, y: True) == {}


def test_rank_clusters_of_numbers() -> None:
    assert rank_clusters([2, 0, 1], lambda x, y: (x, y) == (2, 0)) == {2: 1, 0: 2, 1: 2}
