"""Scores of metrics × systems × segments: the single result type, from metrics through comparison to every report."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.metrics.base import REF, ErrorSpan, Languages, Side, TokenTrace

if TYPE_CHECKING:
    import pandas

    from prism_mt.text.parallel import ParallelText

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Traces = tuple[tuple[TokenTrace, ...], ...]
"""Of one system: for every segment its forced decodings."""
Spans = tuple[tuple[ErrorSpan, ...], ...]
"""Of one system: for every segment its errors."""


@dataclass(frozen=True, eq=False)
class SystemScores:
    """Scores of one system by one metric."""

    metric: str
    system: str
    score: float
    segments: Vector
    signature: str = ""
    tokens: Traces | None = None
    """Pieces with log-probabilities, where they were asked for."""
    spans: Spans | None = None
    """Errors of every segment, where any were found."""
    error_free: Vector | None = None
    """Probability that a person would mark no error in a segment, where it was asked for."""

    def __repr__(self) -> str:
        return f"<{self.metric} of {self.system}: {self.score:.4f}, {_count(len(self.segments), 'segment')}>"


@dataclass(frozen=True, eq=False)
class MetricScores:
    """Scores of all systems by one metric. Segments without a score are NaN."""

    metric: str
    systems: tuple[str, ...]
    segments: Matrix
    """Systems × segments."""
    system_scores: Vector
    signature: str = ""
    lower_is_better: bool = False
    statistics: tuple[Matrix, ...] | None = None
    """One matrix per system with a row per segment, whose sums `aggregate` turns into a score; None for means."""
    aggregate: Callable[[Sequence[float]], float] | None = None
    segment_ids: tuple[str, ...] = ()
    """Names of the segments, if they have any; otherwise they are numbered."""
    pair: str = ""
    """Language pair, if known."""
    tokens: tuple[Traces, ...] | None = None
    needs: frozenset[Side] = REF
    """What outputs were compared with."""
    parts: tuple[Mapping[str, float], ...] = ()
    """For every system what its score is made of, such as the precisions of BLEU; empty where there are no parts."""
    spans: tuple[Spans, ...] | None = None
    error_free: Matrix | None = None
    """Systems × segments: probabilities that a person would mark no error."""

    def __post_init__(self) -> None:
        where = f"scores of {self.metric}" + (f" for {self.pair}" if self.pair else "")
        if self.segments.ndim != 2 or len(self.segments) != len(self.systems):
            raise ValueError(f"{where}: {self.segments.shape} scores for {len(self.systems)} systems")
        if self.segment_ids and self.segments.shape[1] != len(self.segment_ids):
            raise ValueError(f"{where}: {self.segments.shape} scores for {len(self.segment_ids)} segments")
        if self.system_scores.shape != (len(self.systems),):
            raise ValueError(f"{where}: {self.system_scores.shape} scores for {len(self.systems)} systems")
        if np.isinf(self.segments).any() or np.isinf(self.system_scores).any():
            raise PrismError(f"{where}: a score is infinite; leave it out or give it a finite value")

    def __getitem__(self, system: str) -> SystemScores:
        """One system by name."""
        if system not in self.systems:
            raise KeyError(f"no system {system!r}; there are {', '.join(self.systems)}")
        row = self.systems.index(system)
        tokens = None if self.tokens is None else self.tokens[row]
        score = float(self.system_scores[row])
        return SystemScores(
            self.metric,
            system,
            score,
            self.segments[row],
            self.signature,
            tokens,
            None if self.spans is None else self.spans[row],
            None if self.error_free is None else self.error_free[row],
        )

    def __iter__(self) -> Iterator[SystemScores]:
        return (self[system] for system in self.systems)

    def __repr__(self) -> str:
        shape = f"{_count(len(self.systems), 'system')}, {_count(self.segments.shape[1], 'segment')}"
        return f"<scores of {self.metric}: {shape}>"

    @property
    def higher(self) -> "MetricScores":
        """The same scores with higher always better: error rates are negated."""
        if not self.lower_is_better:
            return self
        return replace(
            self,
            segments=-self.segments,
            system_scores=-self.system_scores,
            lower_is_better=False,
            statistics=None if self.statistics is None else self.statistics,
            aggregate=None if self.aggregate is None else _negated(self.aggregate),
        )

    @cached_property
    def sums(self) -> tuple[Matrix, ...]:
        """Statistics of every system; (score, 1) for metrics whose system score is a mean."""
        if self.statistics is not None:
            return self.statistics
        return tuple(np.stack([row, np.ones(len(row))], axis=1) for row in self.segments)

    def combine(self, totals: Sequence[float]) -> float:
        """Compute a system score from summed statistics."""
        return self.aggregate(totals) if self.aggregate is not None else totals[0] / totals[1]

    def on(self, chosen: NDArray[np.int64] | slice) -> Vector:
        """System scores on some of the segments."""
        return np.array([self.combine(rows[chosen].sum(axis=0).tolist()) for rows in self.sums])

    def align(self, systems: Sequence[str], segment_ids: Sequence[str]) -> Matrix:
        """Segment scores in another order of systems and segments; NaN for missing ones."""
        own = self.segment_ids or tuple(str(number + 1) for number in range(self.segments.shape[1]))
        rows, columns = _places(self.systems, systems), _places(own, segment_ids)
        aligned = np.full((len(rows), len(columns)), np.nan)
        known = np.ix_(rows >= 0, columns >= 0)
        aligned[known] = self.segments[np.ix_(rows[rows >= 0], columns[columns >= 0])]
        return aligned

    def align_systems(self, systems: Sequence[str]) -> Vector:
        """System scores in another order; NaN for missing ones."""
        rows = _places(self.systems, systems)
        aligned = np.full(len(rows), np.nan)
        aligned[rows >= 0] = self.system_scores[rows[rows >= 0]]
        return aligned


class Scores(Mapping[str, MetricScores]):
    """Scores by metric: `scores["prism-ref"]["A"].segments`."""

    def __init__(
        self,
        metrics: Iterable[MetricScores],
        text: "ParallelText | None" = None,
        languages: Languages = Languages(),  # noqa: B008  immutable
    ) -> None:
        self._metrics = {scores.metric: scores for scores in metrics}
        self.text = text
        """The texts behind the scores, which are not saved with them."""
        self.languages = languages

    def __getitem__(self, metric: str) -> MetricScores:
        if metric not in self._metrics:
            raise KeyError(f"no scores of {metric!r}; there are {', '.join(self._metrics) or 'none'}")
        return self._metrics[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, in the order given."""
        return tuple(dict.fromkeys(system for scores in self.values() for system in scores.systems))

    def by_document(self, metric: str) -> dict[str, Vector]:
        """Return the system scores of a metric on every document; empty where documents were not given."""
        if self.text is None or self.text.documents is None:
            return {}
        places: dict[str, list[int]] = {}
        for place, name in enumerate(self.text.documents):
            places.setdefault(name, []).append(place)
        return {name: self[metric].on(np.array(chosen)) for name, chosen in places.items()}

    def item(self) -> SystemScores:
        """Return the only system's scores by the only metric."""
        if len(self) != 1 or len(self.systems) != 1:
            raise PrismError(
                f"there are {_count(len(self), 'metric')} and {_count(len(self.systems), 'system')}: "
                'choose one of each with scores["METRIC"]["SYSTEM"]'
            )
        [scores] = self.values()
        return scores[self.systems[0]]

    def to_dict(self, tokens: bool = True) -> dict[str, Any]:
        """Return plain lists, numbers and strings; a missing score is None."""
        return {
            "metrics": [
                {
                    "metric": scores.metric,
                    "signature": scores.signature,
                    "lower_is_better": scores.lower_is_better,
                    "systems": [_system_dict(one, tokens) for one in scores],
                }
                for scores in self.values()
            ]
        }

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a row per metric, system and segment (numbered from 1)."""
        try:
            import pandas
        except ImportError as error:
            raise PrismError("to_pandas needs pandas: pip install pandas") from error
        frames = [
            pandas.DataFrame(
                {
                    "metric": scores.metric,
                    "system": one.system,
                    "segment": scores.segment_ids or range(1, len(one.segments) + 1),
                    "score": one.segments,
                }
            )
            for scores in self.values()
            for one in scores
        ]
        columns = ["metric", "system", "segment", "score"]
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame(columns=columns)

    def save(self, path: str | Path) -> None:
        """Write everything but the texts to one file, a zip of arrays that `Scores.load` reads."""
        from prism_mt.metrics.scores_file import write_scores

        write_scores(Path(path), list(self.values()), self.languages)

    @classmethod
    def load(cls, path: str | Path) -> "Scores":
        """Read a file written by `save`."""
        from prism_mt.metrics.scores_file import read_scores

        metrics, languages = read_scores(Path(path))
        return cls(metrics, languages=languages)

    def _rows(self) -> list[list[str]]:
        """The displayed table: a row per system, a column per metric."""
        header = ["system", *self]
        body = [
            [
                system,
                *(f"{scores[system].score:.4f}" if system in scores.systems else "–" for scores in self.values()),
            ]
            for system in self.systems
        ]
        return [header, *body]

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
        lines = [
            "  ".join(
                cell.ljust(width) if place == 0 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show a table in notebooks."""
        from markupsafe import escape

        header, *body = self._rows()
        top = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        rest = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
        return f"<table><thead><tr>{top}</tr></thead><tbody>{rest}</tbody></table>"


def _system_dict(one: SystemScores, tokens: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "system": one.system,
        "score": None if np.isnan(one.score) else one.score,
        "segments": [None if np.isnan(value) else float(value) for value in one.segments],
    }
    if tokens and one.tokens is not None:
        found["tokens"] = [
            [
                {"direction": trace.direction, "pieces": list(trace.pieces), "scores": list(trace.scores)}
                for trace in traces
            ]
            for traces in one.tokens
        ]
    if one.spans is not None:
        found["spans"] = [[span.to_dict() for span in own] for own in one.spans]
    if one.error_free is not None:
        found["error_free"] = [float(value) for value in one.error_free]
    return found


def _negated(aggregate: Callable[[Sequence[float]], float]) -> Callable[[Sequence[float]], float]:
    return lambda totals: -aggregate(totals)


def _places(names: Sequence[str], wanted: Sequence[str]) -> NDArray[np.int64]:
    """The index of each wanted name in `names`, -1 if absent."""
    place = {name: index for index, name in enumerate(names)}
    return np.array([place.get(name, -1) for name in wanted], dtype=np.int64)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
