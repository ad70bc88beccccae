"""Shared-task files with one output per line, as JSON objects (WMT24's ESA) or as a table (WMT25).

Fields: `langs`, or `source_lang` and `target_lang`; `doc_id` and `line_id` or `segment_id`; `system` or `system_id`;
`domain` or `domain_name`; the texts `src`, `tgt` or `source_segment`, `hypothesis_segment`, `reference_segment`;
the score `esa_score` or `overall`; `annotator`; errors as `esa_spans` or `error_spans` (a list of objects with
`start_i`, `end_i`, `severity`). Submissions of metrics have the same fields, and are written so.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.ratings import ALL_RATERS, Error, Errors
from prism_mt.evaluation.readers import fields
from prism_mt.evaluation.readers.collect import Collector, Collectors
from prism_mt.evaluation.readers.fields import Request, number, text_of, word
from prism_mt.metrics.scores import MetricScores

_SEGMENT = ("segment_id", "line_id")
_SYSTEM = ("system_id", "system")
_SCORE = ("overall", "esa_score", "mqm_score", "score")
_SPANS = ("esa_spans", "error_spans")
_OFFICIAL = ("", "official")
_NO_TEXT = "NaN"
_FIELDS = (
    "doc_id",
    "segment_id",
    "source_lang",
    "target_lang",
    "set_id",
    "system_id",
    "domain_name",
    "overall",
)


def recognize(path: Path, header: str) -> bool:
    """Whether the first line has a document, a system and a segment under the shared tasks' names."""
    if fields.is_json_lines(path):
        try:
            record = json.loads(header)
        except (ValueError, RecursionError):
            return False
        names = set(record) if isinstance(record, dict) else set()
    else:
        names = set(header.lower().split("\t"))
    return "doc_id" in names and bool(names & set(_SEGMENT)) and bool(names & set(_SYSTEM))


def read(path: Path, request: Request) -> list[Judgments]:
    """Read the judgments of every language pair; challenge sets are separate test sets."""
    collectors = Collectors(fields.file_title(path))
    for where, row, collector, system, segment in _outputs(path, request, collectors):
        asked = request.choose(list(row))
        score = number(fields.field(row, (asked,) if asked else _SCORE), where)
        collector.rating(system, segment, score, word(row, fields.RATER) or ALL_RATERS, _errors(row, where))
        collector.document(segment, word(row, fields.DOCUMENT), word(row, fields.DOMAIN))
        collector.source(segment, text_of(fields.field(row, fields.SOURCE), where))
        collector.output(segment, system, text_of(fields.field(row, fields.OUTPUT), where))
        reference = text_of(fields.field(row, fields.REFERENCE), where)
        if reference and reference != _NO_TEXT:
            collector.reference(segment, "ref", reference)
            collector.standard_reference = "ref"
    return collectors.judgments()


def read_submission(path: Path) -> list[MetricScores]:
    """Read a metric's scores, one object per language pair; the metric is named after the file."""
    collectors = Collectors(fields.file_title(path))
    for where, row, collector, system, segment in _outputs(path, Request(), collectors):
        collector.rating(system, segment, number(fields.field(row, _SCORE), where))
    name = fields.file_title(path)
    return [
        collector.metric(name if collector.name == name else f"{name} {collector.name}")
        for collector in collectors
    ]


def write_submission(path: Path, scored: Sequence[tuple[MetricScores, Judgments]]) -> None:
    """Write a metric's segment scores of all systems with WMT25's field names: JSON objects, or a table for `.tsv`."""
    rows = [row for scores, judgments in scored for row in _submitted(scores, judgments)]
    with write_atomically(path) as handle:
        if path.suffix == ".tsv":
            handle.write("\t".join(_FIELDS) + "\n")
            handle.writelines("\t".join(map(str, row)) + "\n" for row in rows)
        else:
            for row in rows:
                handle.write(json.dumps(dict(zip(_FIELDS, row, strict=True)), ensure_ascii=False) + "\n")


def _submitted(scores: MetricScores, judgments: Judgments) -> Iterator[tuple[str | float, ...]]:
    aligned = scores.align(judgments.systems, judgments.segments)
    source, _, target = judgments.pair.partition("-")
    for column, segment in enumerate(judgments.segments):
        document, mark, number_in_document = segment.partition("::")
        document = judgments.documents[column] if judgments.documents else document if mark else ""
        place = document, number_in_document if mark else segment, source, target, judgments.testset or "official"
        domain = judgments.domains[column] if judgments.domains else ""
        for row, system in enumerate(judgments.systems):
            if not np.isnan(aligned[row, column]):
                yield *place, system, domain, float(aligned[row, column])


def _outputs(
    path: Path, request: Request, collectors: Collectors
) -> Iterator[tuple[str, Mapping[str, Any], Collector, str, str]]:
    """Yield every line with its location, the collector of its test set and pair, its system and segment."""
    rows = fields.json_records(path) if fields.is_json_lines(path) else fields.records(path)
    for where, row in rows:
        system, segment = word(row, _SYSTEM), word(row, _SEGMENT)
        if system is None or segment is None:
            raise PrismError(f"{where}: no system ({', '.join(_SYSTEM)}) or no segment ({', '.join(_SEGMENT)})")
        document = word(row, fields.DOCUMENT)
        testset = word(row, ("set_id",)) or ""
        collector = collectors.of("" if testset in _OFFICIAL else testset, _pair(row, path, request))
        yield where, row, collector, system, f"{document}::{segment}" if document else segment


def _pair(row: Mapping[str, Any], path: Path, request: Request) -> str:
    source, target = word(row, ("source_lang",)), word(row, ("target_lang",))
    if source and target:
        return f"{source}-{target}"
    return word(row, ("langs", "lp")) or fields.pair_of(path, request.pair)


def _errors(row: Mapping[str, Any], where: str) -> Errors | None:
    """Errors with their spans in the output; None if the file has none, also if it is a table."""
    spans = fields.field(row, _SPANS)
    if not isinstance(spans, list):
        return None
    found = []
    for item in spans:
        if not isinstance(item, dict) or not isinstance(item.get("severity"), str):
            raise PrismError(f"{where}: an error span needs start_i, end_i and severity, not {item!r:.60}")
        category = item.get("error_type") or item.get("category") or ""
        found.append(
            Error(str(category), item["severity"], fields.span_of(item.get("start_i"), item.get("end_i")))
        )
    return tuple(found)
