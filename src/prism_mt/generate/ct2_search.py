"""Greedy and beam search on CTranslate2.

Its sampling is not offered: one generator serves whatever is in a thread's batch and cannot be reseeded, so a sample
would depend on all sentences before it.
"""

from collections.abc import Sequence

from prism_mt.engines.budgets import SEARCH
from prism_mt.engines.ct2 import CT2Engine, memory_errors
from prism_mt.generate.base import Found, PendingSearch, Request, textless_ids
from prism_mt.generate.options import SearchConfig
from prism_mt.models.directory import ModelDirectory

_NO_LENGTH_PENALTY = 1e-12
"""Used instead of 0, with which CTranslate2 ends a search earlier than we do."""


class CT2Searcher:
    """Returns all hypotheses of the beam, with the same scores as our own beam search."""

    one_limit = True

    def __init__(self, model: ModelDirectory, engine: CT2Engine, config: SearchConfig) -> None:
        self._translator = engine.translator
        self._config = config
        self._end = str(model.spec.conventions.eos)
        self._suppressed = [[str(index)] for index in textless_ids(model)]
        self.parallel = engine.parallel
        self.budget = SEARCH["ct2"].on(engine.device)

    def submit(self, batch: Sequence[Request]) -> PendingSearch:
        """Queue a batch of requests with the same limit for the next free thread or GPU."""
        prefix = len(batch[0].prefix) - 1
        futures = self._translator.translate_batch(
            [[str(token) for token in request.source] for request in batch],
            [[str(token) for token in request.prefix] for request in batch],
            beam_size=self._config.beams,
            num_hypotheses=self._config.beams,
            length_penalty=self._config.length_penalty or _NO_LENGTH_PENALTY,
            suppress_sequences=self._suppressed,
            # With the end token, a hypothesis has the length that we divide by.
            return_end_token=True,
            return_scores=True,
            max_input_length=0,
            max_decoding_length=batch[0].limit,
            min_decoding_length=prefix + 1,
            asynchronous=True,
        )

        def wait() -> list[list[Found]]:
            with memory_errors():
                return [self._found(future.result(), prefix) for future in futures]

        return wait

    def _found(self, result: object, prefix: int) -> list[Found]:
        """Convert CTranslate2's result, without tag and end of sentence."""
        found = []
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):  # type: ignore[attr-defined]
            complete = tokens[-1] == self._end
            pieces = tokens[prefix : len(tokens) - complete]
            found.append(Found(tuple(map(int, pieces)), score, complete))
        return found
