"""Tables with a header line, tab-separated: our own format, and most of what is published.

Columns are known by their names (upper or lower case): the language pair `lp`, the `system`, the segment
(`segment`, `docseg`, `sid`, `seg_id` or `idx`), the human score (`score`, `human`, `da_z`, `z`, `z_mean`, or the
one asked for), the texts (`src`, `ref`, `hyp`), and a test set (`testset`, `set` or `split`). Without a segment
column the scores are those of whole systems; without a system column there is one output per segment. The columns
`better` and `worse` instead of a score make the table one of preferences.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.readers.collect import Collectors
from prism_mt.evaluation.readers.fields import number, pair_of, records, stem

_TESTSET = ("testset", "set", "split", "data")
_SEGMENT = ("segment", "docseg", "sid", "seg_id", "idx")
_SCORE = ("score", "human", "da_z", "z", "z_mean")
_SOURCE = ("src", "source")
_REFERENCE = ("ref", "reference")
_OUTPUT = ("hyp", "output", "mt", "hypothesis")
_ONLY_SYSTEM = "output"


def read(path: Path, pair: str | None, score: str | None) -> list[Judgments]:
    """Judgments of a tab-separated table; several rows of the same output are averaged."""
    collectors = Collectors()
    for where, row in records(path):
        languages = row.get("lp") or pair_of(path, pair)
        collector = collectors.of(_field(row, _TESTSET) or stem(path).split(".")[0], languages)
        segment = _field(row, _SEGMENT)
        if "better" in row and "worse" in row:
            if segment is None:
                raise PrismError(f"{where}: preferences need a segment column ({', '.join(_SEGMENT)})")
            collector.preference(segment, row["better"], row["worse"])
            continue
        system = row.get("system", _ONLY_SYSTEM)
        value = number(row[_score_column(row, score, where)], where)
        if segment is None:
            collector.system_score(system, value)
            continue
        collector.score(system, segment, value)
        collector.source(segment, _field(row, _SOURCE))
        collector.reference(segment, "ref", _field(row, _REFERENCE))
        collector.output(segment, system, _field(row, _OUTPUT))
    return [collector.judgments() for collector in collectors]


def _field(row: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((row[name] for name in names if name in row), None)


def _score_column(row: Mapping[str, str], asked: str | None, where: str) -> str:
    for name in [asked.lower()] if asked else _SCORE:
        if name in row:
            return name
    wanted = asked or f"one of {', '.join(_SCORE)}"
    raise PrismError(f"{where}: no score column {wanted}; the columns are {', '.join(row)}")
