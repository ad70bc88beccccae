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


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code, out, err = run(capsys, *words, "--format", "json", "--draws", "100")
    assert code == 0, err
    loaded: dict[str, Any] = json.loads(out)
    return loaded


def ranking(found: dict[str, Any], metric: int = 0) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = found["metrics"][metric]["systems"]
    return rows


def test_metrics_over_vectors(capsys: Any) -> None:
    pytest.importorskip("transformers", reason="needs the extra hf")
    from tiny_bert import make_bert

    make_bert(Path("tiny"))
    found = report(capsys, *BASE, "--src", "src.txt", "--metric", "bertr", "bertr-src", "--encoder", "tiny")
    assert found["metrics"][0]["metric"] == "bertr[encoder=tiny]"
    assert (ranking(found)[0]["system"], ranking(found)[0]["score"]) == ("C", pytest.approx(1.0))
    assert ranking(found, 1)[0]["score"] < 1.0


def test_surface_metrics_need_neither_model_nor_language(capsys: Any) -> None:
    found = report(capsys, *BASE, "--metric", "bleu", "chrf")
    assert [one["metric"] for one in found["metrics"]] == ["bleu", "chrf"]
    best, others = ranking(found, 1)[0], ranking(found, 1)[1:]
    assert (best["rank"], best["system"], best["score"]) == (1, "C", 100.0)
    assert (best["wins"], best["ties"], best["losses"]) == (3, 1, 0)
    assert best["difference"] == pytest.approx(
        100.0 - next(row for row in others if row["system"] == "A")["score"]
    )
    assert found["metrics"][1]["p_values"]["C"]["A"] == best["p_value"]
    assert found["agreement"][0]["metrics"] == ["bleu", "chrf"]
    assert "parts" not in best
    assert list(ranking(found)[0]["parts"])[:5] == [*(f"precision_{n}" for n in (1, 2, 3, 4)), "brevity_penalty"]


def test_json_has_the_keys_of_programmers(capsys: Any) -> None:
    found = report(capsys, *BASE, "--metric", "chrf")
    names = [*found, *found["metrics"][0], *ranking(found)[0]]
    assert all(name.isidentifier() and name == name.lower() for name in names)
    assert {"ci_low", "ci_high", "p_value", "score", "rank"} <= set(ranking(found)[0])
    assert (found["baseline"], found["draws"], found["segments"]) == ("A", 100, 4)


def test_text_has_parts_of_bleu_and_one_wide_table(capsys: Any) -> None:
    _, out, _ = run(capsys, *BASE, "--metric", "bleu", "ter", "--draws", "50")
    assert "Parts of bleu" in out
    assert "4-gram" in out
    _, wide, _ = run(capsys, *BASE, "--metric", "bleu", "chrf", "ter", "--draws", "50", "--wide")
    assert "3 systems by bleu, chrf and ter, 4 segments" in wide
    [row] = [line for line in wide.splitlines() if line.startswith("C ") and "<.001" not in line][:1]
    assert row.split()[1] == "100.0"
    assert "wins" not in wide


def test_prism_with_parts_and_baseline(capsys: Any, model: str) -> None:
    words = ("--src", "src.txt", "--src-lang", "de", "--lang", "en", "--model", model, "--baseline", "B")
    found = report(capsys, *BASE, *words, "--bucket", "length", "likelihood", "--groups", "groups.txt")
    assert [one["metric"] for one in found["metrics"]] == ["prism-ref", "prism-src"]
    for row in ranking(found):
        assert row["ci_low"] <= row["score"] <= row["ci_high"] < 0
        assert (row["p_value"] is None) == (row["system"] == "B")
    groups = found["metrics"][1]["buckets"][-1]
    assert [(part["label"], part["segments"]) for part in groups["parts"]] == [("x", 2), ("y", 2)]
    means = [sum(part["scores"][name] for part in groups["parts"]) / 2 for name in "ABC"]
    whole = {row["system"]: row["score"] for row in ranking(found, 1)}
    assert means == pytest.approx([whole[name] for name in "ABC"])


def test_groups_from_columns_of_a_table(capsys: Any) -> None:
    columns = (["news", "chat"] * 2, ["d1", "d1", "d2", "d2"], REF, OUTPUTS["A"], OUTPUTS["B"])
    Path("t.tsv").write_text("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)))
    keys = ("domain", "group", "ref", "A", "B")
    rows = [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
    Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = ("--fields", "group=domain", "group", "ref", "cand=A", "cand=B", "--metric", "chrf")
    found = report(capsys, "--input", "t.tsv", *fields)
    domain, group = found["metrics"][0]["buckets"]
    assert (domain["by"], group["by"]) == ("domain", "group")
    assert [(part["label"], part["segments"]) for part in domain["parts"]] == [("news", 2), ("chat", 2)]
    # the last two segments, as files of their own
    for name, lines in (("short-a", OUTPUTS["A"]), ("short-b", OUTPUTS["B"]), ("short-ref", REF)):
        Path(name).write_text("".join(f"{line}\n" for line in lines[2:]))
    alone = report(capsys, "--cand", "A=short-a", "B=short-b", "--ref", "short-ref", "--metric", "chrf")
    wanted = {row["system"]: row["score"] for row in ranking(alone)}
    assert group["parts"][1]["scores"] == pytest.approx(wanted)
    assert report(capsys, "--input", "t.jsonl", *fields) == found


def test_scores_of_another_tool_alone(capsys: Any) -> None:
    rows = [f"comet\t{name}\t{i}\t{i + value}" for value, name in enumerate("ABC") for i in (1, 2, 3, 4)]
    Path("comet.tsv").write_text("\n".join(["metric\tsystem\tsegment\tscore", *rows]) + "\n")
    found = report(capsys, *BASE, "--scores", "comet.tsv")
    assert [(row["system"], row["score"]) for row in ranking(found)] == [("C", 4.5), ("B", 3.5), ("A", 2.5)]
    turned = report(capsys, *BASE, "--scores", "comet.tsv", "--lower-is-better", "comet")
    assert [row["system"] for row in ranking(turned)] == ["A", "B", "C"]


def test_scores_of_mt_metrics_eval(capsys: Any) -> None:
    rows = [f"{name}\t{i + value}" for value, name in enumerate("ABC") for i in range(4)]
    Path("COMET-refA.seg.score").write_text("\n".join(rows) + "\n")
    words = ("--scores", "COMET-refA.seg.score", "--metric", "chrf", "--lang", "en", "--src-lang", "de")
    found = report(capsys, *BASE, *words)
    [comet] = [one for one in found["metrics"] if one["metric"].startswith("COMET")]
    rows = comet["systems"]
    assert [(row["system"], row["ci_low"] <= row["ci_high"]) for row in rows] == [(name, True) for name in "CBA"]
    assert len(found["agreement"]) == 1


def test_several_references(capsys: Any) -> None:
    one = report(capsys, *BASE, "--metric", "chrf")
    two = report(capsys, *BASE, "A.txt", "--metric", "chrf")
    before, after = ({row["system"]: row["score"] for row in ranking(found)} for found in (one, two))
    assert before["A"] < 100.0 == after["A"] == after["C"]  # both are references now
    assert "nrefs:2" in two["metrics"][0]["signature"]


@pytest.mark.parametrize("format", ["text", "tsv", "latex", "markdown"])
def test_other_formats(capsys: Any, format: str) -> None:
    code, out, _ = run(
        capsys, *BASE, "--metric", "chrf", "--format", format, "--test", "randomization", "--draws", "50"
    )
    assert code == 0
    assert "100.0" in out
    assert ("\\toprule" in out) == (format == "latex")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--metric", "chrf", *BASE, "--seed", "-1"), "seed must be at least 0"),
        (("--metric", "chrf", *BASE, "--draws", "1000000000000"), "at most 1,000,000 draws"),
        ((*BASE, "--metric", "bleu", "--baseline", "Z"), "no system 'Z' to compare with; known: A, B, C"),
        ((*BASE, "--metric", "bleu", "--draws", "5"), "at least 40 draws"),
        (
            (*BASE, "--metric", "bleu", "--bucket", "likelihood", "--lang", "en"),
            "prism-src needs sources: set --src",
        ),
        ((*BASE, "--metric", "bleu", "--groups", "short.txt"), "A.txt has 4 lines but short.txt has 1"),
        (("--cand", "A.txt", "--src", "src.txt", "--bucket", "length", "-s", "s.tsv"), "set --ref"),
        ((*BASE, "--metric", "bleu", "-q", "--format", "json"), "--quiet prints the verdict as text: omit it"),
        ((*BASE,), "prism-ref needs the language of the outputs: set --lang"),
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
    assert (html.count('class="lanes"'), html.count('class="profile"')) == (4, 3)  # two metrics, and words
    assert "<span>ref.txt</span>" in html
    shown = html.split("<pre><code>")[1].split("</code>")[0]
    assert main(shlex.split(shown)[1:]) == 0  # the command that the page shows makes the same page
    assert Path("out/page.html").read_text(encoding="utf-8") == html
    assert "--no-cache" in shown


def test_a_figure(capsys: Any) -> None:
    pytest.importorskip("matplotlib")
    code, _, err = run(capsys, *BASE, "--metric", "chrf", "ter", "--draws", "50", "--plot", "figure.pdf")
    assert (code, err.splitlines()[-1]) == (0, "prism: wrote figure.pdf")
    assert Path("figure.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(("name", "options"), [("own.tsv", []), ("own.json", ["--format", "json"])])
def test_our_own_scores_can_be_brought(capsys: Any, name: str, options: list[str]) -> None:
    assert main(["score", *BASE, "--metric", "chrf", "--segments", *options, "-o", name]) == 0
    brought, computed = report(capsys, *BASE, "--scores", name), report(capsys, *BASE, "--metric", "chrf")
    assert [row["system"] for row in ranking(brought)] == [row["system"] for row in ranking(computed)]


def test_systems_of_one_name_are_told_apart(capsys: Any) -> None:
    found = report(capsys, "--cand", "A=A.txt", "A=A.txt", "A=B.txt", "--ref", "ref.txt", "--metric", "chrf")
    assert len({row["system"] for row in ranking(found)}) == 3


def test_long_segments_can_be_cut(capsys: Any, model: str) -> None:
    Path("A.txt").write_text("word " * 80 + "\n" + "b\n" * 3, encoding="utf-8")
    words = (*BASE, "--lang", "en", "--metric", "prism-ref", "--model", model, "--draws", "50")
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "the model takes at most" in err
    assert run(capsys, *words, "--overlong", "truncate")[0] == 0


def test_a_model_for_the_likelihood_of_references_only(capsys: Any, model: str) -> None:
    words = ("--src", "src.txt", "--lang", "en", "--model", model, "--bucket", "likelihood", "--metric", "chrf")
    [metric] = report(capsys, *BASE, *words)["metrics"]
    assert [one["by"] for one in metric["buckets"]] == ["log-probability of the reference"]
