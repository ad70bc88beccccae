"""What single raters said of single outputs: the readers of `metaeval.readers` average raters, this one does not.

Formats: JSONL with one segment on each line (`mqm`: system → rater → `errors` or `score`; or `scores`), Google's
MQM ratings (a TSV with one error on each line), and tables of direct assessment with a column `rater`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import is_human
from prism_mt.evaluation.mqm import NON_TRANSLATION, score_errors
from prism_mt.evaluation.readers.fields import (
    first_line,
    json_records,
    mapping,
    number,
    pair_of,
    records,
    stem,
    text_of,
)

_SEGMENT = ("segment", "docseg", "sid", "seg_id", "idx")
_RATER = ("rater", "annotator", "judge")
_SCORE = ("raw", "score", "human", "da_z", "z")
_MARKS = re.compile(r"</?v>")
ALL_RATERS = "all"
"""The rater of scores that are averages or come without a name."""


@dataclass(frozen=True)
class Reading:
    """How ratings are read: the price of a non-translation, and whether a file's own scores count, not its errors."""

    pair: str | None = None
    non_translation: float = NON_TRANSLATION
    given_scores: bool = False


@dataclass
class RatedSegment:
    """All outputs of one segment with the scores of each rater; higher is better."""

    pair: str
    segment: str
    where: str
    source: str | None = None
    references: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    ratings: dict[str, dict[str, float]] = field(default_factory=dict)
    """By rater, then by system."""
    rated_at: dict[str, str] = field(default_factory=dict)
    """Where a rater's last rating stands."""

    def rate(self, rater: str, system: str, score: float | None, where: str) -> None:
        """Add a rater's score of one output."""
        if score is not None:
            self.ratings.setdefault(rater, {})[system] = score
            self.rated_at[rater] = where

    def without_humans(self) -> "RatedSegment":
        """Without ratings of human translations; their texts stay, as references."""
        ratings = {
            rater: {system: score for system, score in scores.items() if not is_human(system)}
            for rater, scores in self.ratings.items()
        }
        return replace(self, ratings=ratings)

    def add_output(self, system: str, text: str | None) -> None:
        """Add an output; one that is a human translation is also a reference."""
        if text is not None:
            self.outputs[system] = text
            if is_human(system):
                self.references[system] = text


def read_ratings(path: Path, reading: Reading | None = None) -> list[RatedSegment]:
    """The rated segments of a file in its order."""
    reading = reading or Reading()
    if stem(path).endswith((".jsonl", ".json")):
        found = list(_read_segments(path, reading))
    else:
        names = first_line(path).lower().split("\t")
        errors = "category" in names and "severity" in names
        found = _read_errors(path, reading) if errors else _read_table(path, reading)
    if not any(segment.ratings for segment in found):
        raise PrismError(f"{path} has no ratings of single outputs")
    return found


def _read_segments(path: Path, reading: Reading) -> Iterator[RatedSegment]:
    for where, record in json_records(path):
        name = next((str(record[key]) for key in _SEGMENT if key in record), None)
        if name is None:
            raise PrismError(f"{where}: no segment number under any of {', '.join(_SEGMENT)}")
        pair = str(record["lp"]) if "lp" in record else pair_of(path, reading.pair)
        segment = RatedSegment(pair, name, where, text_of(record.get("src"), where))
        for reference, text in {"ref": record.get("ref"), **mapping(record, "refs", where)}.items():
            if text is not None:
                segment.references[reference] = text_of(text, where) or ""
        for system, text in mapping(record, "sys", where).items():
            segment.add_output(system, text_of(text, where))
        for system, raters in mapping(record, "mqm", where).items():
            for rater, rating in mapping({system: raters}, system, where).items():
                segment.rate(rater, system, _score(rating, reading, f"{where}: {system}, {rater}"), where)
        if not segment.ratings:
            for system, value in mapping(record, "scores", where).items():
                segment.rate(ALL_RATERS, system, number(value, where), where)
        yield segment


def _score(rating: object, reading: Reading, where: str) -> float | None:
    """Minus the price of the errors; the given score where there is no list of errors or it is asked for."""
    if not isinstance(rating, dict) or not (
        "score" in rating or ("errors" in rating and not reading.given_scores)
    ):
        raise PrismError(f"{where}: a rating must be an object with a score or a list of errors")
    if "errors" in rating and not reading.given_scores:
        return score_errors(rating, where, reading.non_translation)
    return number(rating["score"], where)


def _read_errors(path: Path, reading: Reading) -> list[RatedSegment]:
    """Google's ratings: the errors of a rater in an output are on several lines."""
    found: dict[str, RatedSegment] = {}
    pair = pair_of(path, reading.pair)
    for where, row in records(path):
        missing = [name for name in ("system", "seg_id", "rater", "source", "target") if name not in row]
        if missing:
            raise PrismError(f"{where}: no column {', '.join(missing)} in these MQM ratings")
        segment = found.setdefault(row["seg_id"], RatedSegment(pair, row["seg_id"], where))
        segment.source = _MARKS.sub("", row["source"])
        segment.add_output(row["system"], _MARKS.sub("", row["target"]))
        before = segment.ratings.get(row["rater"], {}).get(row["system"], 0.0)
        error = {"errors": [[row["category"], row["severity"]]]}
        score = score_errors(error, where, reading.non_translation)
        segment.rate(row["rater"], row["system"], before + score, where)
    return list(found.values())


def _read_table(path: Path, reading: Reading) -> list[RatedSegment]:
    """Direct assessment: one rating on each line with its texts."""
    found: dict[tuple[str, str], RatedSegment] = {}
    for where, row in records(path):
        pair = row.get("lp") or pair_of(path, reading.pair)
        name = _needed(row, _SEGMENT, "segment", where)
        segment = found.setdefault((pair, name), RatedSegment(pair, name, where))
        segment.source = _first(row, ("src", "source")) or segment.source
        reference = _first(row, ("ref", "reference"))
        if reference is not None:
            segment.references["ref"] = reference
        system = _needed(row, ("system",), "system", where)
        segment.add_output(system, _needed(row, ("hyp", "output", "mt", "hypothesis"), "output", where))
        rater = _first(row, _RATER) or ALL_RATERS
        if system in segment.ratings.get(rater, {}):
            raise PrismError(f"{where}: rater {rater} has rated this output of {system} before: keep one rating")
        segment.rate(rater, system, number(_needed(row, _SCORE, "score", where), where), where)
    return list(found.values())


def _first(row: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((row[name] for name in names if name in row), None)


def _needed(row: Mapping[str, str], names: Sequence[str], what: str, where: str) -> str:
    value = _first(row, names)
    if value is None:
        raise PrismError(f"{where}: no column for the {what} ({', '.join(names)}); there are {', '.join(row)}")
    return value
