"""Translate and paraphrase texts: the functions behind `prism translate` and `prism paraphrase`."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import overload

from prism_mt._core.errors import PrismError
from prism_mt._core.progress import counter
from prism_mt.engines.config import EngineConfig
from prism_mt.generate.cached import StoredLists
from prism_mt.generate.generator import Generator, Hypothesis, Route, name_by_number
from prism_mt.generate.nbest import ListFormat, ListKind, Record, fingerprint, write_lists
from prism_mt.generate.options import ParaphraseConfig, SearchConfig
from prism_mt.models.resolve import DEFAULT_MODEL, open_model
from prism_mt.text.languages import check_no_pair
from prism_mt.text.lines import Lines, check_unicode

_LOG = logging.getLogger("prism_mt")


class TextGenerator:
    """A model with a search from one language into another, backed by the user's cache of n-best lists."""

    def __init__(self, generator: Generator, route: Route) -> None:
        self._generator = generator
        self._route = route

    def nbest(
        self, texts: Iterable[str], where: Callable[[int], str] = name_by_number
    ) -> Iterator[list[Hypothesis]]:
        """Yield the hypotheses of every text in order, best first (samples: as drawn); empty strings for a blank text.

        `where` returns the name of the text at an index, counted from 0, for messages.
        """
        if self._generator.engine_config.cache:
            yield from StoredLists(self._generator, self._route).stream(texts, where)
        else:
            yield from self._generator.search(texts, self._route, where)
        self._generator.tell_cuts()

    def write(self, texts: Lines, kind: ListKind, format: ListFormat, output: Path | None) -> None:
        """Generate for a whole file, and write the lists to a file or to standard output.

        A killed run resumes where it stopped.
        """
        count = texts.count()
        if count == 0:
            raise PrismError(f"{texts.name} is empty: nothing to do")
        self.check(texts)
        run = fingerprint(texts, kind, *self.identity)
        with counter(f"writing {kind}", count) as advance:

            def records(done: int) -> Iterator[Record]:
                for _ in range(done):
                    advance()
                for record in self.records(texts, done):
                    yield record
                    advance()

            write_lists(output, kind, format, run, records)

    def check(self, texts: Lines) -> None:
        """Fail if a line is too long for the model."""
        self._generator.check(texts, self._route, lambda place: f"{texts.name}, line {place + 1}")

    def records(self, texts: Lines, first: int = 0) -> Iterator[Record]:
        """Yield the lines of a file from an index, counted from 0, with their hypotheses."""
        found = self.nbest(
            islice(iter(texts), first, None), lambda place: f"{texts.name}, line {first + place + 1}"
        )
        for source, hypotheses in zip(islice(iter(texts), first, None), found, strict=True):
            yield Record(source, hypotheses)

    @property
    def identity(self) -> tuple[object, ...]:
        """Everything but the texts that the output depends on."""
        search, engine = self._generator.options, self._generator.engine_config
        settings = search.signature(), search.n, tuple(self._route), engine.engine, engine.precision
        return self._generator.model.digest, *settings


def open_translator(
    *,
    to: str,
    src_lang: str | None = None,
    model: str = DEFAULT_MODEL,
    search: SearchConfig | None = None,
    config: EngineConfig | None = None,
) -> TextGenerator:
    """Open a translation model; its weights are read when the first text needs them."""
    check_no_pair(to, "to", "to")
    check_no_pair(src_lang or "", "src_lang", "to")
    config = config or EngineConfig()
    directory = open_model(model, config.offline)
    if directory.spec.rough:
        _LOG.warning(
            "the model %s was made to score, and what it writes is rough: `prism models list` has translators",
            directory.spec.name,
        )
    generator = Generator(directory, config, search or SearchConfig())
    return TextGenerator(generator, generator.route(to, src_lang))


def open_paraphraser(
    *,
    lang: str,
    model: str = DEFAULT_MODEL,
    search: SearchConfig | None = None,
    config: EngineConfig | None = None,
) -> TextGenerator:
    """Open a model for paraphrasing: it translates a language into itself."""
    check_no_pair(lang)
    return open_translator(to=lang, src_lang=lang, model=model, search=search or ParaphraseConfig(), config=config)


@overload
def translate(
    texts: Iterable[str],
    *,
    to: str,
    n: None = None,
    src_lang: str | None = None,
    model: str = DEFAULT_MODEL,
    search: SearchConfig | None = None,
    config: EngineConfig | None = None,
) -> list[str]: ...


@overload
def translate(
    texts: Iterable[str],
    *,
    to: str,
    n: int,
    src_lang: str | None = None,
    model: str = DEFAULT_MODEL,
    search: SearchConfig | None = None,
    config: EngineConfig | None = None,
) -> list[list[Hypothesis]]: ...


def translate(
    texts: Iterable[str],
    *,
    to: str,
    n: int | None = None,
    src_lang: str | None = None,
    model: str = DEFAULT_MODEL,
    search: SearchConfig | None = None,
    config: EngineConfig | None = None,
) -> list[str] | list[list[Hypothesis]]:
    """Translate texts into the language `to`.

    Returns the best translation of each text, or with `n` a list of the `n` best with their scores, all different.
    `src_lang` is the language of the texts, for models that need it.
    """
    checked, search = _checked(texts), _with_number(search or SearchConfig(), n)
    opened = open_translator(to=to, src_lang=src_lang, model=model, search=search, config=config)
    lists = opened.nbest(checked)
    return [found[0].text for found in lists] if n is None else list(lists)


@overload
def paraphrase(
    texts: Iterable[str],
    *,
    lang: str,
    n: None = None,
    model: str = DEFAULT_MODEL,
    search: SearchConfig | None = None,
    config: EngineConfig | None = None,
) -> list[str]: ...


@overload
def paraphrase(
    texts: Iterable[str],
    *,
    lang: str,
    n: int,
    model: str = DEFAULT_MODEL,
    search: SearchConfig | None = None,
    config: EngineConfig | None = None,
) -> list[list[Hypothesis]]: ...


def paraphrase(
    texts: Iterable[str],
    *,
    lang: str,
    n: int | None = None,
    model: str = DEFAULT_MODEL,
    search: SearchConfig | None = None,
    config: EngineConfig | None = None,
) -> list[str] | list[list[Hypothesis]]:
    """Paraphrase texts in the language `lang`.

    Returns the best paraphrase of each text, or with `n` a list of the `n` best with their scores, all different.
    The default search is beam search with a copy penalty.
    """
    checked, search = _checked(texts), _with_number(search or ParaphraseConfig(), n)
    lists = open_paraphraser(lang=lang, model=model, search=search, config=config).nbest(checked)
    return [found[0].text for found in lists] if n is None else list(lists)


def _with_number(search: SearchConfig, n: int | None) -> SearchConfig:
    return search if n is None else replace(search, n=n)


def _checked(texts: Iterable[str]) -> Iterator[str]:
    """Pass texts through; a single string instead of several, and anything but strings, is an error."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise PrismError(f"texts must be a list or another iterable of str, not {type(texts).__name__}")

    def each() -> Iterator[str]:
        for number, text in enumerate(texts, start=1):
            if not isinstance(text, str):
                raise PrismError(f"text {number} is of type {type(text).__name__}, not str")
            check_unicode(text, f"text {number}")
            yield text

    return each()
