import gzip
import json
import lzma
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prism_mt._core.errors import PrismError
from prism_mt.text.lines import Lines, check_parallel, lines_of, open_fields, open_jsonl, open_lines

Write = Callable[[str, bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write_file


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"one", ["one"]),
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\n\ntwo", ["one", "", "two"]),
        (b"one\n\n", ["one", ""]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"one\r\r\n", ["one\r"]),
        (b"one\rtwo\n", ["one\rtwo"]),
        (b"one\r", ["one\r"]),
        (b"\xef\xbb\xbfone\n", ["one"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\n", [""]),
        (b"one\n\xef\xbb\xbftwo", ["one", "\ufefftwo"]),
        (b"a\x00b\n", ["a\x00b"]),
        (b"a\x0bb\x0cc\x1cd\x1de\x1ef\n", ["a\x0bb\x0cc\x1cd\x1de\x1ef"]),
        ("a\u2028b\u2029c\u0085d\n".encode(), ["a\u2028b\u2029c\u0085d"]),
        ("  \u00a0 a \t\n".encode(), ["  \u00a0 a \t"]),
        (b"x" * 3_000_000 + b"\ny", ["x" * 3_000_000, "y"]),
    ],
)
@pytest.mark.parametrize("suffix", ["", ".gz", ".XZ"])
def test_lines_end_at_line_feeds_only(write: Write, data: bytes, expected: list[str], suffix: str) -> None:
    packed = {"": data, ".gz": gzip.compress(data), ".XZ": lzma.compress(data)}[suffix]
    lines = open_lines(write(f"text{suffix}", packed))
    assert lines.count() == len(expected)
    assert list(lines) == expected
    assert list(lines) == expected  # and again


def test_two_readers_of_one_text_do_not_disturb_each_other(write: Write) -> None:
    lines = open_lines(write("text", b"1\n2\n3\n"))
    assert list(zip(lines, lines, strict=True)) == [("1", "1"), ("2", "2"), ("3", "3")]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"good\nb\xffd\n", "a.txt, line 2: byte 0xff at offset 6 is not UTF-8"),
        ("a.txt", b"\xef\xbb\xbf\xc3(\n", "a.txt, line 1: byte 0xc3 at offset 3 is not UTF-8"),
        ("a.txt", b"one\ntwo\xe2\x82", "a.txt, line 2: byte 0xe2 at offset 7 is not UTF-8"),
        ("a.txt", b"\xed\xa0\x80\n", "line 1: byte 0xed at offset 0"),
        (
            "a.gz",
            gzip.compress(b"good\n\xff\n", mtime=0),
            "line 2: byte 0xff at offset 5 of the uncompressed text",
        ),
        ("a.gz", gzip.compress(b"some text\n" * 99, mtime=0)[:-9], "a.gz is damaged or cut off"),
        ("a.gz", b"plain text\n", "a.gz is damaged or cut off"),
        ("a.gz", gzip.compress(b"text\n", mtime=0) + b"more", "a.gz is damaged or cut off"),
        ("a.xz", lzma.compress(b"some text\n" * 99)[:-9], "a.xz is damaged or cut off"),
        ("a.xz", b"plain text\n", "a.xz is damaged or cut off"),
    ],
)
def test_damaged_files_are_named_with_the_place(write: Write, name: str, data: bytes, message: str) -> None:
    with pytest.raises(PrismError) as caught:
        open_lines(write(name, data)).count()
    assert message in str(caught.value)


def test_a_text_that_changes_between_two_passes_is_an_error(write: Write) -> None:
    path = write("text", b"1\n2\n")
    lines = open_lines(path)
    assert lines.count() == 2
    path.write_bytes(b"1\n2\n3\n")
    with pytest.raises(PrismError, match="changed while it was being read: 2 lines, then 3"):
        list(lines)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.sampled_from([b"\n", b"\r", b"\r\n", b"\x85", b"\xe2\x80\xa8", b"\x0b", b"\0", b"a", b"\xef\xbb\xbf"])
    )
)
def test_any_bytes_give_one_line_per_line_feed_or_an_error(tmp_path: Path, parts: list[bytes]) -> None:
    data = b"".join(parts)
    path = tmp_path / "text"
    path.write_bytes(data)
    body = data.removeprefix(b"\xef\xbb\xbf")
    pieces = body.split(b"\n")
    if pieces[-1] == b"":
        pieces.pop()
    lines = open_lines(path)
    try:
        count = lines.count()
    except PrismError:
        with pytest.raises(UnicodeDecodeError):
            data.decode("utf-8")
        return
    assert count == len(pieces)
    # Joined again with line feeds, only the carriage returns before them are gone.
    assert "\n".join(lines) == body.decode("utf-8").removesuffix("\n").replace("\r\n", "\n").removesuffix(
        "\r" if body.endswith(b"\r\n") else ""
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["text", "text.gz", "text.xz"]))
def test_only_our_errors_escape(tmp_path: Path, data: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with suppress(PrismError):
        open_lines(path).count()
    for open_table in (open_fields, open_jsonl):
        with suppress(PrismError):
            check_parallel([column for _, column in open_table(path, ["src", "ref"])])


def names_and_texts(columns: list[tuple[str, Lines]]) -> list[tuple[str, list[str]]]:
    return [(name, list(column)) for name, column in columns]


def test_fields_of_a_tsv(write: Write) -> None:
    path = write("data.tsv.gz", gzip.compress('1\tQuelle "a"\tref a\tref b\tout\r\n2\t\tx\u2028\ty\t\n'.encode()))
    columns = open_fields(path, ["-", "src", "ref", "ref", "cand"])
    assert check_parallel([column for _, column in columns]) == 2
    assert names_and_texts(columns) == [
        ("src", ['Quelle "a"', ""]),
        ("ref", ["ref a", "x\u2028"]),
        ("ref", ["ref b", "y"]),
        ("cand", ["out", ""]),
    ]
    assert columns[0][1].name.endswith("data.tsv.gz (src)")


@pytest.mark.parametrize(
    ("data", "fields", "message"),
    [
        (b"a\tb\na\n", ["src", "ref"], "data.tsv, line 2: 1 column, expected 2 for src ref"),
        (b"a\tb\tc\n", ["src", "ref"], "data.tsv, line 1: 3 columns, expected 2"),
        (b"src\tref\na\tb\n", ["src", "ref"], "line 1 repeats the field names"),
        (b"", ["src", "ref"], "data.tsv (src) is empty"),
        (b"a\tb\n", ["-", "-"], "specify at least one field"),
        (b"a\tb\n", [], "specify at least one field"),
        (b"a\tb\nc\t\xff\n", ["src", "ref"], "data.tsv, line 2: byte 0xff at offset 6"),
    ],
)
def test_bad_tsv(write: Write, data: bytes, fields: list[str], message: str) -> None:
    path = write("data.tsv", data)
    with pytest.raises(PrismError) as caught:
        check_parallel([column for _, column in open_fields(path, fields)])
    assert message in str(caught.value)


def test_fields_of_a_jsonl(write: Write) -> None:
    rows = [
        {"id": 1, "cand": "line\nfeed", "ref": ["a", "b"], "src": "x"},
        {"cand": "\U0001f600\u2028", "ref": ["", "d"], "src": "y"},
    ]
    path = write("data.jsonl", b"\r\n".join(json.dumps(row).encode() for row in rows))
    columns = open_jsonl(path, ["src", "ref", "cand"])
    assert check_parallel([column for _, column in columns]) == 2
    assert names_and_texts(columns) == [
        ("src", ["x", "y"]),
        ("ref", ["a", ""]),
        ("ref", ["b", "d"]),
        ("cand", ["line\nfeed", "\U0001f600\u2028"]),
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "data.jsonl (ref) is empty"),
        (b'{"ref": "a"', "data.jsonl, line 1, column 12: not valid JSON"),
        (b'{"ref": "a"}\n\n', "data.jsonl, line 2, column 1: not valid JSON"),
        (b'{"ref": "a"}\n["b"]\n', "data.jsonl, line 2: expected a JSON object with the keys ref"),
        (b'{"ref": "a"}\n{"src": "b"}\n', "data.jsonl, line 2: no key 'ref', only 'src'"),
        (b"{}\n", "data.jsonl, line 1: no key 'ref', only nothing"),
        (b'{"ref": 3}\n', "data.jsonl, line 1: 'ref' must be a string or a list of strings"),
        (b'{"ref": null}\n', "line 1: 'ref' must be a string"),
        (b'{"ref": []}\n', "line 1: 'ref' must be a string"),
        (b'{"ref": ["a", 2]}\n', "line 1: 'ref' must be a string"),
        (b'{"ref": ["a", "b"]}\n{"ref": "c"}\n', "line 2: 1 strings under 'ref', but 2 on line 1"),
        (b'{"ref": "a\\ud83d"}\n', "line 1: 'ref': character 2 is a lone surrogate"),
        (b'{"ref": ' + b"[" * 100_000, "line 1: cannot read this JSON"),
        (b'{"ref": "a"}\n{"ref": "\xff"}\n', "data.jsonl, line 2: byte 0xff at offset 22"),
    ],
)
def test_bad_jsonl(write: Write, data: bytes, message: str) -> None:
    path = write("data.jsonl", data)
    with pytest.raises(PrismError) as caught:
        check_parallel([column for _, column in open_jsonl(path, ["ref"])])
    assert message in str(caught.value)


def test_a_json_key_is_named_once(write: Write) -> None:
    with pytest.raises(PrismError, match="several references are a list under one key"):
        open_jsonl(write("data.jsonl", b'{"ref": "a"}'), ["ref", "ref"])


def test_texts_in_memory() -> None:
    lines = lines_of(["one\ntwo", "", "three"], "refs")
    assert (lines.name, lines.count(), list(lines)) == ("refs", 3, ["one\ntwo", "", "three"])
    with pytest.raises(PrismError, match="refs, segment 2: expected a string, not NoneType"):
        lines_of(["a", None], "refs")  # type: ignore[list-item]
    with pytest.raises(PrismError, match="refs, segment 1: character 2 is a lone surrogate"):
        lines_of(["a\udc80"], "refs")


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"cand.txt": 1200, "ref.txt": 1199}, "cand.txt has 1,200 lines but ref.txt has 1,199"),
        ({"cand.txt": 1, "src.txt": 1, "ref.txt": 2}, "cand.txt has 1 line but ref.txt has 2"),
        ({"cand.txt": 3, "ref.txt": 0}, "ref.txt is empty: there is nothing to score"),
        ({"cand.txt": 0, "ref.txt": 0}, "cand.txt is empty: there is nothing to score"),
    ],
)
def test_texts_that_are_not_parallel(counts: dict[str, int], message: str) -> None:
    with pytest.raises(PrismError) as caught:
        check_parallel([lines_of(["x"] * count, name) for name, count in counts.items()])
    assert str(caught.value) == message


def test_parallel_texts_are_counted_without_being_kept(write: Write) -> None:
    a, b = write("a", b"x\n" * 1000), write("b", b"y\n" * 999 + b"y")
    assert check_parallel([open_lines(a), open_lines(b)]) == 1000
