"""Interface between the training loop and an objective."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from torch import Tensor, nn

from prism_mt.training.distributed import World

Batch = TypeVar("Batch")
Weights = dict[str, Tensor]
Position = tuple[int, ...]
"""A position in a stream of updates, with whatever it takes to resume there; () is the beginning."""


@dataclass(frozen=True)
class Update(Generic[Batch]):
    """The batches of one step over all processes."""

    batches: Sequence[Batch]
    size: int
    """The divisor of summed losses: predicted tokens, pairs or judgments."""
    tokens: int
    """For the speed in the log."""
    position: Position
    """After this update."""
    examples: int
    """Since the beginning of the run, this update included."""


@dataclass(frozen=True)
class Outcome:
    """A validation."""

    value: float
    """Decides which weights are best; higher is better."""
    summary: str
    """Shown in the progress line."""
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    """Rows of the files `NAME.csv`, without the step."""


class Objective(Protocol[Batch]):
    """Data, loss, validation and weights of a run; the loop makes the steps.

    Each objective comes with a function that exports the result of a run from its configuration and checkpoints alone,
    without needing the data or an objective.
    """

    @property
    def module(self) -> nn.Module:
        """Everything that is trained."""

    @property
    def terms(self) -> Mapping[str, float]:
        """Loss terms with their weights. They share no graph: each can be freed before the next."""

    @property
    def epoch(self) -> int:
        """Examples in one epoch."""

    @property
    def interval(self) -> int:
        """Steps between validations; 0 never validates."""

    @property
    def validates_ends(self) -> bool:
        """Whether the initial and the final weights are validated whatever the interval."""

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """Columns of the validation files, without the step; the first one is the key."""

    def begin(self, world: World) -> None:
        """Set the initial weights of a new run; only the first process's count."""

    def updates(self, position: Position, processes: int) -> Iterator[Update[Batch]]:
        """All updates from a position on; a function of the seed and the position alone.

        Long preparations belong into the call, not into the first update: inside a step signals are only recorded.
        """

    def loss(self, term: str, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum a term over the batch: the loss to minimize, and the value to report."""

    def validate(self) -> Outcome:
        """Evaluate the current weights; every process takes its share."""

    def identity(self) -> dict[str, Any]:
        """What must not change between the start of a run and its resumption."""

    def weights(self) -> Weights:
        """The weights to keep in a checkpoint."""

    def load_weights(self, weights: Weights) -> None:
        """Restore what `weights` returned."""

    def export_state(self) -> dict[str, Any]:
        """What the export needs besides weights and configuration."""
