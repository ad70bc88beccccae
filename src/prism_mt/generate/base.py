"""Interface of searchers: source ids in, hypotheses out."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from prism_mt.engines.scheduler import Work
from prism_mt.models.directory import ModelDirectory


class Request(NamedTuple):
    """One sentence to translate or paraphrase."""

    source: tuple[int, ...]
    """The encoder's whole input."""
    prefix: tuple[int, ...]
    """Decoder prefix: the start token and, in most models, the tag of the target language."""
    limit: int
    """Maximum number of tokens to predict, including the prefix after its first token and the end of sentence."""


class Found(NamedTuple):
    """One hypothesis: its pieces, without prefix and end of sentence."""

    pieces: tuple[int, ...]
    score: float
    """Sum of log-probabilities, plus any search-specific terms, divided by length ** length penalty.

    The tag counts in the length with a log-probability of 0.
    """
    complete: bool = True
    """False if the limit was reached before the end of sentence."""


PendingSearch = Callable[[], list[list[Found]]]
"""A batch in flight; calling it waits for the hypotheses of every sentence."""


class Symbols(NamedTuple):
    """Ids with a special role in search."""

    end: int
    """The end of sentence."""
    forbidden: Sequence[int]
    """Never generated; the other ids share their probability."""


class Searcher(Protocol):
    """A model with a search whose options are fixed."""

    parallel: int
    """How many batches to keep in flight."""
    budget: int
    """Padded source tokens times rows per sentence that suit the device."""
    one_limit: bool
    """Whether all sentences of a batch must have the same limit."""

    def submit(self, batch: Sequence[Request]) -> PendingSearch:
        """Start a batch. Waiting for it raises OutOfMemory if the device could not hold it."""
        ...


class SearchWork(Work[Request, list[Found]]):
    """Search as work for the scheduler; every segment takes `width` rows of a batch."""

    def __init__(self, searcher: Searcher, width: int, budget: int | None = None) -> None:
        self._searcher = searcher
        self._width = width
        self._budget = budget

    @property
    def budget(self) -> int:
        """The requested budget, or the searcher's own."""
        return self._budget or self._searcher.budget

    @property
    def parallel(self) -> int:
        """The searcher's own parallelism."""
        return self._searcher.parallel

    def sizes(self, item: Request) -> tuple[int, ...]:
        """Source tokens of all rows."""
        return (len(item.source) * self._width,)

    def sort_keys(self, items: Sequence[Request]) -> Sequence[Any]:
        """Sort by potential output length, longest first."""
        return [(item.limit, len(item.source), item) for item in items]

    def group(self, item: Request) -> Any:
        """The length limit, if a batch must share one."""
        return item.limit if self._searcher.one_limit else 0

    def submit(self, batch: Sequence[Request]) -> PendingSearch:
        """Start a batch."""
        return self._searcher.submit(batch)

    def too_large(self, item: Request) -> str:
        """Report the length and the width."""
        return (
            f"the device does not have enough memory to search a sentence of {len(item.source)} tokens with "
            f"{self._width} hypotheses: use fewer, or another device"
        )


def symbols(model: ModelDirectory) -> Symbols:
    """Return the special ids of a model."""
    return Symbols(model.spec.conventions.eos, textless_ids(model))


def textless_ids(model: ModelDirectory) -> list[int]:
    """Ids that are not text and must never be generated: padding, tags, unknown, rows without a piece."""
    conventions, vocabulary = model.spec.conventions, model.target
    ids = {conventions.bos, conventions.pad, conventions.unknown}
    ids.update(tag for tag in model.spec.languages.values() if tag is not None)
    ids.update(range(len(vocabulary), model.spec.architecture.target_vocabulary))
    if vocabulary.pieces is None:
        processor = vocabulary.processor
        ids.update(index for index in range(len(vocabulary)) if processor.is_control(index))
    return sorted(ids - {conventions.eos})
