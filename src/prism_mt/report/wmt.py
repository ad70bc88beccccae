"""Scores in the layout of the WMT metrics tasks: `METRIC-REFERENCE.seg.score` and `.sys.score`."""

import re
from collections.abc import Sequence
from pathlib import Path

from prism_mt._core.files import write_atomically
from prism_mt.metrics.base import SystemScores
from prism_mt.metrics.parallel import ParallelText


def write_wmt(results: Sequence[SystemScores], text: ParallelText, folder: Path) -> None:
    """Two files per metric, each line a system's name and a score; segments follow one another."""
    references = "+".join(Path(lines.name).name for lines in text.references)
    for metric in dict.fromkeys(result.metric for result in results):
        chosen = [result for result in results if result.metric == metric]
        against = "src" if metric.endswith(("-src", "-dual")) or not references else references
        name = re.sub(r"[^\w.+-]", "_", f"{metric}-{against}")
        with write_atomically(folder / f"{name}.seg.score") as handle:
            for result in chosen:
                handle.writelines(f"{result.system}\t{score!r}\n" for score in result.segments.tolist())
        with write_atomically(folder / f"{name}.sys.score") as handle:
            handle.writelines(f"{result.system}\t{result.score!r}\n" for result in chosen)
