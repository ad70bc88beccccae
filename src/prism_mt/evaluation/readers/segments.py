"""JSONL with one segment on each line and all its outputs: our own format, and the MQM and metrics-task files.

Keys: the segment (`segment`, `docseg`, `sid`, `seg_id` or `idx`), `lp` (or in the file's name), `testset`, `doc`,
`domain`, `src`, `ref` (the standard reference) or `refs` (texts by name), `standard_reference` (a name), `sys`
(texts by system), and the human scores by system: `scores`, `mqm` with each rater's `score` or list of `errors`, or
`mqm_avg`. Human translations among `sys` also serve as references by their names.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, is_human
from prism_mt.evaluation.readers import fields
from prism_mt.evaluation.readers.collect import Collector, Collectors
from prism_mt.evaluation.readers.fields import Request, mapping, number, text_of

_KINDS = ("scores", "mqm", "mqm_avg")


def recognize(path: Path, header: str) -> bool:
    """Whether the file name indicates JSON."""
    return fields.is_json_lines(path)


def read(path: Path, request: Request) -> list[Judgments]:
    """Read judgments and texts; a file without scores provides texts for judgments from elsewhere."""
    collectors = Collectors(fields.file_title(path))
    default = None
    for where, record in fields.json_records(path):
        if "lp" not in record:
            default = default or fields.pair_of(path, request.pair)
        collector = collectors.of(fields.word(record, ("testset",)), str(record.get("lp", default)))
        segment = fields.word(record, fields.SEGMENT)
        if segment is None:
            raise PrismError(f"{where}: no segment number under any of {', '.join(fields.SEGMENT)}")
        _add_texts(collector, segment, record, where)
        collector.document(segment, fields.word(record, fields.DOCUMENT), fields.word(record, fields.DOMAIN))
        _add_ratings(collector, segment, record, request, where)
    return collectors.judgments()


def _add_texts(collector: Collector, segment: str, record: Mapping[str, Any], where: str) -> None:
    collector.source(segment, text_of(record.get("src"), where))
    if record.get("ref") is not None:
        collector.reference(segment, "ref", text_of(record["ref"], where))
        collector.standard_reference = "ref"
    for name, text in mapping(record, "refs", where).items():
        collector.reference(segment, name, text_of(text, where))
    for system, given in mapping(record, "sys", where).items():
        text = text_of(given, where)
        collector.output(segment, system, text)
        if is_human(system):
            collector.reference(segment, system, text)
    if record.get("standard_reference") is not None:
        collector.standard_reference = text_of(record["standard_reference"], where)


def _add_ratings(
    collector: Collector, segment: str, record: Mapping[str, Any], request: Request, where: str
) -> None:
    """Add the ratings under the requested key, or under the first that has any."""
    known = [kind for kind in _KINDS if record.get(kind)]
    kind = request.choose(known) or next(iter(known), None)
    if kind is None:
        return
    for system, value in mapping(record, kind, where).items():
        if isinstance(value, dict):
            for rater, rating in value.items():
                _add_rating(collector, (system, segment), rater, rating, f"{where}: {system}, {rater}")
        elif kind == "mqm":
            raise PrismError(f"{where}: {system!r} must be an object with raters as keys")
        else:
            collector.rating(system, segment, number(value, where))


def _add_rating(collector: Collector, output: tuple[str, str], rater: str, rating: object, where: str) -> None:
    if not isinstance(rating, dict) or not ("score" in rating or "errors" in rating):
        raise PrismError(f"{where}: a rating must be an object with a score or a list of errors")
    errors = fields.errors_of(rating["errors"], where) if "errors" in rating else None
    score = number(rating["score"], where) if "score" in rating else fields.price(errors or (), where)
    collector.rating(*output, score, rater, errors)
