"""What a metric is: segments in, segment scores out, and a rule that makes a system score of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from prism_mt import __version__

Side = Literal["ref", "src"]


@dataclass(frozen=True)
class Languages:
    """The languages of a test set, as the user names them; empty where they are not known."""

    target: str = ""
    source: str = ""


@dataclass(frozen=True)
class Origin:
    """The names of the files that segments come from, for messages."""

    hypothesis: str = "hypothesis"
    references: tuple[str, ...] = ()
    source: str = "source"


@dataclass(frozen=True)
class Segment:
    """One output of one system with what it is compared to."""

    hypothesis: str
    references: tuple[str, ...] = ()
    source: str | None = None
    number: int = 0
    """Line number, from 1; 0 where there is none."""
    origin: Origin = field(default_factory=Origin)


@dataclass(frozen=True)
class TokenTrace:
    """The pieces of one forced decoding with their natural-log probabilities."""

    direction: str
    """Which text given which: `hypothesis|reference`."""
    pieces: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True)
class SegmentScore:
    """A segment's score, and the counts from which scores of many segments are made."""

    score: float
    statistics: Sequence[float]
    """Added up over segments and given to the metric's `aggregate`."""
    tokens: tuple[TokenTrace, ...] = ()


class Metric(Protocol):
    """A metric with all its options fixed."""

    name: str
    needs: frozenset[Side]

    def score(self, segments: Iterable[Segment]) -> Iterator[SegmentScore]:
        """Scores in the order of the segments, read ahead only within a bounded window."""
        ...

    def aggregate(self, totals: Sequence[float]) -> float:
        """The system score from the sums of all segments' statistics."""
        ...

    def signature(self) -> str:
        """Everything that a number depends on, as `key:value` joined by `|`."""
        ...


@dataclass
class SystemScores:
    """What a metric says of one system."""

    metric: str
    system: str
    score: float
    signature: str
    segments: NDArray[np.float64]
    statistics: NDArray[np.float64] | None = None
    """One row per segment, where asked for (resampling needs them)."""
    tokens: list[tuple[TokenTrace, ...]] | None = None


def sign(name: str, **values: object) -> str:
    """A signature: the metric's name, its options, the version."""
    parts = [f"{key}:{value}" for key, value in values.items() if value is not None]
    return "|".join([name, *parts, f"version:prism-{__version__}"])
