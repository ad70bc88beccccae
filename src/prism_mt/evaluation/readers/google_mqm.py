"""Google's MQM ratings: a TSV with one error on each line (system, doc, seg_id, rater, source, target, …)."""

import re
from collections import defaultdict
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.mqm import penalty
from prism_mt.evaluation.readers.collect import Collector
from prism_mt.evaluation.readers.fields import pair_of, records, stem

_COLUMNS = ("system", "seg_id", "rater", "source", "target", "category", "severity")
_MARKS = re.compile(r"</?v>")


def read(path: Path, pair: str | None, score: str | None) -> list[Judgments]:
    """Score = minus the sum of a rater's penalties, averaged over raters; the marks around errors are removed."""
    collector = Collector(stem(path).split(".")[0], pair_of(path, pair))
    ratings: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for where, row in records(path):
        missing = [name for name in _COLUMNS if name not in row]
        if missing:
            raise PrismError(f"{where}: no column {', '.join(missing)} in these MQM ratings")
        system, segment = row["system"], row["seg_id"]
        try:
            cost = penalty(row["category"], row["severity"])
        except ValueError as error:
            raise PrismError(f"{where}: {error}") from error
        ratings[system, segment][row["rater"]].append(cost)
        collector.source(segment, _MARKS.sub("", row["source"]))
        collector.output(segment, system, _MARKS.sub("", row["target"]))
    for (system, segment), raters in ratings.items():
        for costs in raters.values():
            collector.score(system, segment, -sum(costs))
    return [collector.judgments()]
