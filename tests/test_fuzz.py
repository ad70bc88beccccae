"""Every reader on files made of valid parts and rubbish: our own errors or a result, never a traceback or a shift."""

import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prism_mt._core.errors import PrismError
from prism_mt.corpus.config import CorpusConfig, SourceConfig, find_sources
from prism_mt.corpus.readers import Selection, parse_block, read_blocks
from prism_mt.evaluation.readers import read_all_judgments
from prism_mt.evaluation.readers.scores import read_scores
from prism_mt.generate.nbest import open_lists
from prism_mt.text.lines import open_fields, open_jsonl, open_lines

RUBBISH = [
    *(b"\n", b"\r\n", b"\r", b"\t", b" ", b"\0", b"\xef\xbb\xbf", b"\xff", b"\xe2\x80\xa8", b"\xc2\x85", b"\x0b"),
    *(b"#", b'"', b"\\", b"{", b"}", b"[", b"]", b":", b",", b"null", b"1e999", b"NaN", b"-", b"9" * 5000),
    *(b"x" * 70_000, b"\xed\xa0\x80", b"\\ud800", b"[" * 3000, b"0", b"\xf0\x9f\x98\x80"),
]
RUBBISH += [b"9" * 400, b"true", b"[1]", b'{"A": [1]}']
PARTS: dict[str, list[bytes]] = {
    "judgments.tsv": [
        b"lp\tsystem\tsegment\tscore\n",
        b"de-en\tA\t1\t",
        b"0.5",
        b"raw",
        b"src\tref\tmt\tlp\tscore\n",
    ],
    "mqm.tsv": [
        b"system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n",
        b"A\td\t1\t1\tr\ts\tt\t",
    ],
    "agreement.tsv": [b"#", b"\tmetrics\t", b"testset\tlp\tmetrics\t", b"newstest\tde-en\t", b"A\tB\t"],
    "DA.csv": [b"LP SYSTEM SID SCORE\n", b"de-en A 1 0.5\n", b"de-en"],
    "segments.jsonl": [
        b'{"lp": "de-en", "src": "a", "ref": "b", ',
        b'"mt": {"A": "c"}, ',
        b'"scores": {"A": 1}}\n',
    ],
    "outputs.jsonl": [
        b'{"langs": "de-en", "doc_id": "d", "line_id": 1, "system": "A", "src": "a", "tgt": "b", ',
        b'"esa_score": 80, "esa_spans": [',
        b'{"start_i": 0, "end_i": 1, "severity": "minor"}',
        b"]}\n",
    ],
    "outputs.tsv": [
        b"doc_id\tsegment_id\tsource_lang\ttarget_lang\tset_id\tsystem_id\toverall\n",
        b"d\t1\tde\ten\tofficial\tA\t",
        b"70\n",
    ],
    "scores.tsv": [b"# signature\n", b"metric\tsystem\tsegment\tscore\n", b"bleu\tA\t1\t", b"0.5\n", b"lp\t"],
    "scores.json": [b'{"seg": {"bleu": {"A": [', b"1, 2]}}}", b'"sys": ', b'{"bleu": {"A": 1}}'],
    "de-en.seg.score": [b"A\t", b"0.5\n", b"None\n"],
    "metric.seg.scr": [b"bleu\tde-en\tnewstest\tA\t1\t0.5\n", b"bleu de-en newstest ref A 1 0.5\n"],
    "bitext.tsv": [b"en\tde\tA house\tEin Haus\n", b"de\ten\t", b"en\t"],
    "bitext.jsonl": [b'{"en": "a", "de": "b"}\n', b'{"en": ', b'"a"', b"}\n"],
    "bitext.tmx": [b"<tmx><body>", b"<tu>", b'<tuv xml:lang="en"><seg>a</seg></tuv>', b"</tu>", b"</body></tmx>"],
    "lists.jsonl": [b'{"source": "a", "hypotheses": [', b'{"text": "b", "score": -1}', b"]}\n"],
}


def read_corpus(path: Path) -> None:
    config = CorpusConfig(languages=["de", "en"], source=[SourceConfig(path=path.name)])
    for block in read_blocks(find_sources(config, path.parent)):
        parse_block(block, Selection(frozenset({"de", "en"}), seed=1))


def readers(name: str) -> list[Callable[[Path], Any]]:
    if name.startswith("bitext"):
        return [read_corpus]
    if name.startswith("lists"):
        return [lambda path: list(open_lists(path))]
    return [lambda path: read_all_judgments([path], pairs=("de-en",)), lambda path: read_scores(path, "de-en")]


@pytest.mark.parametrize("name", PARTS)
def test_only_our_errors_escape(tmp_path: Path, name: str) -> None:
    @settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=60)
    @given(st.lists(st.sampled_from(PARTS[name]) | st.sampled_from([*RUBBISH, *PARTS[name]]), max_size=12))
    def check(parts: list[bytes]) -> None:
        path = tmp_path / name
        path.write_bytes(b"".join(parts))
        for read in readers(name):
            with suppress(PrismError):
                read(path)

    check()


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
