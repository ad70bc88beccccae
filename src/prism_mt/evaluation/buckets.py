"""Parts of a test set: by length, by document or domain, or by any number per segment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_mt.stats.arrays import Vector

_PARTS = 4


@dataclass(frozen=True, eq=False)
class Bucket:
    """Some of the segments and what they have in common."""

    label: str
    segments: NDArray[np.int64]


@dataclass(frozen=True)
class Buckets:
    """All parts by one property."""

    title: str
    parts: tuple[Bucket, ...]
    ordered: bool = False
    """Whether the parts follow one another, as lengths do and documents do not."""


def by_length(texts: Iterable[str]) -> Buckets:
    """Quartiles by length in characters, which every language has."""
    return by_value("reference length (characters)", np.array([float(len(text)) for text in texts]), 0)


def by_value(title: str, values: Vector, digits: int) -> Buckets:
    """Four parts of about the same size; equal values stay together, so there may be fewer."""
    bounds = np.unique(np.quantile(values, np.linspace(0, 1, _PARTS + 1)[1:-1], method="lower"))
    places = np.searchsorted(bounds, values, side="left")
    parts = []
    for place in np.unique(places):
        chosen = np.flatnonzero(places == place)
        low, high = values[chosen].min(), values[chosen].max()
        parts.append(Bucket(f"{low:.{digits}f} to {high:.{digits}f}", chosen))
    return Buckets(title, tuple(parts), ordered=True)


def by_name(title: str, names: Sequence[str]) -> Buckets:
    """One part per name, in order of appearance."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return Buckets(title, tuple(Bucket(name, np.array(chosen)) for name, chosen in places.items()))
