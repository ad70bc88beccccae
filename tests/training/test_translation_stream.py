import logging
from collections import Counter
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_mt._core.errors import PrismError
from prism_mt.corpus.data_directory import ShardDataset
from prism_mt.training.translation.config import Batches
from prism_mt.training.translation.stream import ExampleStream, Place, Plan, cut


def stream(folder: Path, share: float = 0.0, seed: int = 1, **settings: Any) -> ExampleStream:
    values: dict[str, Any] = {"tokens": 300, "buffer": 200, "max_length": 60, **settings}
    return ExampleStream(ShardDataset(folder), Batches(**values), share, seed)


def key(plan: Plan) -> tuple[object, ...]:
    return plan.rows.tolist(), plan.reverse.tolist(), plan.noised.tolist(), plan.seed


@pytest.mark.parametrize(
    ("sources", "targets", "tokens", "expected"),
    [
        ([], [], 10, []),
        ([2, 2, 2], [2, 2, 2], 4, [(0, 2), (2, 3)]),
        ([1, 1, 5], [2, 2, 2], 10, [(0, 2), (2, 3)]),
        ([9, 1], [1, 1], 5, [(0, 1), (1, 2)]),
        ([1, 2, 3], [3, 3, 3], 9, [(0, 3)]),
    ],
)
def test_cut(sources: list[int], targets: list[int], tokens: int, expected: list[tuple[int, int]]) -> None:
    assert cut(np.array(sources, dtype=np.int64), np.array(targets, dtype=np.int64), tokens) == expected


def test_groups_are_pairs_and_single_sentences(toy_data: Path) -> None:
    found = stream(toy_data)
    assert [(group.pair, len(group)) for group in found.groups] == [("de-en", 240), ("en-en", 240), ("en", 120)]
    assert found.examples == 600


def test_one_epoch_has_every_example_once(toy_data: Path) -> None:
    seen: Counter[tuple[int, bool]] = Counter()
    for plan, position in stream(toy_data).batches(Place()):
        seen.update(zip(plan.rows.tolist(), plan.reverse.tolist(), strict=True))
        if position.examples >= 600:
            break
    assert sum(seen.values()) == 600
    assert len(seen) == 600


def test_any_position_can_be_resumed(toy_data: Path) -> None:
    whole = list(islice(stream(toy_data, 0.3).batches(Place()), 60))
    for place in (0, 1, 17, 41):
        rest = list(islice(stream(toy_data, 0.3).batches(whole[place][1]), 10))
        assert [key(plan) for plan, _ in rest] == [key(plan) for plan, _ in whole[place + 1 : place + 11]]
        assert rest[-1][1] == whole[place + 10][1]


def test_the_seed_changes_the_order(toy_data: Path) -> None:
    one, other = (next(stream(toy_data, seed=seed).batches(Place()))[0] for seed in (1, 2))
    assert key(one) != key(other)


def test_batches_keep_the_budget_and_are_tight(toy_data: Path) -> None:
    data = ShardDataset(toy_data)
    lengths = data.target_lengths
    padded = real = 0
    for plan, _ in islice(stream(toy_data, buffer=600).batches(Place()), 60):
        source = np.where(plan.noised, plan.target_lengths, lengths[plan.reverse.astype(int), plan.rows]) + 1
        target = plan.target_lengths + 2
        assert len(plan.rows) * max(source.max(), target.max()) <= 300
        padded += len(plan.rows) * int(target.max())
        real += int(target.sum())
    assert real / padded > 0.9


def test_batches_of_a_buffer_are_not_in_order_of_length(toy_data: Path) -> None:
    longest = [int(plan.target_lengths.max()) for plan, _ in islice(stream(toy_data).batches(Place()), 12)]
    assert any(first > second for first, second in pairwise(longest))


def test_shares(toy_data: Path) -> None:
    flat = stream(toy_data, temperature=1e9)
    np.testing.assert_allclose(flat.shares, [1 / 3] * 3)
    weighted = stream(toy_data, weights={"de-en": 3.0, "en": 0.0})
    np.testing.assert_allclose(weighted.shares, [0.75, 0.25, 0])
    assert weighted.examples == 480
    root = stream(toy_data, temperature=2.0)
    np.testing.assert_allclose(root.shares[0] / root.shares[2], 2**0.5)


def test_denoising_share(toy_data: Path) -> None:
    data = ShardDataset(toy_data)
    plans = [plan for plan, _ in islice(stream(toy_data, 0.25).batches(Place()), 100)]
    rows, noised = (np.concatenate([getattr(plan, name) for plan in plans]) for name in ("rows", "noised"))
    single = data.target_lengths[0, rows] == 0
    assert noised[single].all()
    assert noised[~single].mean() == pytest.approx(0.25, abs=0.05)


def test_long_rows_are_counted(toy_data: Path, caplog: pytest.LogCaptureFixture) -> None:
    longest = ShardDataset(toy_data).target_lengths.max(0)
    with caplog.at_level(logging.WARNING, "prism_mt"):
        found = stream(toy_data, max_length=10)
    assert f"{(longest > 10).sum()} of 360 rows are longer than 10 pieces" in caplog.text
    assert sum(len(group.rows) for group in found.groups) == (longest <= 10).sum()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": {"de-fr": 1.0}}, "no pair de-fr; it has de-en, en, en-en"),
        ({"weights": {"de-en": 0.0, "en-en": 0.0, "en": 0.0}}, "no training pair is left"),
    ],
)
def test_mistakes(toy_data: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(PrismError, match=message):
        stream(toy_data, **settings)
