"""Readers of judgments and of metric scores: one file per format."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.readers import agreement, google_mqm, mtme, segments, table, wmt
from prism_mt.evaluation.readers.fields import first_line, stem


@dataclass(frozen=True)
class Request:
    """What to read of a file.

    `pair` names the language pair of a file that does not say it, `pairs` keeps only some, `score` names the
    column or kind of human scores where there are several (raw, z, mqm).
    """

    pair: str | None = None
    pairs: Collection[str] = ()
    score: str | None = None


def read_judgments(path: Path, request: Request | None = None) -> list[Judgments]:
    """The judgments of a file or mt-metrics-eval directory, one object per test set and language pair."""
    request = request or Request()
    found = [
        judgments
        for judgments in _reader(path)(path, request.pair, request.score)
        if not request.pairs or judgments.pair in request.pairs
    ]
    if not found:
        wanted = f" of {', '.join(request.pairs)}" if request.pairs else ""
        raise PrismError(f"{path} has no judgments{wanted}")
    return found


def _reader(path: Path) -> Callable[[Path, str | None, str | None], list[Judgments]]:
    """The reader for a path, by its kind, ending or first line."""
    if path.is_dir():
        return mtme.read
    if stem(path).endswith((".jsonl", ".json")):
        return segments.read
    header = first_line(path)
    if header.startswith("#") and "\tmetrics\t" in header:
        return agreement.read
    names = header.lower().split()
    if "category" in names and "severity" in names:
        return google_mqm.read
    if "\t" not in header and "lp" in names:
        return wmt.read
    return table.read
