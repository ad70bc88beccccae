"""The comparison as a self-contained HTML page.

Everything that comes from files is untrusted: tables and plots are escaped, texts for the segment browser are
embedded as compressed base64 that the script turns into text nodes, and only the page's own script may run.
"""

import base64
import datetime
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from prism_mt import __version__
from prism_mt.evaluation.buckets import Buckets
from prism_mt.evaluation.compare import Comparison, Significance, agreements
from prism_mt.evaluation.words import WordAnalysis, analyze_words
from prism_mt.metrics.base import ErrorSpan, TokenTrace
from prism_mt.report import svg
from prism_mt.report.comparison import (
    RANKS,
    about,
    agreement_table,
    buckets_table,
    digits,
    guidance,
    pairs_table,
    parts_table,
    ranking_table,
)
from prism_mt.report.flags import flag
from prism_mt.report.table import Column, Table, Value, format_value, is_missing
from prism_mt.report.text_table import keep_statements
from prism_mt.report.verdict import verdict
from prism_mt.report.words import word_section
from prism_mt.text.languages import find_language
from prism_mt.text.parallel import Languages, ParallelText

if TYPE_CHECKING:
    from jinja2 import Template

_SCRIPTS = ("elements", "words", "errors", "scatter", "segments", "page")
"""Script files of the page, in order of dependency."""

Traces = list[list[tuple[TokenTrace, ...]]]
"""Segments × systems."""


@dataclass(frozen=True)
class Heading:
    """The header of a page: title, test set and date, where known."""

    title: str = ""
    test_set: str = ""
    date: datetime.date | None = None


@dataclass(frozen=True)
class Page:
    """Everything that the page shows."""

    text: ParallelText
    comparisons: Sequence[Comparison]
    options: Significance
    baseline: int = 0
    parts: Sequence[Buckets] = ()
    languages: Languages = Languages()
    command: str = ""
    heading: Heading = Heading()

    @property
    def traces(self) -> dict[str, Traces]:
        """Token traces by metric, if it has any."""
        return {
            one.metric.metric: [list(row) for row in zip(*one.metric.tokens, strict=True)]
            for one in self.comparisons
            if one.metric.tokens is not None
        }


def render_page(page: Page) -> str:
    """Render the page as HTML; it needs no network and no other file."""
    flags = _flags(page)
    script = page_script()
    words = analyze_words(page.text, _code(page.languages.target))
    return _template("page.html").render(
        page=page,
        title=page.heading.title or _title(page),
        facts=_facts(page),
        verdicts=[keep_statements(verdict(comparison), "\u00a0") for comparison in page.comparisons],
        version=__version__,
        style=_file("page.css"),
        script=script,
        script_hash=_digest(script),
        data=_packed(_data(page, flags, words)),
        summary=_summary(page.comparisons),
        sections=[_section(page, comparison) for comparison in page.comparisons],
        agreement=agreement_table(agreements([one.metric for one in page.comparisons])),
        words=None if words is None else word_section(words),
        ranks=RANKS,
        about=about(page.options),
        warnings=_warnings(page, flags),
        has_spans=any(one.metric.spans is not None for one in page.comparisons),
    )


def render_form(models: Sequence[str], metrics: Sequence[str], languages: Mapping[str, str]) -> str:
    """The page of `prism serve`: texts go in, scores and the page above come out."""
    script = _file("form.js")
    hashes = [_digest(script), _digest(page_script())]  # the report is shown inside, under the same rules
    return _template("form.html").render(
        style=_file("page.css"),
        script=script,
        hashes=hashes,
        models=models,
        metrics=metrics,
        languages=languages,
        version=__version__,
    )


def render_docs(operations: Sequence[Mapping[str, Any]]) -> str:
    """The page of `prism serve` that describes its interface."""
    return _template("docs.html").render(style=_file("page.css"), operations=operations, version=__version__)


def page_script() -> str:
    """All scripts of the page as one."""
    return "\n".join(_file(f"{name}.js") for name in _SCRIPTS)


def _title(page: Page) -> str:
    names = page.text.names
    if len(names) == 2:
        return f"{names[0]} and {names[1]} compared"
    return f"{len(names)} translation systems compared" if len(names) > 2 else f"{names[0]} evaluated"


def _facts(page: Page) -> list[str]:
    """The line below the title."""
    segments = f"{page.comparisons[0].metric.segments.shape[1]:,} segments"
    known = [find_language(code) for code in (page.languages.source, page.languages.target) if code]
    languages = " to ".join(one.name for one in known if one)
    day = f"{page.heading.date:%d %B %Y}".lstrip("0") if page.heading.date else ""
    return [fact for fact in (day, page.heading.test_set, languages, segments) if fact]


def _code(language: str) -> str:
    known = find_language(language) if language else None
    return known.code if known else ""


def _digest(script: str) -> str:
    """The hash of a script for a content security policy."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _summary(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """A row per system: its score, interval and rank by every metric."""
    first = comparisons[0]
    rows = []
    for place in first.order:
        cells = []
        for one in comparisons:
            places, own = digits(one), one.intervals[place]
            cells.append(
                {
                    "value": float(one.metric.system_scores[place]),
                    "score": _signed(f"{one.metric.system_scores[place]:.{places}f}"),
                    "interval": _signed(f"{own.low:.{places}f} to {own.high:.{places}f}"),
                    "rank": one.ranks[place],
                }
            )
        rows.append({"system": first.metric.systems[place], "cells": cells})
    return rows


def _section(page: Page, comparison: Comparison) -> dict[str, Any]:
    """Tables and plots of one metric."""
    scores, places = comparison.metric, digits(comparison)
    return {
        "metric": scores.metric,
        "lower": scores.lower_is_better,
        "guidance": guidance(comparison),
        "intervals": svg.intervals(comparison, places),
        "distributions": svg.distributions(comparison),
        "ranking": ranking_table(comparison, page.baseline, page.options),
        "made_of": parts_table(comparison) if scores.parts else None,
        "pairs": pairs_table(comparison) if len(scores.systems) > 2 else None,
        "parts": [(_parts(comparison, parts, places), buckets_table(comparison, parts)) for parts in page.parts],
    }


def _parts(comparison: Comparison, buckets: Buckets, places: int) -> str:
    """A plot of parts of the test set: lines where they have an order."""
    if not buckets.ordered:
        return svg.groups(comparison, buckets, places)
    metric = comparison.metric
    scores = [metric.on(part.segments).tolist() for part in buckets.parts]
    labels = [part.label for part in buckets.parts]
    return svg.profile(metric.systems, scores, labels, f"{metric.metric} by {buckets.title}")


def _flags(page: Page) -> list[dict[int, list[str]]]:
    others = [*([page.text.source] if page.text.source else []), *page.text.references]
    # Fluency metrics need neither; then no output is known to be repeated for another segment.
    sources = list(others[0]) if others else [""] * page.text.count()
    return [flag(list(lines), sources, page.languages.target or None) for _, lines in page.text.systems]


def _warnings(page: Page, flags: list[dict[int, list[str]]]) -> list[str]:
    """One sentence per system and kind of warning."""
    found = []
    for (name, _), by_segment in zip(page.text.systems, flags, strict=True):
        kinds: dict[str, list[int]] = {}
        for segment, words in by_segment.items():
            for word in words:
                kinds.setdefault(word, []).append(segment + 1)
        found += [f"{name}: {len(at):,} × {kind} (first: segment {at[0]:,})" for kind, at in kinds.items()]
    return found


def _data(page: Page, flags: list[dict[int, list[str]]], words: WordAnalysis | None) -> dict[str, Any]:
    """What the segment browser shows, as the script expects it."""
    return {
        "systems": [name for name, _ in page.text.systems],
        "metrics": [
            {
                "name": one.metric.metric,
                "digits": digits(one),
                "lower": one.metric.lower_is_better,
                "scores": [[round(score, 4) for score in row] for row in one.metric.segments.tolist()],
            }
            for one in page.comparisons
        ],
        "source": list(page.text.source) if page.text.source else None,
        "references": [list(lines) for lines in page.text.references],
        "outputs": [list(lines) for _, lines in page.text.systems],
        "flags": flags,
        "baseline": page.baseline,
        "ngrams": [[" ".join(one.words), one.reference, one.matches] for one in words.ngrams] if words else [],
        "traces": {
            metric: [[[_trace(trace) for trace in traces] for traces in row] for row in rows]
            for metric, rows in page.traces.items()
        },
        "spans": {
            one.metric.metric: [[[_span(span) for span in spans] for spans in row] for row in one.metric.spans]
            for one in page.comparisons
            if one.metric.spans is not None
        },
    }


def _trace(trace: TokenTrace) -> tuple[str, str, str]:
    """Direction, pieces and hundredths of log-probabilities; long strings are small and quick to parse."""
    pieces = "\n".join(piece.replace("\n", "⏎") for piece in trace.pieces)
    return trace.direction, pieces, " ".join(str(round(-100 * score)) for score in trace.scores)


def _span(span: ErrorSpan) -> tuple[str, int, int, str, int, int]:
    return span.part, span.start, span.end, span.severity, round(100 * span.probability), span.reference


def _packed(data: dict[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()


@cache
def _template(name: str) -> "Template":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"cells": _cells, "is_missing": is_missing}
    return environment.get_template(name)


def _cells(table: Table) -> list[list[tuple[str, str, bool]]]:
    """Text, sort key and emphasis of every cell."""
    return [
        [
            (_shown(value, column), "" if is_missing(value) else str(value), (r, c) in table.bold)
            for c, (value, column) in enumerate(zip(row, table.columns, strict=True))
        ]
        for r, row in enumerate(table.rows)
    ]


def _shown(value: Value, column: Column) -> str:
    text = format_value(value, column)
    return text if isinstance(value, str) else _signed(text)


def _signed(text: str) -> str:
    """Numbers with a real minus sign, which is as wide as a digit."""
    return text.replace("-", "−")


def _file(name: str) -> str:
    return (resources.files("prism_mt.report") / "page_files" / name).read_text(encoding="utf-8")
