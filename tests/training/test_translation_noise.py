from typing import Any

import numpy as np
import pytest

from prism_mt.training.translation.config import Denoising
from prism_mt.training.translation.noise import add_noise

PIECES = np.arange(100, 1100)
OTHERS = np.array([7])


def noised(
    seed: int = 1, pieces: Any = PIECES, drop: float = 0.0, replace: float = 0.0, shuffle: float = 0.0
) -> list[int]:
    settings = Denoising(drop=drop, replace=replace, shuffle=shuffle)
    return [int(piece) for piece in add_noise(pieces, OTHERS, settings, np.random.default_rng(seed))]


def test_without_chances_nothing_changes() -> None:
    assert noised() == PIECES.tolist()


def test_dropping_keeps_the_order() -> None:
    kept = noised(drop=0.2)
    assert kept == sorted(kept)
    assert set(kept) < set(PIECES.tolist())
    assert len(kept) == pytest.approx(800, abs=50)


def test_replacing_takes_pieces_of_others() -> None:
    found = np.array(noised(replace=0.3))
    changed = found != PIECES
    assert set(found[changed]) == {7}
    assert changed.sum() == pytest.approx(300, abs=50)


def test_shuffling_moves_a_little() -> None:
    found = np.array(noised(shuffle=0.2))
    assert sorted(found) == PIECES.tolist()
    distance = np.abs(found - PIECES)
    assert 0 < distance.max() <= 6
    assert (distance > 0).sum() > 100


def test_the_seed_decides() -> None:
    one, again, other = (noised(seed, drop=0.1, replace=0.1, shuffle=0.1) for seed in (3, 3, 4))
    assert one == again != other


def test_one_piece_is_always_left() -> None:
    assert len(noised(pieces=np.array([5, 6]), drop=1.0)) == 1


def test_mistakes_of_a_seed_stay_the_same() -> None:
    found = noised(5, np.arange(10, 22), drop=0.15, replace=0.15, shuffle=0.3)
    assert found == [10, 11, 12, 13, 7, 16, 7, 19, 20, 21]
