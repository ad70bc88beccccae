"""Noise for denoising examples."""

import numpy as np
from numpy.typing import NDArray

from prism_mt.training.translation.config import Denoising

_REACH = 3


def add_noise(
    pieces: NDArray[np.int64], others: NDArray[np.int64], settings: Denoising, draw: np.random.Generator
) -> NDArray[np.int64]:
    """Replace some pieces by ones from `others`, move some by up to three places, and drop some.

    At least one piece is left.
    """
    length = len(pieces)
    # All numbers are drawn whatever the settings, so that changing one probability does not affect the other noise.
    chances = draw.random((3, length))
    substitutes = others[draw.integers(0, len(others), length)]
    shifts = draw.integers(-_REACH, _REACH + 1, length)
    noised = np.where(chances[0] < settings.replace, substitutes, pieces)
    moved = np.where(chances[1] < settings.shuffle, shifts + 0.5 * np.sign(shifts), 0.0)
    order = np.argsort(np.arange(length) + moved, kind="stable")
    kept = chances[2] >= settings.drop
    if not kept.any():
        kept[chances[2].argmax()] = True
    result: NDArray[np.int64] = noised[order[kept]]
    return result
