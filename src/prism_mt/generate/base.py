"""What a searcher is: source ids in, hypotheses out."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from prism_mt.models.directory import ModelDirectory


class Request(NamedTuple):
    """One sentence to translate or paraphrase."""

    source: tuple[int, ...]
    """The encoder's whole input."""
    prefix: tuple[int, ...]
    """What the decoder is given: its start token and, in most models, the tag of the target language."""
    limit: int
    """Most tokens to predict, those of the prefix after its first and the end of sentence included."""


class Found(NamedTuple):
    """One hypothesis: its pieces, without prefix and end of sentence."""

    pieces: tuple[int, ...]
    score: float
    """Sum of log-probabilities, with whatever the search adds to them, over length to the length penalty.

    The tag counts in the length with a log-probability of 0.
    """
    complete: bool = True
    """False where the limit was reached before the end of sentence."""


PendingSearch = Callable[[], list[list[Found]]]
"""A batch under way; calling it waits for the hypotheses of every sentence."""


class Searcher(Protocol):
    """A model with a search whose options are fixed."""

    parallel: int
    """How many batches are worth having under way at once."""
    budget: int
    """Padded source tokens times rows per sentence that suit the device."""
    one_limit: bool
    """Whether all sentences of a batch must have the same limit."""

    def submit(self, batch: Sequence[Request]) -> PendingSearch:
        """Start on a batch. Waiting for it raises OutOfMemory when the device could not hold it."""
        ...


def textless_ids(model: ModelDirectory) -> list[int]:
    """Ids that are no part of a text and must never be generated: padding, tags, unknown, rows without a piece."""
    conventions, vocabulary = model.spec.conventions, model.target
    ids = {conventions.bos, conventions.pad, conventions.unknown}
    ids.update(tag for tag in model.spec.languages.values() if tag is not None)
    ids.update(range(len(vocabulary), model.spec.architecture.target_vocabulary))
    if vocabulary.pieces is None:
        processor = vocabulary.processor
        ids.update(index for index in range(len(vocabulary)) if processor.is_control(index))
    return sorted(ids - {conventions.eos})
