"""`prism compare` end to end."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from made import make_model

from prism_mt.cli.main import main
from prism_mt.models.directory import write_model

REF = ["Hello, world.", "It is a test.", "She bought two pears.", "The hall is large."]
OUTPUTS = {
    "A": ["Hello world!", "This is a test.", "She bought three apples.", "The hall is large."],
    "B": ["world", "a report", "She met a vote.", "The large hall."],
    "C": ["Hello, world.", "It is a test.", "She bought two pears.", "The hall is large."],
}
SRC = ["Hallo Welt!", "Das ist ein Test.", "Sie kaufte zwei Birnen.", "Der Saal ist groß."]
BASE = ("--cand", "A=A.txt", "B=B.txt", "C=C.txt", "--ref", "ref.txt")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(make_model(max_positions=64), tmp_path_factory.mktemp("compare") / "made").folder)


@pytest.fixture(autouse=True)
def _texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, lines in (*OUTPUTS.items(), ("ref", REF), ("src", SRC), ("groups", ["x", "y", "x", "y"])):
        Path(f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["compare", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def tables(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    code, out, err = run(capsys, *words, "--format", "json", "--draws", "100")
    assert code == 0, err
    loaded: list[dict[str, Any]] = json.loads(out)
    return loaded


def test_metrics_over_vectors(capsys: Any) -> None:
    pytest.importorskip("transformers", reason="needs the extra hf")
    from tiny_bert import make_bert

    make_bert(Path("tiny"))
    found = tables(capsys, *BASE, "--src", "src.txt", "--metric", "bertr", "bertr-src", "--encoder", "tiny")
    assert (found[0]["rows"][0]["system"], found[0]["rows"][0]["bertr[encoder=tiny]"]) == ("C", pytest.approx(1.0))
    assert found[1]["rows"][0]["bertr-src[encoder=tiny]"] < 1.0


def test_surface_metrics_need_neither_model_nor_language(capsys: Any) -> None:
    found = tables(capsys, *BASE, "--metric", "bleu", "chrf")
    assert [table["caption"] for table in found] == [
        "3 systems by bleu, 4 segments",
        "3 systems by chrf, 4 segments",
        "bleu: p of every pair",
        "chrf: p of every pair",
        "Agreement between metrics",
    ]
    best = found[1]["rows"][0]
    assert (best["rank"], best["system"], best["chrf"]) == (1, "C", 100.0)
    assert (best["wins"], best["ties"], best["losses"]) == (3, 1, 0)
    assert best["− A"] == pytest.approx(
        100.0 - next(row for row in found[1]["rows"] if row["system"] == "A")["chrf"]
    )


def test_prism_with_parts_and_baseline(capsys: Any, model: str) -> None:
    words = ("--src", "src.txt", "--src-lang", "de", "--lang", "en", "--model", model, "--baseline", "B")
    found = tables(capsys, *BASE, *words, "--bucket", "length", "likelihood", "--groups", "groups.txt")
    captions = [table["caption"] for table in found]
    ref, src = "prism-ref", "prism-src"
    assert captions[:2] == [f"3 systems by {ref}, 4 segments", f"3 systems by {src}, 4 segments"]
    assert captions[-2:] == [f"{ref} by group", f"{src} by group"]
    for row in found[0]["rows"]:
        assert row["95 % from"] <= row[ref] <= row["to"] < 0
        assert (row["− B"] is None) == (row["system"] == "B")
    assert [(row["group"], row["segments"]) for row in found[-1]["rows"]] == [("x", 2), ("y", 2)]
    means = [sum(row[name] for row in found[-1]["rows"]) / 2 for name in "ABC"]
    whole = {row["system"]: row[src] for row in found[1]["rows"]}
    assert means == pytest.approx([whole[name] for name in "ABC"])


def test_groups_from_columns_of_a_table(capsys: Any) -> None:
    columns = (["news", "chat"] * 2, ["d1", "d1", "d2", "d2"], REF, OUTPUTS["A"], OUTPUTS["B"])
    Path("t.tsv").write_text("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)))
    keys = ("domain", "group", "ref", "A", "B")
    rows = [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
    Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = ("--fields", "group=domain", "group", "ref", "cand=A", "cand=B", "--metric", "chrf")
    found = tables(capsys, "--input", "t.tsv", *fields)
    assert [table["caption"] for table in found[1:]] == ["chrf by domain", "chrf by group"]
    assert [(row["domain"], row["segments"]) for row in found[1]["rows"]] == [("news", 2), ("chat", 2)]
    # the last two segments, as files of their own
    for name, lines in (("short-a", OUTPUTS["A"]), ("short-b", OUTPUTS["B"]), ("short-ref", REF)):
        Path(name).write_text("".join(f"{line}\n" for line in lines[2:]))
    [alone] = tables(capsys, "--cand", "A=short-a", "B=short-b", "--ref", "short-ref", "--metric", "chrf")
    wanted = {row["system"]: row["chrf"] for row in alone["rows"]}
    assert {name: found[2]["rows"][1][name] for name in "AB"} == pytest.approx(wanted)
    assert tables(capsys, "--input", "t.jsonl", *fields) == found


def test_scores_of_another_tool_alone(capsys: Any) -> None:
    rows = [f"comet\t{name}\t{i}\t{i + value}" for value, name in enumerate("ABC") for i in (1, 2, 3, 4)]
    Path("comet.tsv").write_text("\n".join(["metric\tsystem\tsegment\tscore", *rows]) + "\n")
    [ranking, _] = tables(capsys, *BASE, "--scores", "comet.tsv")
    assert [(row["system"], row["comet"]) for row in ranking["rows"]] == [("C", 4.5), ("B", 3.5), ("A", 2.5)]
    [turned, _] = tables(capsys, *BASE, "--scores", "comet.tsv", "--lower-is-better", "comet")
    assert [row["system"] for row in turned["rows"]] == ["A", "B", "C"]


def test_scores_of_mt_metrics_eval(capsys: Any) -> None:
    rows = [f"{name}\t{i + value}" for value, name in enumerate("ABC") for i in range(4)]
    Path("COMET-refA.seg.score").write_text("\n".join(rows) + "\n")
    words = ("--scores", "COMET-refA.seg.score", "--metric", "chrf", "--lang", "en", "--src-lang", "de")
    found = tables(capsys, *BASE, *words)
    [comet] = [table for table in found if table["caption"].startswith("3 systems by COMET")]
    assert [(row["system"], row["95 % from"] <= row["to"]) for row in comet["rows"]] == [
        (name, True) for name in "CBA"
    ]
    assert found[-1]["caption"] == "Agreement between metrics"


def test_several_references(capsys: Any) -> None:
    one = tables(capsys, *BASE, "--metric", "chrf")[0]
    two = tables(capsys, *BASE, "A.txt", "--metric", "chrf")[0]
    before, after = ({row["system"]: row["chrf"] for row in table["rows"]} for table in (one, two))
    assert before["A"] < 100.0 == after["A"] == after["C"]  # both are references now
    assert "nrefs:2" in two["notes"][0]


@pytest.mark.parametrize("format", ["text", "tsv", "latex", "markdown"])
def test_other_formats(capsys: Any, format: str) -> None:
    code, out, _ = run(
        capsys, *BASE, "--metric", "chrf", "--format", format, "--test", "randomization", "--draws", "50"
    )
    assert code == 0
    assert "100.00" in out or "100.0\t" in out
    assert ("\\toprule" in out) == (format == "latex")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--metric", "chrf", *BASE, "--seed", "-1"), "seed must be at least 0"),
        (("--metric", "chrf", *BASE, "--draws", "1000000000000"), "at most 1,000,000 draws"),
        ((*BASE, "--metric", "bleu", "--baseline", "Z"), "no system 'Z' to compare with; there are A, B, C"),
        ((*BASE, "--metric", "bleu", "--draws", "5"), "at least 40 draws"),
        (
            (*BASE, "--metric", "bleu", "--bucket", "likelihood", "--lang", "en"),
            "prism-src needs sources: give --src",
        ),
        ((*BASE, "--metric", "bleu", "--groups", "short.txt"), "A.txt has 4 lines but short.txt has 1"),
        (("--cand", "A.txt", "--src", "src.txt", "--bucket", "length", "-s", "s.tsv"), "give --ref"),
        ((*BASE,), "prism-ref needs the language of the outputs: give --lang"),
        ((*BASE, "--scores", "s.tsv", "--lower-is-better", "ter"), "--scores has no metric ter"),
    ],
)
def test_mistakes(capsys: Any, words: tuple[str, ...], message: str) -> None:
    Path("short.txt").write_text("x\n")
    rows = [f"m\t{name}\t{i}\t1" for name in ("A", "B", "C", "A.txt") for i in range(4)]
    Path("s.tsv").write_text("\n".join(["metric\tsystem\tsegment\tscore", *rows]) + "\n")
    code, _, err = run(capsys, *words)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_page(capsys: Any, model: str) -> None:
    words = ("--lang", "en", "--model", model, "--metric", "prism-ref", "chrf", "--draws", "50", "--no-cache")
    code, out, err = run(capsys, *BASE, *words, "--html", "out/page.html")
    assert code == 0, err
    assert "3 systems by prism-ref" in out
    html = Path("out/page.html").read_text(encoding="utf-8")
    assert html.count("<svg") == 6  # intervals, distributions and lengths of two metrics
    shown = html.split("<pre><code>")[1].split("</code>")[0]
    assert main(shlex.split(shown)[1:]) == 0  # the command that the page shows makes the same page
    assert Path("out/page.html").read_text(encoding="utf-8") == html
    assert "--no-cache" in shown


@pytest.mark.parametrize(("name", "options"), [("own.tsv", []), ("own.json", ["--format", "json"])])
def test_our_own_scores_can_be_brought(capsys: Any, name: str, options: list[str]) -> None:
    assert main(["score", *BASE, "--metric", "chrf", "--segments", *options, "-o", name]) == 0
    brought, computed = tables(capsys, *BASE, "--scores", name), tables(capsys, *BASE, "--metric", "chrf")
    assert [row["system"] for row in brought[0]["rows"]] == [row["system"] for row in computed[0]["rows"]]


def test_systems_of_one_name_are_told_apart(capsys: Any) -> None:
    found = tables(capsys, "--cand", "A=A.txt", "A=A.txt", "A=B.txt", "--ref", "ref.txt", "--metric", "chrf")
    assert len({row["system"] for row in found[0]["rows"]}) == 3
    assert len(set(found[1]["columns"])) == len(found[1]["columns"])


def test_long_segments_can_be_cut(capsys: Any, model: str) -> None:
    Path("A.txt").write_text("word " * 80 + "\n" + "b\n" * 3, encoding="utf-8")
    words = (*BASE, "--lang", "en", "--metric", "prism-ref", "--model", model, "--draws", "50")
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "the model takes at most" in err
    assert run(capsys, *words, "--overlong", "truncate")[0] == 0


def test_a_model_for_the_likelihood_of_references_only(capsys: Any, model: str) -> None:
    words = ("--src", "src.txt", "--lang", "en", "--model", model, "--bucket", "likelihood", "--metric", "chrf")
    found = tables(capsys, *BASE, *words)
    assert found[-1]["caption"] == "chrf by log-probability of the reference"
