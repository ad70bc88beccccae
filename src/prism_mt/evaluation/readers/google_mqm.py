"""Google's MQM ratings: a TSV with one error per line (system, doc, seg_id, rater, source, target, …)."""

import re
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, is_human
from prism_mt.evaluation.mqm import NO_ERROR, penalty
from prism_mt.evaluation.ratings import Error
from prism_mt.evaluation.readers.collect import Collector
from prism_mt.evaluation.readers.fields import DOCUMENT, Request, file_title, pair_of, price, records, word

_COLUMNS = ("system", "seg_id", "rater", "source", "target", "category", "severity")
_MARKS = re.compile(r"<v>(.*?)</v>|</?v>", re.DOTALL)


def recognize(path: Path, header: str) -> bool:
    """Whether the header has the error columns."""
    return {"category", "severity"} <= set(header.lower().split("\t"))


def read(path: Path, request: Request) -> list[Judgments]:
    """Read one rating per rater and output with all its errors, whose spans are the marks in the texts."""
    collector = Collector(file_title(path), pair_of(path, request.pair))
    ratings: dict[tuple[str, str, str], tuple[list[Error], str]] = {}
    for where, row in records(path):
        missing = [name for name in _COLUMNS if name not in row]
        if missing:
            raise PrismError(f"{where}: no column {', '.join(missing)} in these MQM ratings")
        system, segment = row["system"], row["seg_id"]
        source, in_source = strip_marks(row["source"])
        target, in_target = strip_marks(row["target"])
        errors, _ = ratings.setdefault((system, segment, row["rater"]), ([], where))
        errors += _error(row["category"], row["severity"], in_target, in_source, where)
        collector.source(segment, source)
        collector.output(segment, system, target)
        if is_human(system):
            collector.reference(segment, system, target)
        collector.document(segment, word(row, DOCUMENT))
    for (system, segment, rater), (errors, where) in ratings.items():
        collector.rating(system, segment, price(tuple(errors), where), rater, tuple(errors))
    return [collector.judgments()]


def strip_marks(text: str) -> tuple[str, tuple[int, int] | None]:
    """Remove `<v>…</v>`, and return the span of the marked text in the text without marks."""
    found = _MARKS.search(text)
    if found is None:
        return text, None
    before = text[: found.start()]
    inside = found[1] if found[1] is not None else ""
    span = (len(before), len(before) + len(inside)) if found[1] is not None else None
    # Further marks occur, and belong to no separate error.
    return before + inside + re.sub(r"</?v>", "", text[found.end() :]), span


def _error(
    category: str,
    severity: str,
    in_target: tuple[int, int] | None,
    in_source: tuple[int, int] | None,
    where: str,
) -> list[Error]:
    """The error of a line; None if the line says that there is no error."""
    try:
        penalty(category, severity)
    except PrismError as error:
        raise PrismError(f"{where}: {error}") from error
    if NO_ERROR in (severity.lower(), category.lower()):
        return []
    return [Error(category, severity, in_target or in_source, in_target is None and in_source is not None)]
