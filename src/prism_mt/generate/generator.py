"""Texts in, translations or paraphrases out, in order and in bounded memory."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from prism_mt._core.errors import PrismError
from prism_mt.engines.budgets import search_window
from prism_mt.engines.factory import EngineOptions, open_engine
from prism_mt.engines.scheduler import Scheduler
from prism_mt.generate.base import Found, Request, Searcher, SearchWork
from prism_mt.generate.options import SearchOptions
from prism_mt.models.directory import ModelDirectory
from prism_mt.text.languages import resolve

_LOG = logging.getLogger("prism_mt")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Hypothesis(NamedTuple):
    """A generated text. Scores are natural-log probabilities per token unless the length penalty says otherwise."""

    text: str
    score: float


class Route(NamedTuple):
    """From which language into which, as the model calls them; a model may not care for the first."""

    source: str | None
    target: str


class Generator:
    """A model with a search. It is loaded when the first text needs it."""

    def __init__(self, model: ModelDirectory, engine: EngineOptions, options: SearchOptions) -> None:
        if engine.engine == "ct2" and options.method != "beam":
            raise PrismError(f"the ct2 engine has no {_SEARCHES[options.method]}: use --engine torch")
        if options.method != "sample" and 2 * options.beams > model.spec.architecture.target_vocabulary:
            raise PrismError(f"a beam of {options.beams} is too large for the vocabulary of the model")
        self.model = model
        self.options = options
        self.engine_options = engine
        self._cut_off = 0

    @cached_property
    def searcher(self) -> Searcher:
        """The loaded model."""
        engine = open_engine(self.model, self.engine_options)
        if self.engine_options.engine == "ct2":
            from prism_mt.engines.ct2 import CT2Engine
            from prism_mt.generate.ct2_search import CT2Searcher

            assert isinstance(engine, CT2Engine)
            return CT2Searcher(self.model, engine, self.options)
        from prism_mt.engines.torch import TorchEngine
        from prism_mt.generate.torch_search import TorchSearcher

        assert isinstance(engine, TorchEngine)
        return TorchSearcher(self.model, engine, self.options)

    def route(self, target: str, source: str | None = None) -> Route:
        """The languages by the model's own names; an error when it cannot go from one to the other."""
        spec = self.model.spec
        route = Route(resolve(source, spec.languages) if source else None, resolve(target, spec.languages))
        if spec.target_languages and route.target not in spec.target_languages:
            raise PrismError(f"the model {spec.name} writes {', '.join(spec.target_languages)} only, not {target}")
        if spec.source_languages and route.source is not None and route.source not in spec.source_languages:
            raise PrismError(f"the model {spec.name} reads {', '.join(spec.source_languages)} only, not {source}")
        if spec.conventions.needs_source_language and route.source is None:
            raise PrismError(f"the model {spec.name} needs the language of the source: give --from")
        return route

    def generate(
        self, texts: Iterable[str], route: Route, where: Callable[[int], str] = lambda place: f"text {place + 1}"
    ) -> Iterator[list[Hypothesis]]:
        """For every text its hypotheses, the best first (samples: as drawn); blanks for a blank text.

        `where` gives what a message calls the text at a place, counted from 0.
        """
        yield from self.search(texts, route, where)
        self.tell_cuts()

    def search(
        self, texts: Iterable[str], route: Route, where: Callable[[int], str]
    ) -> Iterator[list[Hypothesis]]:
        """As `generate`, but one part of the texts of a run: `tell_cuts` is for its end."""
        rest = enumerate(texts)
        while chunk := list(islice(rest, search_window(self.options.width))):
            requests = [self._request(text, route, place, where) for place, text in chunk]
            asked = [request for request in requests if request]
            found = iter(self._scheduler.run(asked) if asked else [])
            for request in requests:
                yield self._hypotheses(next(found)) if request else [Hypothesis("", 0.0)] * self.options.n

    def tell_cuts(self) -> None:
        """Say how many hypotheses did not come to their ends since this was last told."""
        if self._cut_off:
            word = "hypothesis was" if self._cut_off == 1 else "hypotheses were"
            length = f"{self.options.max_length} tokens" if self.options.max_length else "twice that of the input"
            _LOG.warning("%s %s cut off at the largest length, %s", f"{self._cut_off:,}", word, length)
        self._cut_off = 0

    def check(self, texts: Iterable[str], route: Route, where: Callable[[int], str]) -> None:
        """An error if a text is too long, before the work on those before it."""
        for place, text in enumerate(texts):
            self._request(text, route, place, where)

    def _request(self, text: str, route: Route, place: int, where: Callable[[int], str]) -> Request | None:
        pieces = self.model.source.encode(text) if text.strip() else []
        if not pieces:  # blank, or nothing but characters that normalisation takes away
            return None
        spec = self.model.spec
        source_tag = spec.languages[route.source] if route.source else None
        target_tag = spec.languages[route.target]
        conventions, longest = spec.conventions, spec.architecture.max_positions
        source = conventions.encode_source(pieces, source_tag, target_tag)
        if len(source) > longest:
            raise PrismError(
                f"{where(place)} has {len(source):,} pieces, and the model takes at most {longest:,}: split it"
            )
        prefix = conventions.encode_target([], target_tag)[: conventions.target.index("pieces")]
        # In steps of 32, so that sentences of similar length share a limit and can share a batch.
        limit = self.options.max_length or -(-(2 * len(source) + 20) // 32) * 32
        return Request(source, prefix, min(limit, longest))

    @cached_property
    def _scheduler(self) -> Scheduler[Request, list[Found]]:
        return Scheduler(SearchWork(self.searcher, self.options.width))

    def _hypotheses(self, found: Sequence[Found]) -> list[Hypothesis]:
        self._cut_off += sum(not one.complete for one in found)
        # Pieces that stand for single bytes could make line feeds and tabs, which would break the output's lines.
        return [
            Hypothesis(CONTROL.sub(" ", self.model.target.decode(one.pieces)).strip(), one.score) for one in found
        ]


_SEARCHES = {
    "diverse": "diverse beam search",
    "sample": "sampling that does not depend on the batch",
    "penalty": "copy penalty",
}
