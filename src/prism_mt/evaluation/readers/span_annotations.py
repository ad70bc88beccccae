"""Outputs with marked errors: rating files in directories of mt-metrics-eval, and every format of MQM judgments.

mt-metrics-eval keeps `human-scores/LP.NAME.seg.rating` with system, JSON of a rating and perhaps a rater on each line,
segments in the order of the sources; `None` stands for a missing rating.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.ratings import Error
from prism_mt.evaluation.readers import read_all_judgments
from prism_mt.evaluation.readers.collect import Collector
from prism_mt.evaluation.readers.fields import numbered_lines, span_of
from prism_mt.text.lines import open_lines

_NONE = "None"


def read_annotations(paths: Iterable[str | Path], pairs: Collection[str] = ()) -> list[Judgments]:
    """Read outputs with marked errors; a directory gives one test set per language pair and rating file."""
    found: list[Judgments] = []
    for path in map(Path, paths):
        files = sorted((path / "human-scores").glob("*.seg.rating")) if path.is_dir() else []
        if path.is_dir() and not files:
            raise PrismError(f"{path} has no human-scores/LP.NAME.seg.rating: not a directory of mt-metrics-eval?")
        if files:
            chosen = [file for file in files if not pairs or file.name.split(".")[0] in pairs]
            found += [_read_ratings(path, file) for file in chosen]
        else:
            found += read_all_judgments([path], pairs=pairs)
    if not found:
        raise PrismError(f"there are no annotations of {', '.join(pairs)}")
    return found


def _read_ratings(path: Path, file: Path) -> Judgments:
    pair, name = file.name.removesuffix(".seg.rating").split(".", 1)
    collector = Collector(f"{path.name} {name}", pair)
    for number, text in enumerate(open_lines(path / "sources" / f"{pair}.txt"), start=1):
        collector.source(str(number), text)
    for texts in sorted((path / "references").glob(f"{pair}.*.txt")):
        own = texts.name.removeprefix(f"{pair}.").removesuffix(".txt")
        for number, text in enumerate(open_lines(texts), start=1):
            collector.reference(str(number), own, text)
    for texts in sorted((path / "system-outputs" / pair).glob("*.txt")):
        for number, text in enumerate(open_lines(texts), start=1):
            collector.output(str(number), texts.name.removesuffix(".txt"), text)
    counts: dict[str, int] = {}
    for where, line in numbered_lines(file):
        row = line.split("\t")
        if len(row) not in (2, 3):
            raise PrismError(f"{where}: {len(row)} columns instead of system, rating and perhaps a rater")
        counts[row[0]] = counts.get(row[0], 0) + 1
        if row[1] != _NONE:
            errors = _errors(row[1], where)
            rater = row[2] if len(row) == 3 else "all"
            collector.rating(row[0], str(counts[row[0]]), -float(len(errors)), rater, errors)
    return collector.judgments()


def _errors(text: str, where: str) -> tuple[Error, ...]:
    try:
        rating: Any = json.loads(text)
        listed: Sequence[Any] = rating["errors"]
        return tuple(
            Error(
                str(one.get("category", "")),
                str(one.get("severity", "major")),
                span_of(one.get("start"), one.get("end")),
                one.get("is_source_error") is True,
            )
            for one in listed
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PrismError(f"{where}: expected a rating, a JSON object with a list of errors") from error
