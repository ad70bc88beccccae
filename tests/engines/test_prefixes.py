"""Prefixes that targets share: whatever they are, every token finds what was read before it."""

from hypothesis import given
from hypothesis import strategies as st

from prism_mt.engines.prefixes import SharedPrefixes, share_prefixes

targets = st.lists(st.lists(st.integers(3, 5), max_size=6).map(lambda ids: (2, *ids, 2)), min_size=1, max_size=5)


@given(st.lists(targets, min_size=1, max_size=4))
def test_every_token_finds_its_prefix(groups: list[list[tuple[int, ...]]]) -> None:
    everything = [target for group in groups for target in group]
    found = share_prefixes(everything, [len(group) for group in groups])
    prefixes: dict[int, tuple[int, ...]] = {}
    predictions = [(found.before[place], found.wanted[place]) for place in found.predictions]
    start = 0
    for target in everything:
        end = start + len(target) - 1
        for length, (row, (before, wanted)) in enumerate(
            zip(found.rows[start:end], predictions[start:end], strict=True), start=1
        ):
            assert prefixes.setdefault(row, target[:length]) == target[:length]
            assert (found.inputs[row], before, wanted) == (target[length - 1], row, target[length])
        start = end
    assert start == len(found.rows) == len(predictions)


@given(st.lists(targets, min_size=1, max_size=4))
def test_nothing_is_there_twice(groups: list[list[tuple[int, ...]]]) -> None:
    found = share_prefixes([target for group in groups for target in group], [len(group) for group in groups])
    assert found.counts == [len({t[:end] for t in group for end in range(1, len(t))}) for group in groups]
    assert len(found.wanted) == sum(
        len({t[:end] for t in group for end in range(2, len(t) + 1)}) for group in groups
    )
    assert found.is_shared == any(len(group) > 1 for group in groups)


def test_an_example() -> None:
    found = share_prefixes([(2, 5, 6, 2), (2, 5, 7, 2), (2, 5, 2)], [2, 1])
    assert found == SharedPrefixes(
        inputs=[2, 5, 6, 7, 2, 5],
        counts=[4, 2],
        rows=[0, 1, 2, 0, 1, 3, 4, 5],
        before=[0, 1, 2, 1, 3, 4, 5],
        wanted=[5, 6, 2, 7, 2, 5, 2],
        predictions=[0, 1, 2, 0, 3, 4, 5, 6],
    )
