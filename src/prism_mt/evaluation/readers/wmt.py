"""The metrics tasks' space-separated files: DA-seglevel.csv, DA-syslevel.csv, RR-seglevel.csv, DArr-seglevel.csv."""

from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.readers.collect import Collectors
from prism_mt.evaluation.readers.fields import number, numbered_lines, stem


def read(path: Path, pair: str | None, score: str | None) -> list[Judgments]:
    """Columns by the header's names: LP, DATA, SYSTEM, SID, HUMAN (or the score asked for), BETTER, WORSE."""
    collectors = Collectors()
    lines = numbered_lines(path)
    header = next(lines)[1].upper().split()
    human = (score or "HUMAN").upper()
    for where, line in lines:
        values = line.split()
        # The header of WMT18's RR-seglevel.csv lacks the second name, DATA.
        names = [header[0], "DATA", *header[1:]] if len(values) == len(header) + 1 else header
        if len(values) != len(names):
            raise PrismError(f"{where}: {len(values)} columns under a header of {len(header)}")
        row = dict(zip(names, values, strict=True))
        collector = collectors.of(row.get("DATA", stem(path).split(".")[0]), row["LP"])
        if "BETTER" in row and "WORSE" in row and "SID" in row:
            collector.preference(row["SID"], row["BETTER"], row["WORSE"])
        elif human in row and "SYSTEM" in row:
            if "SID" in row:
                collector.score(row["SYSTEM"], row["SID"], number(row[human], where))
            else:
                collector.system_score(row["SYSTEM"], number(row[human], where))
        else:
            raise PrismError(
                f"{path}, line 1: needs SYSTEM and {human}, or SID, BETTER and WORSE: {' '.join(header)}"
            )
    return [collector.judgments() for collector in collectors]
