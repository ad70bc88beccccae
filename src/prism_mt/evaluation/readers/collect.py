"""Collects what a file says, in any order, and makes judgments or metric scores of it."""

from collections.abc import Iterator

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, MetricScores, Preferences, Texts
from prism_mt.stats.arrays import Matrix, Vector

# Means of the same numbers added in another order must stay equal: people's ties matter.
_DECIMALS = 9


class Collector:
    """Facts about one test set and language pair; systems and segments keep the order in which they came."""

    def __init__(self, testset: str, pair: str) -> None:
        self.testset, self.pair = testset, pair
        self._systems: dict[str, int] = {}
        self._segments: dict[str, int] = {}
        self._scores: dict[tuple[int, int], list[float]] = {}
        self._system_scores: dict[int, list[float]] = {}
        self._preferences: dict[tuple[int, int, int], None] = {}
        self._sources: dict[int, str] = {}
        self._references: dict[str, dict[int, str]] = {}
        self._outputs: dict[str, dict[int, str]] = {}

    def score(self, system: str, segment: str, value: float | None) -> None:
        """A judgment of one output; several of the same output are averaged, None only makes it known."""
        key = self._system(system), self._segment(segment)
        if value is not None:
            self._scores.setdefault(key, []).append(value)

    def system_score(self, system: str, value: float | None) -> None:
        """A judgment of a system as a whole."""
        index = self._system(system)
        if value is not None:
            self._system_scores.setdefault(index, []).append(value)

    def preference(self, segment: str, better: str, worse: str) -> None:
        """A preference; one that came before is not counted again."""
        self._preferences[self._segment(segment), self._system(better), self._system(worse)] = None

    def source(self, segment: str, text: str | None) -> None:
        """A segment's source."""
        if text is not None:
            self._sources[self._segment(segment)] = text

    def reference(self, segment: str, name: str, text: str | None) -> None:
        """One of a segment's references."""
        if text is not None:
            self._references.setdefault(name, {})[self._segment(segment)] = text

    def output(self, segment: str, system: str, text: str | None) -> None:
        """A system's translation of a segment; the system counts as judged only when a score names it."""
        if text is not None:
            self._outputs.setdefault(system, {})[self._segment(segment)] = text

    def judgments(self) -> Judgments:
        """Everything that was collected."""
        preferences = None
        if self._preferences:
            columns = np.array(list(self._preferences), dtype=np.int64)
            preferences = Preferences(columns[:, 0], columns[:, 1], columns[:, 2])
        return Judgments(
            self.testset,
            self.pair,
            tuple(self._systems),
            tuple(self._segments),
            self._matrix(),
            self._vector(),
            preferences,
            self._texts(),
        )

    def metric(self, name: str) -> MetricScores:
        """Everything that was collected, as the scores of a metric, which scores every output once."""
        twice = [key for key, values in self._scores.items() if len(values) > 1]
        if twice:
            row, column = twice[0]
            place = f"segment {list(self._segments)[column]} of {list(self._systems)[row]}"
            raise PrismError(f"{name} ({self.pair}) has two scores for {place}: keep one of them")
        if any(len(values) > 1 for values in self._system_scores.values()):
            raise PrismError(f"{name} ({self.pair}) has two scores for a system: keep one of them")
        systems, segments = tuple(self._systems), tuple(self._segments)
        return MetricScores(name, self.pair, systems, segments, self._matrix(), self._vector())

    def _matrix(self) -> Matrix:
        scores = np.full((len(self._systems), len(self._segments)), np.nan)
        for key, values in self._scores.items():
            scores[key] = _mean(values)
        return scores

    def _vector(self) -> Vector | None:
        if not self._system_scores:
            return None
        scores = np.full(len(self._systems), np.nan)
        for index, values in self._system_scores.items():
            scores[index] = _mean(values)
        return scores

    def _texts(self) -> Texts | None:
        if not self._outputs:
            return None

        def ordered(texts: dict[int, str]) -> tuple[str | None, ...]:
            return tuple(texts.get(index) for index in range(len(self._segments)))

        return Texts(
            ordered(self._sources),
            {name: ordered(texts) for name, texts in self._references.items()},
            {name: ordered(texts) for name, texts in self._outputs.items()},
        )

    def _system(self, name: str) -> int:
        return self._systems.setdefault(name, len(self._systems))

    def _segment(self, name: str) -> int:
        return self._segments.setdefault(name, len(self._segments))


class Collectors:
    """One collector per test set and language pair, made when it is first asked for."""

    def __init__(self) -> None:
        self._all: dict[tuple[str, str], Collector] = {}

    def of(self, testset: str, pair: str) -> Collector:
        """The collector of a test set and language pair."""
        key = testset, pair
        if key not in self._all:
            self._all[key] = Collector(testset, pair)
        return self._all[key]

    def __iter__(self) -> Iterator[Collector]:
        return iter(self._all.values())


def _mean(values: list[float]) -> float:
    return values[0] if len(values) == 1 else round(sum(values) / len(values), _DECIMALS)
