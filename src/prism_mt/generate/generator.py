"""Texts in, n-best lists of translations or paraphrases out, in order and in bounded memory."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Union

from prism_mt._core.errors import PrismError
from prism_mt.engines.budgets import search_window
from prism_mt.engines.config import EngineConfig, Task, resolve_engine
from prism_mt.engines.local import check_local, open_local
from prism_mt.engines.scheduler import Scheduler
from prism_mt.generate.base import Found, Request, Searcher, SearchWork
from prism_mt.generate.options import SearchConfig
from prism_mt.models.directory import ModelDirectory
from prism_mt.text.languages import resolve

if TYPE_CHECKING:
    from prism_mt.engines.ct2 import CT2Engine
    from prism_mt.engines.torch import TorchEngine

_LOG = logging.getLogger("prism_mt")
_WIDEST = 4
"""How often the beam may grow, as a factor, in the search for more distinct texts."""
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Hypothesis(NamedTuple):
    """A generated text. Scores are natural-log probabilities per token unless the length penalty says otherwise."""

    text: str
    score: float


class Route(NamedTuple):
    """Source and target language in the model's own codes; a model may ignore the source."""

    source: str | None
    target: str


class _Candidate(NamedTuple):
    """A hypothesis, and whether it is finished."""

    text: str
    score: float
    complete: bool


def name_by_number(place: int) -> str:
    """Refer to a text in messages by its number."""
    return f"text {place + 1}"


class Generator:
    """A model with a search, loaded when the first text needs it."""

    def __init__(self, model: ModelDirectory, engine: EngineConfig, options: SearchConfig) -> None:
        if engine.ray:
            raise PrismError("a Ray cluster can score but not generate: omit `ray=`")
        self.model = model
        self.options = options
        self._task: Task = "beam" if options.method == "beam" else "search"
        self.engine_config = resolve_engine(engine, self._task)
        check_local(self.engine_config)
        if options.method != "sample" and options.beams > self._widest_beam:
            raise PrismError(f"a beam of {options.beams} is too large for the vocabulary of the model")
        self._schedulers: dict[int, Scheduler[Request, list[Found]]] = {}
        self._cut_off = 0
        self._short = 0

    @cached_property
    def _engine(self) -> Union["CT2Engine", "TorchEngine"]:
        return open_local(self.model, self.engine_config, task=self._task)

    def searcher(self, options: SearchConfig) -> Searcher:
        """Load the model with a search."""
        from prism_mt.engines.ct2 import CT2Engine

        if isinstance(self._engine, CT2Engine):
            from prism_mt.generate.ct2_search import CT2Searcher

            return CT2Searcher(self.model, self._engine, options)
        from prism_mt.generate.torch_search import TorchSearcher

        return TorchSearcher(self.model, self._engine, options)

    def route(self, target: str, source: str | None = None) -> Route:
        """Resolve languages to the model's own codes, or fail if it cannot translate between them."""
        spec = self.model.spec
        route = Route(resolve(source, spec.languages) if source else None, resolve(target, spec.languages))
        if spec.target_languages and route.target not in spec.target_languages:
            raise PrismError(f"the model {spec.name} only writes {', '.join(spec.target_languages)}, not {target}")
        if spec.source_languages and route.source is not None and route.source not in spec.source_languages:
            raise PrismError(f"the model {spec.name} only reads {', '.join(spec.source_languages)}, not {source}")
        if spec.conventions.needs_source_language and route.source is None:
            raise PrismError(f"the model {spec.name} needs the source language: set `src_lang=`")
        return route

    def generate(
        self, texts: Iterable[str], route: Route, where: Callable[[int], str] = name_by_number
    ) -> Iterator[list[Hypothesis]]:
        """Yield the hypotheses of every text, best first (samples: as drawn); empty strings for a blank text.

        `where` returns the name of the text at an index, counted from 0, for messages.
        """
        yield from self.search(texts, route, where)
        self.tell_cuts()

    def search(
        self, texts: Iterable[str], route: Route, where: Callable[[int], str]
    ) -> Iterator[list[Hypothesis]]:
        """Generate for one part of the texts of a run; call `tell_cuts` at the end."""
        rest = enumerate(texts)
        while chunk := list(islice(rest, search_window(self.options.width))):
            requests = [self._request(text, route, place, where) for place, text in chunk]
            found = self._search([request for request in dict.fromkeys(requests) if request])
            for request in requests:
                if request is None:
                    yield [Hypothesis("", 0.0)] * self.options.n
                    continue
                self._cut_off += sum(not one.complete for one in found[request])
                self._short += len(found[request]) < self.options.n
                yield [Hypothesis(one.text, one.score) for one in found[request]]

    def tell_cuts(self) -> None:
        """Warn about hypotheses cut off and lists too short since the last call."""
        if self._cut_off:
            word = "hypothesis was" if self._cut_off == 1 else "hypotheses were"
            length = f"{self.options.max_length} tokens" if self.options.max_length else "twice that of the input"
            _LOG.warning("%s %s cut off at the maximum length, %s", f"{self._cut_off:,}", word, length)
        if self._short:
            word = "input has" if self._short == 1 else "inputs have"
            _LOG.warning("%s %s fewer than %d different hypotheses", f"{self._short:,}", word, self.options.n)
        self._cut_off = self._short = 0

    def check(self, texts: Iterable[str], route: Route, where: Callable[[int], str]) -> None:
        """Fail if a text is too long, before working on those before it."""
        for place, text in enumerate(texts):
            self._request(text, route, place, where)

    def _request(self, text: str, route: Route, place: int, where: Callable[[int], str]) -> Request | None:
        pieces = self.model.source.encode(text) if text.strip() else []
        if not pieces:  # blank, or only characters that normalization removes
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

    def _search(self, requests: Sequence[Request]) -> dict[Request, list[_Candidate]]:
        """Search for each request; different pieces can yield the same text, of which the best is kept.

        If that leaves fewer texts than requested and the beam size is not the user's, the search is widened.
        """
        if self.options.method == "sample":
            drawn = self._run(requests, self.options)
            return {request: [self._decoded(one) for one in found] for request, found in drawn.items()}
        texts: dict[Request, list[_Candidate]] = {request: [] for request in requests}
        short, options = list(requests), self.options
        while short:
            for request, found in self._run(short, options).items():
                texts[request] = _distinct([*texts[request], *map(self._decoded, found)])
            short = [request for request in short if len(texts[request]) < self.options.n]
            beam = 2 * options.beams
            if self.options.beam is not None or beam > min(_WIDEST * self.options.beams, self._widest_beam):
                break
            options = replace(options, beam=beam)
        return {request: found[: self.options.n] for request, found in texts.items()}

    def _run(self, requests: Sequence[Request], options: SearchConfig) -> dict[Request, list[Found]]:
        if not requests:
            return {}
        if options.width not in self._schedulers:
            work = SearchWork(self.searcher(options), options.width, self.engine_config.batch_tokens)
            self._schedulers[options.width] = Scheduler(work)
        return dict(zip(requests, self._schedulers[options.width].run(requests), strict=True))

    @property
    def _widest_beam(self) -> int:
        """The largest beam: beam search looks at twice as many tokens as it keeps."""
        return self.model.spec.architecture.target_vocabulary // 2

    def _decoded(self, found: Found) -> _Candidate:
        # Byte pieces could yield line feeds and tabs, which would break the output's lines.
        text = CONTROL.sub(" ", self.model.target.decode(found.pieces)).strip()
        return _Candidate(text, found.score, found.complete)


def _distinct(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Sort candidates, best first, and keep the best of each text."""
    best: dict[str, _Candidate] = {}
    for one in sorted(candidates, key=lambda one: -one.score):
        best.setdefault(one.text, one)
    return list(best.values())
