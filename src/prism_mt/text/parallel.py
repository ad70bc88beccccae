"""Parallel text: system outputs with references and source, segment by segment."""

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeAlias

from prism_mt._core.errors import PrismError
from prism_mt.text.languages import (
    Language,
    LanguageCheck,
    can_detect,
    check_no_pair,
    detect,
    find_language,
    language,
)
from prism_mt.text.lines import Lines, check_parallel, lines_of

Texts: TypeAlias = Iterable[str]
"""Segments of one system, reference or source: a list, tuple, array, Series or iterator of strings."""
_LOG = logging.getLogger("prism_mt")


@dataclass(frozen=True)
class Languages:
    """The languages of a test set as the user gave them; empty if unknown."""

    target: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        check_no_pair(self.target)
        check_no_pair(self.source, "src_lang")


@dataclass(frozen=True)
class Origin:
    """File names of the segments, for messages."""

    hypothesis: str = "hypothesis"
    references: tuple[str, ...] = ()
    source: str = "source"


@dataclass(frozen=True)
class Segment:
    """One output of one system with its references and source."""

    hypothesis: str
    references: tuple[str, ...] = ()
    source: str | None = None
    number: int = 0
    """Line number, from 1; 0 if there is none."""
    origin: Origin = field(default_factory=Origin)
    context: tuple["Segment", ...] = ()
    """Earlier segments of the same document and system, the nearest last."""


@dataclass(frozen=True)
class ParallelText:
    """System outputs with references and/or source, of equal length and not held in memory."""

    systems: tuple[tuple[str, Lines], ...]
    references: tuple[Lines, ...] = ()
    source: Lines | None = None
    documents: Lines | None = None
    """The name of every segment's document; the segments of a document are contiguous."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(name for name, _ in self.systems)

    def count(self) -> int:
        """Count the segments after checking that all sides have the same number."""
        others = [*self.references, *([self.source] if self.source else [])]
        if self.documents is not None:
            check_documents(self.documents)
            others.append(self.documents)
        return check_parallel([*(lines for _, lines in self.systems), *others])

    def segments(self, context: int = 0) -> Iterator[Segment]:
        """Iterate over all systems segment by segment, so that shared work is close together.

        Every segment gets up to `context` earlier ones of its document.
        """
        if not context or self.documents is None:
            yield from self._segments()
            return
        names, earlier = iter(self.documents), [deque[Segment](maxlen=context) for _ in self.systems]
        document: str | None = None
        for index, segment in enumerate(self._segments()):
            system = index % len(self.systems)
            if system == 0 and (name := next(names)) != document:
                document = name
                for own in earlier:
                    own.clear()
            yield replace(segment, context=tuple(earlier[system]))
            earlier[system].append(segment)

    def _segments(self) -> Iterator[Segment]:
        references_of = tuple(lines.name for lines in self.references)
        source_of = self.source.name if self.source else "source"
        origins = [Origin(lines.name, references_of, source_of) for _, lines in self.systems]
        hypotheses = zip(*(lines for _, lines in self.systems), strict=True)
        references = zip(*self.references, strict=True) if self.references else None
        sources = iter(self.source) if self.source else None
        for number, outputs in enumerate(hypotheses, start=1):
            texts = next(references) if references else ()
            source = next(sources) if sources else None
            for output, origin in zip(outputs, origins, strict=True):
                yield Segment(output, texts, source, number, origin)


def parallel_text(
    hypotheses: Texts | Mapping[str, Texts],
    ref: Texts | Sequence[Texts] | None = None,
    src: Texts | None = None,
    documents: Texts | None = None,
) -> ParallelText:
    """Make parallel text from values in memory; several references are a list of lists."""
    if isinstance(hypotheses, Mapping):
        systems = tuple(
            (str(name), lines_of(_listed(texts, f"system {name!r}"), f"system {name!r}"))
            for name, texts in hypotheses.items()
        )
    else:
        systems = (("system", lines_of(_listed(hypotheses, "hypotheses"), "hypotheses")),)
    if not systems:
        raise PrismError("no system to score: hypotheses is empty")
    references: tuple[Lines, ...] = ()
    if ref is not None:
        references = tuple(
            lines_of(_listed(texts, name), name) for name, texts in _references(_listed(ref, "ref"))
        )
    source = None if src is None else lines_of(_listed(src, "src"), "src")
    names = None if documents is None else lines_of(_listed(documents, "documents"), "documents")
    return ParallelText(systems, references, source, names)


def check_documents(documents: Lines) -> None:
    """Fail if a document continues after another one, since the context of its segments would be unknown."""
    seen: set[str] = set()
    last: str | None = None
    for number, name in enumerate(documents, start=1):
        if name != last and name in seen:
            raise PrismError(
                f"{documents.name}, line {number}: the document {name!r:.60} continues after another one; "
                "the segments of a document must be contiguous"
            )
        seen.add(name)
        last = name


def _references(ref: Sequence[object]) -> Iterator[tuple[str, object]]:
    """One reference, or several."""
    if not ref:
        raise PrismError("ref is empty: there is nothing to score against")
    if isinstance(ref[0], str) or not isinstance(ref[0], Iterable):
        yield "ref", ref
        return
    for number, texts in enumerate(ref, start=1):
        yield f"ref {number}", texts


def _listed(texts: object, name: str) -> list[str]:
    """Read any iterable of strings, once."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise PrismError(f"{name} must be a list of strings, not {type(texts).__name__}")
    return list(texts)


def resolve_languages(text: ParallelText, languages: Languages) -> Languages:
    """Replace `auto` by the detected language."""
    target, source = languages.target, languages.source
    if target == "auto":
        target = detect(text.references[0] if text.references else text.systems[0][1])
        _LOG.warning("the language looks like %s", language(target).name)
    if source == "auto":
        source = detect(text.source) if text.source is not None else ""
    return Languages(target, source)


def warn_about(text: ParallelText, target: str, check_language: bool = True) -> None:
    """Warn about input that is scored but looks like a mistake: empty lines, and outputs in the wrong language."""
    expected = find_language(target) if check_language and target else None
    if expected and not can_detect():
        _say_that_check_is_off()
    for name, lines in text.systems:
        _warn_about_system(name, lines, expected)
    for lines in (*text.references, *([text.source] if text.source else [])):
        warn_empty(lines)


@cache
def _say_that_check_is_off() -> None:
    """Say it once: without the detector an untranslated output, which scores too high, goes unnoticed."""
    _LOG.warning(
        "the language check is off, so that outputs in a wrong language go unnoticed: it needs "
        "pip install 'prism-mt[lid]'"
    )


def _warn_about_system(name: str, lines: Lines, expected: Language | None) -> None:
    check = LanguageCheck(expected) if expected else None
    warn_empty(lines, check)
    if check and (warning := check.warning(name)):
        _LOG.warning("%s; untranslated text scores too high", warning)


def warn_empty(lines: Lines, check: LanguageCheck | None = None) -> None:
    """Warn about the number of empty lines."""
    empty = first = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            empty += 1
            first = first or number
        if check:
            check.add(line)
    if empty:
        word = "line is" if empty == 1 else "lines are"
        _LOG.warning("%s: %s %s empty (first: line %s); scored anyway", lines.name, f"{empty:,}", word, first)
