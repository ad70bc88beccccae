"""Reranking of candidates: minimum Bayes risk with any utility, or a score against the source."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from prism_mt.generate.generator import Hypothesis
from prism_mt.generate.nbest import Record


class HypothesisPair(NamedTuple):
    """A candidate and what it is compared with."""

    hypothesis: str
    reference: str | None
    """Another candidate serving as a reference; None if only the source counts."""
    source: str
    number: int
    """Record number, from 1."""


Utility = Callable[[Iterable[HypothesisPair]], Iterator[float]]
"""Rates every candidate (higher is better), in the order of the comparisons."""


def rerank(
    records: Iterable[Record],
    utility: Utility,
    by_source: bool,
    first: int = 1,
    references: Iterable[Sequence[str]] | None = None,
) -> Iterator[Record]:
    """Every record with its distinct candidates, the best first, and the score that this order comes from.

    By minimum Bayes risk the score of a candidate is its mean utility with all candidates (itself included), or with
    the record's own pseudo-references, as references: equal ones are compared once and count as often as they occur.
    `by_source` takes the utility of each candidate alone.
    """
    waiting: deque[tuple[str, Counter[str], Counter[str]]] = deque()
    given = None if references is None else iter(references)

    def comparisons() -> Iterator[HypothesisPair]:
        for number, record in enumerate(records, start=first):
            counts = Counter(one.text for one in record.hypotheses)
            others = counts if given is None else Counter(next(given))
            waiting.append((record.source, counts, others))
            for reference in (None,) if by_source else tuple(others):
                # Grouped by reference: engines encode what is given once for all that is scored against it.
                for hypothesis in counts:
                    yield HypothesisPair(hypothesis, reference, record.source, number)

    values = utility(comparisons())
    for value in values:
        source, counts, others = waiting.popleft()
        texts, weights = list(counts), [1] if by_source else list(others.values())
        table = [value, *islice(values, len(texts) * len(weights) - 1)]
        scores = [
            sum(weight * table[column * len(texts) + row] for column, weight in enumerate(weights)) / sum(weights)
            for row in range(len(texts))
        ]
        ranked = sorted(zip(texts, scores, strict=True), key=lambda pair: -pair[1])
        yield Record(source, [Hypothesis(text, score) for text, score in ranked])
