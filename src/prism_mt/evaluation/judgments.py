"""What people said of translations, and what metrics say: typed objects that all statistics work on.

Scores are matrices of systems × segments in which NaN means "not judged" or "not scored". Higher is better,
always: readers turn error counts around.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.stats.arrays import Index, Matrix, Vector, row_means
from prism_mt.stats.outliers import outliers

# The shared tasks' names of human translations: Human-A.0, HUMAN, ref-A, refA, refb, ref.
_HUMAN = re.compile(r"(human|ref)([-_.]?[a-z])?(\.\d+)?", re.IGNORECASE)


def is_human(system: str) -> bool:
    """Whether a system's name is one that the shared tasks give to human translations."""
    return _HUMAN.fullmatch(system) is not None


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts behind judgments, one item per segment; None where a system or reference has no text."""

    sources: tuple[str | None, ...]
    references: dict[str, tuple[str | None, ...]]
    outputs: dict[str, tuple[str | None, ...]]


@dataclass(frozen=True, eq=False)
class Preferences:
    """Pairs of outputs of one segment of which people prefer one (daRR): indices of segment and systems.

    `agreements` says of metrics whose scores are not known whether they agree with each pair (1, 0, -1).
    """

    segment: Index
    better: Index
    worse: Index
    agreements: dict[str, Vector] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.segment)

    def among(self, systems: Sequence[int], count: int) -> "Preferences":
        """Those between the given systems only, renumbered in their order; `count` is the number of all systems."""
        place = np.full(count, -1)
        place[list(systems)] = np.arange(len(systems))
        better, worse = place[self.better], place[self.worse]
        both = (better >= 0) & (worse >= 0)
        agreements = {metric: values[both] for metric, values in self.agreements.items()}
        return Preferences(self.segment[both], better[both], worse[both], agreements)


@dataclass(frozen=True, eq=False)
class Judgments:
    """Human judgments of one test set in one language pair.

    `scores` may have no segments (only systems were judged), or be all NaN (only preferences are known).
    `system_scores` are the official ones where they are known, otherwise means over segments are used.
    """

    testset: str
    pair: str
    systems: tuple[str, ...]
    segments: tuple[str, ...]
    scores: Matrix
    system_scores: Vector | None = None
    preferences: Preferences | None = None
    texts: Texts | None = None

    def __post_init__(self) -> None:
        _check(f"judgments of {self.pair}", self.systems, self.segments, self.scores, self.system_scores)

    @property
    def place(self) -> str:
        """Test set and language pair; many test sets have the pair in their names already."""
        return self.testset if self.pair in self.testset else f"{self.testset} {self.pair}".strip()

    def system_means(self) -> Vector:
        """The official system scores, otherwise means over the judged segments (NaN where there are none)."""
        return self.system_scores if self.system_scores is not None else row_means(self.scores)

    def judged(self) -> NDArray[np.bool_]:
        """Which outputs (systems × segments) have a judgment or take part in a preference."""
        judged = ~np.isnan(self.scores)
        if self.preferences is not None:
            judged[self.preferences.better, self.preferences.segment] = True
            judged[self.preferences.worse, self.preferences.segment] = True
        return judged

    def select(self, systems: Iterable[str]) -> "Judgments":
        """The judgments of some systems only; preferences in which another one occurs are left out."""
        wanted = set(systems)
        kept = [index for index, name in enumerate(self.systems) if name in wanted]
        preferences = None if self.preferences is None else self.preferences.among(kept, len(self.systems))
        return replace(
            self,
            systems=tuple(self.systems[index] for index in kept),
            scores=self.scores[kept],
            system_scores=None if self.system_scores is None else self.system_scores[kept],
            preferences=preferences,
        )

    def without_humans(self) -> "Judgments":
        """The judgments of machine translation only."""
        return self.select(name for name in self.systems if not is_human(name))

    def without_outliers(self) -> "Judgments":
        """The judgments of the systems that are not outliers by people's system scores."""
        dropped = outliers(self.system_means())
        return self.select(name for name, drop in zip(self.systems, dropped, strict=True) if not drop)

    def top_systems(self, count: int) -> "Judgments":
        """The judgments of the `count` systems that people like best; of equal ones the first."""
        scores = self.system_means()
        order = np.argsort(-scores, kind="stable")
        order = order[~np.isnan(scores[order])][:count]
        return self.select(self.systems[index] for index in order)


@dataclass(frozen=True, eq=False)
class MetricScores:
    """What one metric says of the outputs; `system_scores` where they are not means over segments (BLEU).

    `signature` says how the scores were computed, where that is known.
    """

    metric: str
    pair: str
    systems: tuple[str, ...]
    segments: tuple[str, ...]
    scores: Matrix
    system_scores: Vector | None = None
    signature: str = ""

    def __post_init__(self) -> None:
        where = f"scores of {self.metric} for {self.pair}"
        _check(where, self.systems, self.segments, self.scores, self.system_scores)

    def align(self, judgments: Judgments) -> Matrix:
        """Segment scores in the order of the judgments' systems and segments, NaN where there are none."""
        rows, columns = _places(self.systems, judgments.systems), _places(self.segments, judgments.segments)
        aligned = np.full((len(rows), len(columns)), np.nan)
        known = np.ix_(rows >= 0, columns >= 0)
        aligned[known] = self.scores[np.ix_(rows[rows >= 0], columns[columns >= 0])]
        return aligned

    def align_systems(self, judgments: Judgments) -> Vector:
        """System scores in the order of the judgments: the metric's own, otherwise means over its segments."""
        own = self.system_scores if self.system_scores is not None else row_means(self.scores)
        rows = _places(self.systems, judgments.systems)
        aligned = np.full(len(rows), np.nan)
        aligned[rows >= 0] = own[rows[rows >= 0]]
        return aligned


def add_texts(judgments: Judgments, source: Judgments) -> Judgments:
    """The judgments with the texts of another file; judgments of systems alone also get its segments."""
    if source.texts is None:
        raise PrismError(f"the file given for the texts of {judgments.pair} has no texts")
    missing = [name for name in judgments.systems if name not in source.texts.outputs]
    if missing:
        raise PrismError(f"no texts of {', '.join(missing)} ({judgments.pair}), but they are judged")
    if not judgments.segments:
        scores = np.full((len(judgments.systems), len(source.segments)), np.nan)
        return replace(judgments, segments=source.segments, scores=scores, texts=source.texts)
    columns = _places(source.segments, judgments.segments)
    if (columns < 0).any():
        absent = judgments.segments[int(np.argmax(columns < 0))]
        raise PrismError(f"no texts of segment {absent} ({judgments.pair}), but it is judged")

    def pick(texts: Sequence[str | None]) -> tuple[str | None, ...]:
        return tuple(texts[column] for column in columns)

    texts = Texts(
        pick(source.texts.sources),
        {name: pick(texts) for name, texts in source.texts.references.items()},
        {name: pick(texts) for name, texts in source.texts.outputs.items()},
    )
    return replace(judgments, texts=texts)


def _places(names: Sequence[str], wanted: Sequence[str]) -> Index:
    """Where each wanted name stands among `names`, -1 where it does not."""
    place = {name: index for index, name in enumerate(names)}
    return np.array([place.get(name, -1) for name in wanted], dtype=np.int64)


def _check(
    where: str, systems: Sequence[str], segments: Sequence[str], scores: Matrix, own: Vector | None
) -> None:
    if scores.shape != (len(systems), len(segments)):
        raise ValueError(f"{where}: {scores.shape} scores for {len(systems)} systems, {len(segments)} segments")
    if own is not None and own.shape != (len(systems),):
        raise ValueError(f"{where}: {own.shape} system scores for {len(systems)} systems")
    if np.isinf(scores).any() or (own is not None and np.isinf(own).any()):
        raise PrismError(f"{where}: a score is infinite; leave it out or give it a finite value")
