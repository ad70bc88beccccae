"""Base classes: a metric is frozen options plus declared traits, and opens a scorer for one language pair."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from prism_mt import __version__
from prism_mt._core.options import Config, default_of, option
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.text.parallel import Languages, Origin, Segment
from prism_mt.text.subwords import OverlongPolicy

if TYPE_CHECKING:
    from prism_mt.metrics.runtime import Runtime

Side = Literal["ref", "src"]
Part = Literal["hypothesis", "reference", "source"]
__all__ = [
    "ErrorSpan",
    "Languages",
    "Metric",
    "Origin",
    "Scorer",
    "Segment",
    "SegmentScore",
    "Side",
    "TokenTrace",
    "option",
    "sign",
]
REF: frozenset[Side] = frozenset({"ref"})
SRC: frozenset[Side] = frozenset({"src"})


@dataclass(frozen=True)
class TokenTrace:
    """The pieces of one forced decoding with their natural-log probabilities."""

    direction: str
    """Direction, such as `hypothesis|reference`: the first given the second."""
    pieces: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True)
class ErrorSpan:
    """Words that are wrong in the output, or that it lacks of its reference or source."""

    part: Part
    """The text that the span is in: the output, or what it is compared with."""
    start: int
    end: int
    """Characters from the first to the one after the last."""
    text: str
    severity: Literal["minor", "major"]
    probability: float
    """That a person would mark an error here."""
    reference: int = 0
    """Which of several references."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "part": self.part,
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "severity": self.severity,
            "probability": round(self.probability, 4),
        }


@dataclass(frozen=True)
class SegmentScore:
    """A segment's score, and the statistics from which a system score is computed."""

    score: float
    statistics: Sequence[float] = ()
    """Summed over segments and passed to the metric's `aggregate`; empty if a system score is the mean."""
    tokens: tuple[TokenTrace, ...] = ()
    spans: tuple[ErrorSpan, ...] = ()
    """Errors, where they were looked for."""
    error_free: float | None = None
    """Probability that a person would mark no error, where it was asked for."""


class Scorer(ABC):
    """A metric opened for a language pair: its models are loaded, and it keeps no state between calls."""

    @abstractmethod
    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        """Score segments in order, reading ahead only within a bounded window.

        `tokens` requests the pieces behind every score, if the metric has them.
        """

    @abstractmethod
    def signature(self, references: int = 1) -> str:
        """Return everything that a number depends on, as `key:value` joined by `|`."""


@dataclass(frozen=True, kw_only=True)
class Metric(Config, ABC):
    """A metric: its fields are its options, its class attributes declare what it needs and what its numbers mean.

    `name` comes from `@register`. A subclass declares options with `option(...)` and implements `open`.
    """

    name: ClassVar[str] = ""
    needs: ClassVar[frozenset[Side]] = REF
    lower_is_better: ClassVar[bool] = False
    needs_language: ClassVar[bool] = False
    """Whether the language of the outputs must be known."""
    has_tokens: ClassVar[bool] = False
    """Whether it can explain a score piece by piece."""
    runs_on_ray: ClassVar[bool] = False
    served: ClassVar[bool] = True
    """Whether `prism serve` offers it: not if its options name files or models, since requests are untrusted."""

    @abstractmethod
    def open(self, runtime: "Runtime", languages: Languages) -> Scorer:
        """Load what the metric needs."""

    def aggregate(self, totals: Sequence[float]) -> float:
        """Compute a system score from summed segment statistics."""
        raise TypeError(f"a system score of {self.name} is the mean of its segments")  # no statistics, no call

    def parts(self, totals: Sequence[float]) -> Mapping[str, float]:
        """Break a system score down, such as BLEU into precisions and brevity penalty; empty if it has no parts."""
        return {}

    @property
    def label(self) -> str:
        """Name in tables; options that differ from their defaults are in brackets, except the model."""
        return self._label(without=("model",))

    @property
    def full_label(self) -> str:
        """The label including the model, for comparisons of several models."""
        return self._label()

    def _label(self, without: tuple[str, ...] = ()) -> str:
        changed = [
            f"{one.name}={getattr(self, one.name)}"
            for one in fields(self)
            if one.name not in without and getattr(self, one.name) != default_of(one)
        ]
        return f"{self.name}[{','.join(changed)}]" if changed else self.name

    @property
    def models(self) -> frozenset[str]:
        """The translation models that it scores with."""
        return frozenset()

    @property
    def has_both_directions(self) -> bool:
        """Whether its tokens are those of the output and of what it is compared with, as error spans need them."""
        return False

    @property
    def context_segments(self) -> int:
        """How many earlier segments of a document it reads before each segment."""
        return 0


@dataclass(frozen=True, kw_only=True)
class UsesModel(Metric):
    """A metric that uses a translation model."""

    model: str = option(
        "translation model: a name of `prism models list`, a folder, the original layout as folder or tar, hf:ORG/NAME",
        DEFAULT_MODEL,
        flags=("--model-dir",),
        metavar="M",
    )

    @property
    def models(self) -> frozenset[str]:
        """Its model."""
        return frozenset({self.model})


@dataclass(frozen=True, kw_only=True)
class ReducesReferences(Metric):
    """A metric that scores each reference separately."""

    references: Literal["mean", "max"] = option("how to combine the scores of several references", "mean")


@dataclass(frozen=True, kw_only=True)
class HandlesOverlong(Metric):
    """A metric over a network that takes a limited number of pieces."""

    overlong: OverlongPolicy = option(
        "segments longer than the model's positions: stop, truncate them, or score them in windows", "error"
    )

    @property
    def overlong_in_signature(self) -> str | None:
        """The option, unless it changes no number."""
        return None if self.overlong == "error" else self.overlong


def sign(name: str, **values: object) -> str:
    """Build a signature: the metric's name, its options, the version."""
    parts = [f"{key}:{value}" for key, value in values.items() if value is not None]
    return "|".join([name, *parts, f"version:prism-{__version__}"])
