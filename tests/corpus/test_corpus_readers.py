import gzip
import json
import lzma
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.corpus.config import CorpusConfig, SourceConfig, find_sources
from prism_mt.corpus.readers import Selection, parse_block, read_blocks
from prism_mt.corpus.rows import Reject, Row

TMX = """<?xml version="1.0" encoding="utf-8"?>
<tmx version="1.4"><header/><body>
<tu><tuv xml:lang="en-GB"><seg>A <bpt i="1">big</bpt> house</seg></tuv>
<tuv xml:lang="DE"><seg>Ein großes Haus</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Alone</seg></tuv></tu>
</body></tmx>
"""


def read(root: Path, *languages: str, **source: object) -> tuple[list[Row], list[Reject], int]:
    config = CorpusConfig(languages=list(languages), source=[SourceConfig(**source)])  # type: ignore[arg-type]
    rows, rejects, unwanted = [], [], 0
    for block in read_blocks(find_sources(config, root)):
        more, bad, others = parse_block(block, Selection(frozenset(languages), seed=1))
        rows += more
        rejects += bad
        unwanted += others
    return rows, rejects, unwanted


def test_tsv_rows_are_oriented_and_bad_lines_are_rejected_with_their_reason(tmp_path: Path) -> None:
    lines = [
        b"en\tde\tA house\tEin Haus",
        b"de\ten\tEin Hund",
        b"de\ten\tB\xff\tdog",
        b"de\ten\t \tdog",
        b"qqx\ten\tx\tdog",
        b"fr\ten\tUn chien\tA dog",
    ]
    (tmp_path / "a.tsv").write_bytes(b"\n".join(lines) + b"\n")
    rows, rejects, unwanted = read(tmp_path, "en", "de", path="a.tsv")
    assert rows == [Row(0, 1, "de", "en", "Ein Haus", "A house")]
    assert [(reject.file, reject.line, reject.reason) for reject in rejects] == [
        ("a.tsv", 2, "3 columns instead of 4"),
        ("a.tsv", 3, "not valid UTF-8"),
        ("a.tsv", 4, "empty de side"),
        ("a.tsv", 5, "unknown language code 'qqx'"),
    ]
    assert unwanted == 1


def test_margins_come_from_their_column(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("de\ten\tHund\tdog\t1.07\nde\ten\tHund\tdog\tnan\n", "utf-8")
    rows, rejects, _ = read(tmp_path, "en", "de", path="a.tsv", margin_column=5)
    assert [row.margin for row in rows] == [1.07]
    assert rejects[0].reason == "the margin 'nan' is not a number"


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], ["de-en", "de-fr", "en-fr"]),
        (["en"], ["de-en", "en-fr"]),
        (["fr-de"], ["de-fr"]),
        (["it"], []),
    ],
)
def test_multi_parallel_rows_give_the_pairs_asked_for(
    tmp_path: Path, pairs: list[str], expected: list[str]
) -> None:
    row = {"_id": "x", "en": "dog", "de": "Hund", "fr": "chien", "it": "cane"}
    with lzma.open(tmp_path / "a.jsonl.xz", "wt") as handle:
        handle.write(json.dumps(row) + "\n")
    rows, _, _ = read(tmp_path, "en", "de", "fr", path="a.jsonl.xz", pairs=pairs)
    assert sorted(row.pair for row in rows) == expected


def test_pairs_per_row_draws_the_same_pairs_every_time(tmp_path: Path) -> None:
    row = {"en": "dog", "de": "Hund", "fr": "chien", "it": "cane"}
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(row)}\n" * 50, "utf-8")
    first, _, _ = read(tmp_path, "en", "de", "fr", "it", path="a.jsonl", pairs_per_row=2)
    again, _, _ = read(tmp_path, "en", "de", "fr", "it", path="a.jsonl", pairs_per_row=2)
    assert len(first) == 100
    assert first == again
    assert len({row.pair for row in first}) == 6


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not valid JSON"),
        ('"text"', "not an object of texts by language"),
        ('{"en": "a", "de": 1}', "not an object of texts by language"),
        ('{"_id": "1", "en": "a"}', "fewer than two languages"),
        ('[["en", "a"], ["de", "b"]]', "not an object of texts by language"),
        ('{"en": "a", "de": "\\ud800"}', "the de side is not valid Unicode"),
    ],
)
def test_bad_json_lines_are_rejected(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "a.jsonl").write_text(line + "\n", "utf-8")
    assert read(tmp_path, "en", "de", path="a.jsonl")[1] == [Reject("a.jsonl", 1, reason)]


def test_a_bad_side_of_a_multi_parallel_row_leaves_the_others(tmp_path: Path) -> None:
    row = {"en": "dog", "de": " ", "fr": "chien", "qqx": "?"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    rows, rejects, unwanted = read(tmp_path, "en", "de", "fr", path="a.jsonl")
    assert [row.pair for row in rows] == ["en-fr"]
    assert [reject.reason for reject in rejects] == ["empty de side", "unknown language code 'qqx'"]
    assert unwanted == 0


def test_a_byte_order_mark_is_no_part_of_the_first_code(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("de\ten\tHund\tdog\n", "utf-8-sig")
    assert [row.pair for row in read(tmp_path, "en", "de", path="a.tsv")[0]] == ["de-en"]


def test_moses_files_may_be_compressed_differently(tmp_path: Path) -> None:
    (tmp_path / "news.de").write_text("Hund\nKatze\n", "utf-8")
    with gzip.open(tmp_path / "news.en.gz", "wt") as handle:
        handle.write("dog\ncat\n")
    rows, _, _ = read(tmp_path, "en", "de", path="news", languages=["en", "de"])
    assert [(row.text1, row.text2) for row in rows] == [("Hund", "dog"), ("Katze", "cat")]


def test_moses_files_of_different_length_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "news.de").write_text("Hund\n", "utf-8")
    (tmp_path / "news.en").write_text("dog\ncat\n", "utf-8")
    with pytest.raises(PrismError, match=r"news\.de ends before line 2"):
        read(tmp_path, "en", "de", path="news", languages=["en", "de"])


def test_tmx_units_lose_their_markup(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.tmx.gz", "wt", encoding="utf-8") as handle:
        handle.write(TMX)
    rows, rejects, _ = read(tmp_path, "en", "de", path="a.tmx.gz")
    assert [(row.pair, row.text1, row.text2) for row in rows] == [("de-en", "Ein großes Haus", "A big house")]
    assert rejects == [Reject("a.tmx.gz", 2, "fewer than two languages")]


def test_broken_tmx_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text("<tmx><body><tu></body>", "utf-8")
    with pytest.raises(PrismError, match="not valid TMX"):
        read(tmp_path, "en", path="a.tmx")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"path": "none.tsv"}, "no file matches"),
        ({"path": "a.txt"}, "cannot infer the format"),
        ({"path": "b", "languages": ["de", "en"]}, r"no file .*b\.de"),
        ({"path": "b", "languages": ["de"]}, "two languages"),
        ({"path": "a.txt", "margin_column": 4}, "margin_column must be 5"),
    ],
)
def test_sources_that_cannot_be_found(tmp_path: Path, source: dict[str, object], message: str) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    with pytest.raises(PrismError, match=message):
        read(tmp_path, "en", **source)


def test_cut_off_archive_is_an_error(tmp_path: Path) -> None:
    data = lzma.compress(b"de\ten\tHund\tdog\n" * 1000)
    (tmp_path / "a.tsv.xz").write_bytes(data[: len(data) // 2])
    with pytest.raises(PrismError, match=r"a\.tsv\.xz"):
        read(tmp_path, "en", "de", path="a.tsv.xz")
