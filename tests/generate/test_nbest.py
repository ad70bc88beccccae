"""Files of hypotheses: formats, bad input, and runs that are killed and go on."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.generate.generator import Hypothesis
from prism_mt.generate.nbest import ListFormat, Record, open_lists, render, write_lists

RECORD = Record("Hallo\tdu", [Hypothesis("hello", -0.25), Hypothesis("hi «you»", -1 / 3)])
RECORDS = [Record(f"source {i}", [Hypothesis(f"text {i}", -float(i))]) for i in range(5)]


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("text", "hello\nhi «you»\n"),
        ("tsv", "7\t1\t-0.250000\thello\n7\t2\t-0.333333\thi «you»\n"),
        (
            "jsonl",
            '{"source": "Hallo\\tdu", "paraphrases": [{"text": "hello", "score": -0.25}, '
            '{"text": "hi «you»", "score": -0.333333}]}\n',
        ),
    ],
)
def test_formats(format: ListFormat, expected: str) -> None:
    assert render(RECORD, 7, "paraphrases", format) == expected


def test_reading_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text(
        render(RECORD, 1, "translations", "jsonl") + '{"source": "a", "hypotheses": ["b", "c"]}\n',
        encoding="utf-8",
    )
    first, second = open_lists(path)
    assert [one.text for one in first.hypotheses] == ["hello", "hi «you»"]
    assert second == Record("a", [Hypothesis("b", 0.0), Hypothesis("c", 0.0)])
    assert open_lists(path).count() == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no", "line 1 is not valid JSON"),
        ("[1]", "line 1: expected an object with the key source"),
        ('{"source": "a"}', "line 1: expected an object with the key source and a list under translations or"),
        ('{"source": 1, "translations": []}', "line 1: expected an object"),
        (
            '{"source": "a", "translations": [3]}',
            "line 1: a hypothesis is a string, or an object with text and score",
        ),
        ('{"translations": [{"text": "a", "score": "b"}]}', "line 1: a hypothesis is a string"),
        ('{"translations": [{"text": "a", "score": 1' + "0" * 400 + "}]}", "line 1: a hypothesis is a string"),
        ('{"translations": ["\\ud800"]}', "line 1: character 1 is a lone surrogate"),
    ],
)
def test_bad_lists(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(PrismError, match=message):
        list(open_lists(path))


def test_texts_do_not_break_lines_and_columns() -> None:
    record = Record("s", [Hypothesis("a\tb\nc", 0.0)])
    assert render(record, 1, "translations", "text") == "a b c\n"
    assert render(record, 1, "translations", "tsv") == "1\t1\t0.000000\ta b c\n"
    assert json.loads(render(record, 1, "translations", "jsonl"))["translations"][0]["text"] == "a\tb\nc"


def killed(after: int) -> Iterator[Record]:
    yield from RECORDS[:after]
    raise KeyboardInterrupt


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    path, partial = tmp_path / "out.txt", tmp_path / "out.txt.partial"
    with pytest.raises(KeyboardInterrupt):
        write_lists(path, "translations", "text", "run", lambda done: killed(3))
    assert not path.exists()
    with partial.open("ab") as handle:
        handle.write(b'["source 3", [["te')  # the process ended in the middle of a record
    asked = []

    def rest(done: int) -> Iterator[Record]:
        asked.append(done)
        return iter(RECORDS[done:])

    write_lists(path, "translations", "text", "run", rest)
    assert asked == [3]
    assert path.read_text(encoding="utf-8") == "".join(f"text {i}\n" for i in range(5))
    assert [file.name for file in tmp_path.iterdir()] == ["out.txt"]


def test_the_rest_of_another_run_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        write_lists(path, "translations", "jsonl", "one", lambda done: killed(1))
    with pytest.raises(PrismError, match=r"out.jsonl.partial is the unfinished output of another run"):
        write_lists(path, "translations", "jsonl", "other", lambda done: iter(RECORDS))
    write_lists(path, "translations", "jsonl", "one", lambda done: iter(RECORDS[done:]))
    assert [json.loads(line)["source"] for line in path.open(encoding="utf-8")] == [r.source for r in RECORDS]


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"

    def disturbed(done: int) -> Iterator[Record]:
        with pytest.raises(PrismError, match=r"another run is writing .*out.txt.partial"):
            write_lists(path, "translations", "text", "run", lambda done: iter(RECORDS))
        return iter(RECORDS[done:])

    write_lists(path, "translations", "text", "run", disturbed)
    assert path.read_text(encoding="utf-8") == "".join(f"text {i}\n" for i in range(5))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(PrismError, match="is a folder: name a file"):
        write_lists(tmp_path, "translations", "text", "run", lambda done: iter(RECORDS))
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(PrismError, match="cannot write"):
        write_lists(tmp_path / "file" / "out", "translations", "text", "run", lambda done: iter(RECORDS))
