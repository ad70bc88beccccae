"""Collects the content of a file in any order, and turns it into judgments or metric scores."""

from collections.abc import Iterator

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, Preferences, Texts
from prism_mt.evaluation.ratings import ALL_RATERS, Errors, Ratings
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.arrays import Matrix, Vector, row_means


class Collector:
    """Facts about one test set and language pair; systems and segments keep their order of appearance."""

    def __init__(self, name: str, pair: str, testset: str = "") -> None:
        self.name, self.pair, self.testset = name, pair, testset
        self.standard_reference: str | None = None
        self._systems: dict[str, int] = {}
        self._segments: dict[str, int] = {}
        self._raters: dict[str, int] = {}
        self._ratings: list[tuple[int, int, int]] = []
        self._scores: list[float] = []
        self._errors: list[Errors | None] = []
        self._system_scores: dict[int, list[float]] = {}
        self._preferences: dict[tuple[int, int, int], None] = {}
        self._sources: dict[int, str] = {}
        self._references: dict[str, dict[int, str]] = {}
        self._outputs: dict[str, dict[int, str]] = {}
        self._documents: dict[int, str] = {}
        self._domains: dict[int, str] = {}

    def rating(
        self,
        system: str,
        segment: str,
        score: float | None,
        rater: str = ALL_RATERS,
        errors: Errors | None = None,
    ) -> None:
        """Add a score of one output; None only registers system and segment."""
        place = self._system(system), self._segment(segment)
        if score is not None:
            self._ratings.append((self._raters.setdefault(rater, len(self._raters)), *place))
            self._scores.append(score)
            self._errors.append(errors)

    def system_score(self, system: str, value: float | None) -> None:
        """Add a judgment of a system as a whole; several are averaged."""
        index = self._system(system)
        if value is not None:
            self._system_scores.setdefault(index, []).append(value)

    def preference(self, segment: str, better: str, worse: str) -> None:
        """Add a preference; a repeated one is not counted again."""
        self._preferences[self._segment(segment), self._system(better), self._system(worse)] = None

    def source(self, segment: str, text: str | None) -> None:
        """Add a segment's source."""
        if text is not None:
            self._sources[self._segment(segment)] = text

    def reference(self, segment: str, name: str, text: str | None) -> None:
        """Add one of a segment's references."""
        if text is not None:
            self._references.setdefault(name, {})[self._segment(segment)] = text

    def output(self, segment: str, system: str, text: str | None) -> None:
        """Add a system's translation of a segment; the system counts as judged only if a score names it."""
        if text is not None:
            self._outputs.setdefault(system, {})[self._segment(segment)] = text

    def document(self, segment: str, document: str | None, domain: str | None = None) -> None:
        """Set the document and domain of a segment."""
        if document:
            self._documents[self._segment(segment)] = document
        if domain:
            self._domains[self._segment(segment)] = domain

    def judgments(self) -> Judgments:
        """Return everything collected as judgments."""
        preferences = None
        if self._preferences:
            columns = np.array(list(self._preferences), dtype=np.int64)
            preferences = Preferences(columns[:, 0], columns[:, 1], columns[:, 2])
        return Judgments(
            self.name,
            self.pair,
            tuple(self._systems),
            tuple(self._segments),
            self._table(),
            self._vector(),
            preferences,
            self._texts(),
            self.testset,
            self._labels(self._documents),
            self._labels(self._domains),
            standard_reference=self.standard_reference,
        )

    def metric(self, name: str, signature: str = "") -> MetricScores:
        """Return everything collected as the scores of a metric, which scores every output once."""
        systems, segments = tuple(self._systems), tuple(self._segments)
        places = [(system, segment) for _, system, segment in self._ratings]
        matrix = np.full((len(systems), len(segments)), np.nan)
        for (row, column), score in zip(places, self._scores, strict=True):
            if not np.isnan(matrix[row, column]):
                place = f"segment {segments[column]} of {systems[row]}"
                raise PrismError(f"{name} ({self.pair}) has two scores for {place}: keep one of them")
            matrix[row, column] = score
        if any(len(values) > 1 for values in self._system_scores.values()):
            raise PrismError(f"{name} ({self.pair}) has two scores for a system: keep one of them")
        return MetricScores(
            name,
            systems,
            matrix,
            self._own_or_means(matrix),
            signature,
            segment_ids=segments,
            pair=self.pair,
        )

    def _own_or_means(self, matrix: Matrix) -> Vector:
        own = self._vector()
        return row_means(matrix) if own is None else own

    def _table(self) -> Ratings:
        columns = np.array(self._ratings, dtype=np.int64).reshape(-1, 3)
        errors = tuple(self._errors) if any(own is not None for own in self._errors) else ()
        scores = np.array(self._scores, dtype=np.float64)
        return Ratings(tuple(self._raters), columns[:, 0], columns[:, 1], columns[:, 2], scores, errors)

    def _vector(self) -> Vector | None:
        if not self._system_scores:
            return None
        scores = np.full(len(self._systems), np.nan)
        for index, values in self._system_scores.items():
            scores[index] = values[0] if len(values) == 1 else sum(values) / len(values)
        return scores

    def _labels(self, found: dict[int, str]) -> tuple[str, ...]:
        return tuple(found.get(index, "") for index in range(len(self._segments))) if found else ()

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
    """One collector per test set and language pair, created on first use."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._all: dict[tuple[str, str], Collector] = {}

    def of(self, testset: str | None, pair: str) -> Collector:
        """The collector of a test set, named after its file if it has no name, and language pair."""
        key = testset or "", pair
        if key not in self._all:
            self._all[key] = Collector(testset or self._file, pair, testset or "")
        return self._all[key]

    def __iter__(self) -> Iterator[Collector]:
        return iter(self._all.values())

    def judgments(self) -> list[Judgments]:
        """The judgments of all."""
        return [collector.judgments() for collector in self]
