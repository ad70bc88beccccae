"""What is written is read, whatever characters are in it: never a shift. Damaged files are those of tests/hostile."""

import gzip
import json
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prism_mt._core.errors import PrismError
from prism_mt.text.lines import open_fields, open_jsonl, open_lines

# Anything a line can have in it. Half a surrogate pair is not text.
cell = st.text(st.characters(exclude_characters="\t\n\r", codec="utf-8") | st.sampled_from("\u2028\x85\0\ufeff"))
rows = st.lists(st.tuples(cell, cell), min_size=1, max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(rows, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_what_is_written_is_read(
    tmp_path: Path, table: list[tuple[str, str]], end: str, bom: bool, packed: bool
) -> None:
    head = "\ufeff" if bom or table[0][0].startswith("\ufeff") else ""  # the first one is always taken for a mark
    files = {
        "cand": "".join(a + end for a, _ in table),
        "tsv": "".join(f"{a}\t{b}{end}" for a, b in table),
        "jsonl": "".join(json.dumps({"src": a, "ref": b}, ensure_ascii=False) + end for a, b in table),
    }
    paths = {}
    for name, text in files.items():
        paths[name] = tmp_path / (name + (".gz" if packed else ""))
        data = (head + text).encode()
        paths[name].write_bytes(gzip.compress(data) if packed else data)
    columns = [[a for a, _ in table], [b for _, b in table]]
    assert list(open_lines(paths["cand"])) == columns[0]
    with suppress(PrismError):  # a first row that repeats the names of the fields is refused
        assert [list(lines) for _, lines in open_fields(paths["tsv"], ["src", "ref"])] == columns
    assert [list(lines) for _, lines in open_jsonl(paths["jsonl"], ["src", "ref"])] == columns
