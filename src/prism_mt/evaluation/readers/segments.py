"""JSONL with one segment on each line and all its outputs: our own format, and the MQM and metrics-task files.

Keys: the segment (`segment`, `sid` or `seg_id`), `lp` (or in the file's name), `src`, `ref` (a text) or `refs`
(texts by name), `sys` (texts by system), and the human scores by system: `scores`, or `mqm_avg`, or `mqm` with
each rater's `score` or list of `errors`, which are averaged. Human translations among `sys` also serve as references
by their names.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, is_human
from prism_mt.evaluation.mqm import score_errors
from prism_mt.evaluation.readers.collect import Collector, Collectors
from prism_mt.evaluation.readers.fields import json_records, mapping, number, pair_of, stem, text_of

_SEGMENT = ("segment", "sid", "seg_id")


def read(path: Path, pair: str | None, score: str | None) -> list[Judgments]:
    """Judgments and texts; a file without scores gives texts for judgments that come from elsewhere."""
    collectors = Collectors()
    name = stem(path).split(".")[0]
    default = None
    for where, record in json_records(path):
        if "lp" not in record:
            default = default or pair_of(path, pair)
        collector = collectors.of(str(record.get("testset", name)), str(record.get("lp", default)))
        segment = next((str(record[key]) for key in _SEGMENT if key in record), None)
        if segment is None:
            raise PrismError(f"{where}: no segment number under any of {', '.join(_SEGMENT)}")
        _add_texts(collector, segment, record, where)
        for system, value in _human_scores(record, score, where):
            collector.score(system, segment, value)
    return [collector.judgments() for collector in collectors]


def _add_texts(collector: Collector, segment: str, record: Mapping[str, Any], where: str) -> None:
    collector.source(segment, text_of(record.get("src"), where))
    collector.reference(segment, "ref", text_of(record.get("ref"), where))
    for name, text in mapping(record, "refs", where).items():
        collector.reference(segment, name, text_of(text, where))
    for system, given in mapping(record, "sys", where).items():
        text = text_of(given, where)
        collector.output(segment, system, text)
        if is_human(system):
            collector.reference(segment, system, text)


def _human_scores(record: Mapping[str, Any], asked: str | None, where: str) -> Iterator[tuple[str, float | None]]:
    """Systems with their judgments, from the key asked for or the first that has any."""
    for key in [asked] if asked else ("scores", "mqm_avg", "mqm"):
        found = mapping(record, key, where)
        for system, value in found.items():
            if isinstance(value, dict):
                for rater, rating in value.items():
                    if not isinstance(rating, dict) or not ("score" in rating or "errors" in rating):
                        raise PrismError(
                            f"{where}: rating of {system} by {rater} has no score and no list of errors"
                        )
                    given = "score" in rating
                    yield system, number(rating["score"], where) if given else score_errors(rating, where)
            else:
                yield system, number(value, where)
        if found:
            return
