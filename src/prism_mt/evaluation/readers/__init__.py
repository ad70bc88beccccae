"""Readers of judgments and metric scores: one file per format, and one entry in a table."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.readers import agreement, google_mqm, mtme, segments, table, wmt_csv, wmt_outputs
from prism_mt.evaluation.readers.fields import Request, first_line


@dataclass(frozen=True)
class Format:
    """A judgment format: how to recognize a path by its first line (empty for a directory), and its reader."""

    name: str
    description: str
    recognize: Callable[[Path, str], bool]
    read: Callable[[Path, Request], list[Judgments]]


FORMATS = (
    Format("mt-metrics-eval", "a directory of mt-metrics-eval", mtme.recognize, mtme.read),
    Format("wmt-outputs", "WMT's JSONL or TSV with one output a line", wmt_outputs.recognize, wmt_outputs.read),
    Format("jsonl", "JSONL with one segment a line", segments.recognize, segments.read),
    Format("agreement", "daRR pairs with one bit per metric", agreement.recognize, agreement.read),
    Format("google-mqm", "Google's MQM ratings, one error a line", google_mqm.recognize, google_mqm.read),
    Format("wmt-csv", "the metrics tasks' space-separated files", wmt_csv.recognize, wmt_csv.read),
    Format("tsv", "a table with a header line", table.recognize, table.read),
)
"""The first format that recognizes a path reads it."""


def read_judgments(
    path: str | Path, *, pair: str | None = None, human_score: str | None = None, prefer: Sequence[str] = ()
) -> Judgments:
    """Read the judgments of one language pair and test set.

    `pair` chooses one of several, or gives that of a file that does not state it. `human_score` names the column or
    kind of human scores if there are several (raw, z, mqm, esa); otherwise the first of `prefer` in the file is used.
    """
    found = read_all_judgments([path], pairs=(pair,) if pair else (), human_score=human_score, prefer=prefer)
    if len(found) > 1:
        places = ", ".join(judgments.place for judgments in found)
        raise PrismError(
            f"{path} has several sets of judgments ({places}): choose one with pair=, or use read_all_judgments"
        )
    return found[0]


def read_all_judgments(
    paths: Iterable[str | Path],
    *,
    pairs: Collection[str] = (),
    human_score: str | None = None,
    prefer: Sequence[str] = (),
) -> list[Judgments]:
    """Read files and mt-metrics-eval directories: one object per test set and language pair, restricted to `pairs`."""
    request = Request(next(iter(pairs)) if len(pairs) == 1 else None, human_score, prefer)
    found = []
    for path in map(Path, paths):
        here = [one for one in format_of(path).read(path, request) if not pairs or one.pair in pairs]
        if not here:
            raise PrismError(f"{path} has no judgments" + (f" of {', '.join(pairs)}" if pairs else ""))
        found += here
    return found


def format_of(path: Path) -> Format:
    """Recognize the format of a file or directory."""
    header = "" if path.is_dir() else first_line(path)
    return next(one for one in FORMATS if one.recognize(path, header))
