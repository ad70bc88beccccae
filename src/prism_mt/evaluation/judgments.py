"""Human judgments of one test set and language pair: ratings, preferences, and the texts behind them.

Scores are matrices of systems × segments in which NaN means "not judged". Higher is always better: readers negate
error counts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.ratings import Ratings
from prism_mt.stats.arrays import Index, Mask, Matrix, Vector, row_means
from prism_mt.stats.outliers import outliers

# The shared tasks' names of human translations: Human-A.0, HUMAN, ref-A, refA, refb, ref.
_HUMAN = re.compile(r"(human|ref)([-_.]?[a-z])?(\.\d+)?", re.IGNORECASE)
_NUMBER = re.compile(r"(?P<stem>.*?\D)\d+")


def is_human(system: str) -> bool:
    """Whether a system's name is one that the shared tasks give to human translations."""
    return _HUMAN.fullmatch(system) is not None


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts behind judgments, one item per segment; None if a system or reference has no text."""

    sources: tuple[str | None, ...]
    references: dict[str, tuple[str | None, ...]]
    outputs: dict[str, tuple[str | None, ...]]

    def take(self, columns: Iterable[int]) -> "Texts":
        """The texts of some segments, in the given order."""
        columns = list(columns)

        def pick(texts: Sequence[str | None]) -> tuple[str | None, ...]:
            return tuple(texts[column] for column in columns)

        return Texts(
            pick(self.sources),
            {name: pick(texts) for name, texts in self.references.items()},
            {name: pick(texts) for name, texts in self.outputs.items()},
        )


@dataclass(frozen=True, eq=False)
class Preferences:
    """Human preferences between two outputs of a segment (daRR): indices of segment and systems.

    `agreements` says whether metrics with unknown scores agree with each pair (1, 0, -1).
    """

    segment: Index
    better: Index
    worse: Index
    agreements: dict[str, Vector] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.segment)

    def select(self, systems: Index, segments: Index) -> "Preferences":
        """Keep preferences by the new indices of systems and segments; -1 drops one."""
        segment, better, worse = segments[self.segment], systems[self.better], systems[self.worse]
        kept = (segment >= 0) & (better >= 0) & (worse >= 0)
        agreements = {metric: values[kept] for metric, values in self.agreements.items()}
        return Preferences(segment[kept], better[kept], worse[kept], agreements)


@dataclass(frozen=True, eq=False)
class Judgments:
    """Human judgments of one test set in one language pair.

    There may be no ratings (only systems were judged, or only preferences are known). `system_scores` are the official
    ones if known; otherwise means over segments are used.
    """

    name: str
    """Display name of the test set: its own name, or that of its file."""
    pair: str
    systems: tuple[str, ...]
    segments: tuple[str, ...]
    ratings: Ratings
    system_scores: Vector | None = None
    preferences: Preferences | None = None
    texts: Texts | None = None
    testset: str = ""
    """Name of the test set according to the data itself; never that of a file."""
    documents: tuple[str, ...] = ()
    """Document of every segment; empty if unknown."""
    domains: tuple[str, ...] = ()
    families: Mapping[str, str] = field(default_factory=dict)
    """Explicitly given system families; others are inferred from names."""
    standard_reference: str | None = None
    """The standard reference according to the data itself."""

    def __post_init__(self) -> None:
        where, systems, segments = f"judgments of {self.place}", len(self.systems), len(self.segments)
        ratings = self.ratings
        if len(ratings) and (ratings.system.max() >= systems or ratings.segment.max() >= segments):
            raise ValueError(f"{where}: ratings of more than {systems} systems or {segments} segments")
        for labels in (self.documents, self.domains):
            if labels and len(labels) != segments:
                raise ValueError(f"{where}: {len(labels)} documents or domains for {segments} segments")
        if self.system_scores is not None and self.system_scores.shape != (systems,):
            raise ValueError(f"{where}: {self.system_scores.shape} system scores for {systems} systems")
        if np.isinf(ratings.score).any() or (
            self.system_scores is not None and np.isinf(self.system_scores).any()
        ):
            raise PrismError(f"{where}: a score is infinite; leave it out or give it a finite value")

    def __repr__(self) -> str:
        raters, ratings = len(self.ratings.raters), len(self.ratings)
        size = f"{len(self.systems)} systems, {len(self.segments)} segments, {ratings} ratings by {raters} raters"
        return f"<judgments of {self.place}: {size}>"

    @property
    def place(self) -> str:
        """Test set and language pair; many test sets have the pair in their names already."""
        return self.name if self.pair in self.name else f"{self.name} {self.pair}".strip()

    @cached_property
    def scores(self) -> Matrix:
        """Ratings averaged over raters, systems × segments."""
        return self.ratings.average(len(self.systems), len(self.segments))

    def system_means(self) -> Vector:
        """The official system scores, or means over the judged segments (NaN if there are none)."""
        return self.system_scores if self.system_scores is not None else row_means(self.scores)

    def judged(self) -> Mask:
        """Outputs (systems × segments) that have a rating or occur in a preference."""
        judged = ~np.isnan(self.scores)
        if self.preferences is not None:
            judged[self.preferences.better, self.preferences.segment] = True
            judged[self.preferences.worse, self.preferences.segment] = True
        return judged

    def family_names(self) -> tuple[str, ...]:
        """The family of every system: the given one, or else its name without a trailing number that others share."""
        derived = families_by_name(self.systems)
        return tuple(self.families.get(system, derived[system]) for system in self.systems)

    def select(self, systems: Iterable[str]) -> "Judgments":
        """Restrict to some systems; preferences involving another one are dropped."""
        wanted = set(systems)
        kept = [index for index, name in enumerate(self.systems) if name in wanted]
        places, every = _new_places(kept, len(self.systems)), np.arange(len(self.segments))
        return replace(
            self,
            systems=tuple(self.systems[index] for index in kept),
            ratings=self.ratings.select(places, every),
            system_scores=None if self.system_scores is None else self.system_scores[kept],
            preferences=None if self.preferences is None else self.preferences.select(places, every),
        )

    def without_humans(self) -> "Judgments":
        """Restrict to machine translation."""
        return self.select(name for name in self.systems if not is_human(name))

    def without_outliers(self) -> "Judgments":
        """Restrict to systems that are not outliers by human system scores."""
        dropped = outliers(self.system_means())
        return self.select(name for name, drop in zip(self.systems, dropped, strict=True) if not drop)

    def top_systems(self, count: int) -> "Judgments":
        """Restrict to the `count` best systems according to humans; among equals, the first."""
        scores = self.system_means()
        order = np.argsort(-scores, kind="stable")
        order = order[~np.isnan(scores[order])][:count]
        return self.select(self.systems[index] for index in order)

    def on_segments(self, columns: Sequence[int]) -> "Judgments":
        """Restrict to some segments; official system scores, which cover all segments, are dropped."""
        places, every = _new_places(columns, len(self.segments)), np.arange(len(self.systems))

        def pick(labels: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(labels[column] for column in columns) if labels else ()

        return replace(
            self,
            segments=pick(self.segments),
            ratings=self.ratings.select(every, places),
            system_scores=None,
            preferences=None if self.preferences is None else self.preferences.select(every, places),
            texts=None if self.texts is None else self.texts.take(columns),
            documents=pick(self.documents),
            domains=pick(self.domains),
        )


def families_by_name(systems: Sequence[str]) -> dict[str, str]:
    """Group systems whose names differ only in a trailing number; all others are their own families."""
    found = [_NUMBER.fullmatch(system) for system in systems]
    stems = [match["stem"] if match else None for match in found]
    return {
        system: stem if stem is not None and stems.count(stem) > 1 else system
        for system, stem in zip(systems, stems, strict=True)
    }


def add_texts(judgments: Judgments, source: Judgments) -> Judgments:
    """Add the texts of another file; judgments of systems alone also get its segments."""
    if source.texts is None:
        raise PrismError(f"the file given for the texts of {judgments.pair} has no texts")
    missing = [name for name in judgments.systems if name not in source.texts.outputs]
    if missing:
        raise PrismError(f"no texts of {', '.join(missing)} ({judgments.pair}), but they are judged")
    standard = judgments.standard_reference or source.standard_reference
    if not judgments.segments:
        return replace(judgments, segments=source.segments, texts=source.texts, standard_reference=standard)
    place = {name: index for index, name in enumerate(source.segments)}
    absent = [name for name in judgments.segments if name not in place]
    if absent:
        raise PrismError(f"no texts of segment {absent[0]} ({judgments.pair}), but it is judged")
    texts = source.texts.take(place[name] for name in judgments.segments)
    return replace(judgments, texts=texts, standard_reference=standard)


def _new_places(kept: Sequence[int], count: int) -> Index:
    """The new index of each of `count` items among those kept, -1 for the others."""
    places = np.full(count, -1, dtype=np.int64)
    places[list(kept)] = np.arange(len(kept))
    return places
