"""Scores in the WMT metrics task format: `METRIC-REFERENCE.seg.score` and `.sys.score`."""

import re
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt.metrics.scores import Scores
from prism_mt.report.errors import write_wmt_spans


def write_wmt(scores: Scores, folder: Path) -> None:
    """Write two files per metric, each line a system name and a score, segments in order."""
    for system in scores.systems:
        if re.search(r"[\t\n\r]", system):
            raise PrismError(
                f"the system's name {system!r} has a tab or a line break, which this format cannot hold"
            )
    if any(own.spans is not None for own in scores.values()):
        write_wmt_spans(scores, folder)
    references = "+".join(Path(lines.name).name for lines in scores.text.references) if scores.text else ""
    for metric, own in scores.items():
        against = references if "ref" in own.needs and references else "src"
        name = re.sub(r"[^\w.+-]", "_", f"{metric}-{against}")
        with write_atomically(folder / f"{name}.seg.score") as handle:
            for one in own:
                handle.writelines(f"{one.system}\t{score!r}\n" for score in one.segments.tolist())
        with write_atomically(folder / f"{name}.sys.score") as handle:
            handle.writelines(f"{one.system}\t{one.score!r}\n" for one in own)
