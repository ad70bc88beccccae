"""daRR pairs with one bit per metric: does it agree? (WMT20 publishes these, not the scores.)

Per language pair, a line `#lp<TAB>metrics<TAB>names`, then lines with lp, segment, better, worse and the bits in the
order of the names; the bits may be missing for a whole language pair.
"""

from pathlib import Path

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, Preferences
from prism_mt.evaluation.ratings import Ratings
from prism_mt.evaluation.readers.fields import Request, file_title, numbered_lines


def recognize(path: Path, header: str) -> bool:
    """Whether the first line names the metrics of a language pair."""
    return header.startswith("#") and "\tmetrics" in header


def read(path: Path, request: Request) -> list[Judgments]:
    """Read preferences and the metrics' agreements; a metric's tie is a disagreement here."""
    metrics: dict[str, list[str]] = {}
    rows: dict[str, list[tuple[str, str, str, str]]] = {}
    for where, line in numbered_lines(path):
        values = line.split("\t")
        if line.startswith("#"):
            metrics[values[0][1:]] = values[2].split() if len(values) > 2 else []
            continue
        if len(values) == 4:
            values.append("")
        if len(values) != 5 or values[0] not in metrics:
            raise PrismError(f"{where}: expected lp, segment, better, worse and bits below a line #lp")
        if values[4] not in ("", "-") and len(values[4]) != len(metrics[values[0]]):
            raise PrismError(f"{where}: {len(values[4])} bits for {len(metrics[values[0]])} metrics")
        if values[4].strip("01") not in ("", "-"):
            raise PrismError(f"{where}: a bit is 1 if a metric agrees and 0 otherwise, not {values[4]!r}")
        rows.setdefault(values[0], []).append((values[1], values[2], values[3], values[4]))
    return [_judgments(file_title(path), lp, metrics[lp], found) for lp, found in rows.items()]


def _judgments(name: str, lp: str, metrics: list[str], rows: list[tuple[str, str, str, str]]) -> Judgments:
    segments = {name: index for index, name in enumerate(dict.fromkeys(row[0] for row in rows))}
    names = dict.fromkeys(name for row in rows for name in row[1:3])
    systems = {name: index for index, name in enumerate(names)}
    indices = np.array([(segments[row[0]], systems[row[1]], systems[row[2]]) for row in rows], dtype=np.int64)
    agreements = {}
    if all(len(row[3]) == len(metrics) for row in rows):
        bits = np.frombuffer("".join(row[3] for row in rows).encode(), dtype=np.uint8).reshape(len(rows), -1)
        agreements = {metric: (bits[:, i] == ord("1")) * 2.0 - 1.0 for i, metric in enumerate(metrics)}
    preferences = Preferences(indices[:, 0], indices[:, 1], indices[:, 2], agreements)
    none = Ratings.from_matrix(np.full((len(systems), len(segments)), np.nan))
    return Judgments(name, lp, tuple(systems), tuple(segments), none, None, preferences)
