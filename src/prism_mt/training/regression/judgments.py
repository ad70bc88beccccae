"""Judged outputs, the training data of `prism metric train`."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt.text.lines import open_lines


@dataclass(frozen=True)
class JudgedOutput:
    """One output with its reference or source, and its human score."""

    other: str
    hypothesis: str
    score: float
    group: str = ""
    """Outputs of one group can be ranked against each other: those of one segment by one rater, for example."""


def read_judged_outputs(path: Path, side: Literal["ref", "src"] = "ref") -> Iterator[JudgedOutput]:
    """Rows of a tab-separated file whose first line names its columns, among them ref (or src), hyp and score.

    A column group is optional.
    """
    columns = (side, "hyp", "score")
    rows = (line.split("\t") for line in open_lines(path))
    header = next(rows, [])
    missing = [name for name in columns if name not in header]
    if missing:
        raise PrismError(f"{path}, line 1 must name the columns {', '.join(columns)}; {missing[0]} is missing")
    other, hypothesis, score = (header.index(name) for name in columns)
    group = header.index("group") if "group" in header else None
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise PrismError(f"{path}, line {number}: {len(row)} columns, expected {len(header)}")
        try:
            value = float(row[score])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise PrismError(f"{path}, line {number}: the score {row[score]!r} is not a number")
        yield JudgedOutput(row[other], row[hypothesis], value, "" if group is None else row[group])
