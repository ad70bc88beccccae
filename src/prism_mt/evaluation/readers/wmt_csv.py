"""Space-separated files of the metrics tasks: DA-seglevel.csv, DA-syslevel.csv, RR-seglevel.csv, DArr-seglevel.csv."""

from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.readers.collect import Collectors
from prism_mt.evaluation.readers.fields import Request, file_title, number, numbered_lines


def recognize(path: Path, header: str) -> bool:
    """Whether the header has no tabs and a column LP."""
    return "\t" not in header and "lp" in header.lower().split()


def read(path: Path, request: Request) -> list[Judgments]:
    """Columns by header name: LP, DATA, SYSTEM, SID, HUMAN (or the requested score), BETTER, WORSE."""
    collectors = Collectors(file_title(path))
    lines = numbered_lines(path)
    header = next(lines)[1].upper().split()
    human = (request.choose(header) or "HUMAN").upper()
    for where, line in lines:
        values = line.split()
        # The header of WMT18's RR-seglevel.csv lacks the second name, DATA.
        names = [header[0], "DATA", *header[1:]] if len(values) == len(header) + 1 else header
        if len(values) != len(names):
            raise PrismError(f"{where}: {len(values)} columns under a header of {len(header)}")
        row = dict(zip(names, values, strict=True))
        collector = collectors.of(row.get("DATA"), row["LP"])
        if "BETTER" in row and "WORSE" in row and "SID" in row:
            collector.preference(row["SID"], row["BETTER"], row["WORSE"])
        elif human in row and "SYSTEM" in row:
            if "SID" in row:
                collector.rating(row["SYSTEM"], row["SID"], number(row[human], where))
            else:
                collector.system_score(row["SYSTEM"], number(row[human], where))
        else:
            raise PrismError(
                f"{path}, line 1: needs SYSTEM and {human}, or SID, BETTER and WORSE: {' '.join(header)}"
            )
    return collectors.judgments()
