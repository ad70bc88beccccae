"""Tab-separated tables with a header line: our own format, and most published ones.

Columns are known by their names (upper or lower case): the language pair `lp`, the `system`, the segment
(`segment`, `docseg`, `sid`, `seg_id` or `idx`), the `rater`, the human score (`score`, `human`, `da_z`, `z`,
`z_mean`, or the one asked for), the texts (`src`, `ref`, `hyp`), the document (`doc`), the `domain`, and a test set
(`testset`, `data`, `set` or `split`). Without a segment column the scores are those of whole systems; without a
system column there is one output per segment. The columns `better` and `worse` instead of a score make the table
one of preferences.
"""

from collections.abc import Mapping
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.ratings import ALL_RATERS
from prism_mt.evaluation.readers import fields
from prism_mt.evaluation.readers.collect import Collector, Collectors
from prism_mt.evaluation.readers.fields import Request, field, number, pair_of, records, word

_SCORE = ("score", "human", "da_z", "z", "z_mean")
_ONLY_SYSTEM = "output"


def recognize(path: Path, header: str) -> bool:
    """Accept every file that no other reader recognizes."""
    return True


def read(path: Path, request: Request) -> list[Judgments]:
    """Read judgments from a tab-separated table; every row is a rating."""
    collectors = Collectors(fields.file_title(path))
    for where, row in records(path):
        collector = collectors.of(word(row, fields.TESTSET), row.get("lp") or pair_of(path, request.pair))
        segment = field(row, fields.SEGMENT)
        if "better" in row and "worse" in row:
            if segment is None:
                raise PrismError(f"{where}: preferences need a segment column ({', '.join(fields.SEGMENT)})")
            collector.preference(segment, row["better"], row["worse"])
            continue
        system = row.get("system", _ONLY_SYSTEM)
        value = number(row[_score_column(row, request, where)], where)
        if segment is None:
            collector.system_score(system, value)
            continue
        collector.rating(system, segment, value, word(row, fields.RATER) or ALL_RATERS)
        _add_texts(collector, segment, system, row)
    return collectors.judgments()


def _add_texts(collector: Collector, segment: str, system: str, row: Mapping[str, str]) -> None:
    collector.source(segment, field(row, fields.SOURCE))
    reference = field(row, fields.REFERENCE)
    if reference is not None:
        collector.reference(segment, "ref", reference)
        collector.standard_reference = "ref"
    collector.output(segment, system, field(row, fields.OUTPUT))
    collector.document(segment, field(row, fields.DOCUMENT), field(row, fields.DOMAIN))


def _score_column(row: Mapping[str, str], request: Request, where: str) -> str:
    asked = request.choose(list(row))
    for name in [asked.lower()] if asked else _SCORE:
        if name in row:
            return name
    wanted = asked or f"one of {', '.join(_SCORE)}"
    raise PrismError(f"{where}: no score column {wanted}; the columns are {', '.join(row)}")
