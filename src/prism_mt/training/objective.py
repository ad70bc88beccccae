"""What the training loop knows of the thing it trains."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from torch import Tensor, nn

from prism_mt.training.distributed import World

Batch = TypeVar("Batch")
Weights = dict[str, Tensor]
Position = tuple[int, ...]
"""A place in a stream of updates, whatever it takes to go on from there; () is the beginning."""


@dataclass(frozen=True)
class Update(Generic[Batch]):
    """The batches of one step, those of all processes together."""

    batches: Sequence[Batch]
    size: int
    """What sums of losses are divided by: predicted tokens, pairs or judgments."""
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
    """For the line on standard error."""
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    """Rows of the files `NAME.csv`, without the step."""


class Objective(Protocol[Batch]):
    """Data, loss, validation and weights of a run; the steps themselves are the loop's.

    Beside each objective stands a function that exports the result of a run, from its configuration and checkpoints
    alone: it needs neither the data nor an objective.
    """

    @property
    def module(self) -> nn.Module:
        """Everything that is trained."""

    @property
    def terms(self) -> Mapping[str, float]:
        """Terms of the loss with their weights. They share nothing: each can be forgotten before the next."""

    @property
    def epoch(self) -> int:
        """Examples in one epoch."""

    @property
    def interval(self) -> int:
        """Steps between validations; 0 never validates."""

    @property
    def validates_ends(self) -> bool:
        """Whether the weights before training and the last ones are validated whatever the interval."""

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """Columns of the files that validations are recorded in, without the step; the first one is the key."""

    def begin(self, world: World) -> None:
        """Set the initial weights of a run that does not go on from a checkpoint; only the first process's count."""

    def updates(self, position: Position, processes: int) -> Iterator[Update[Batch]]:
        """All updates from a position on; a function of the seed and the position alone."""

    def loss(self, term: str, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sums of a term over the batch: what is minimized, and what is reported."""

    def validate(self) -> Outcome:
        """Measure the weights as they are now; every process takes its share."""

    def identity(self) -> dict[str, Any]:
        """What must not change between the beginning of a run and its resumption."""

    def weights(self) -> Weights:
        """What a checkpoint keeps."""

    def load_weights(self, weights: Weights) -> None:
        """Put back what `weights` gave."""

    def export_state(self) -> dict[str, Any]:
        """What `export` needs besides weights and configuration."""
