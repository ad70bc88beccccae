"""`prism score` end to end, most of it in this process."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from made import make_model

from prism_mt.cli.main import main
from prism_mt.models.directory import write_model

CAND = ["Hello world!", "This is a test.", "She bought three apples."]
REF = ["Hello, world.", "It is a test.", "She bought two pears."]
SRC = ["Hallo Welt!", "Das ist ein Test.", "Sie kaufte drei Äpfel."]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(make_model(max_positions=64), tmp_path_factory.mktemp("score") / "made").folder)


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in (("cand", CAND), ("ref", REF), ("src", SRC)):
        Path(f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["score", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def results(capsys: pytest.CaptureFixture[str], model: str, *words: str) -> list[dict[str, Any]]:
    code, out, err = run(capsys, "--model", model, "--lang", "en", "--format", "json", "--segments", *words)
    assert code == 0, err
    loaded: list[dict[str, Any]] = json.loads(out)["results"]
    return loaded


BASE = ("--cand", "cand.txt", "--ref", "ref.txt")


def test_default_metrics_follow_the_sides(capsys: Any, texts: Path, model: str) -> None:
    ref, src = "prism-ref", "prism-src"
    assert [r["metric"] for r in results(capsys, model, *BASE)] == [ref]
    assert [r["metric"] for r in results(capsys, model, "--cand", "cand.txt", "--src", "src.txt")] == [src]
    both = results(capsys, model, *BASE, "--src", "src.txt")
    assert [r["metric"] for r in both] == [ref, src]
    assert all(r["score"] == pytest.approx(sum(r["segments"]) / 3) for r in both)


def test_systems_references_and_metrics_may_repeat(capsys: Any, texts: Path, model: str) -> None:
    words = ["--cand", "A=cand.txt", "ref.txt", "--cand", "C=src.txt", "--ref", "ref.txt", "--ref", "cand.txt"]
    found = results(capsys, model, *words, "--metric", "bleu", "prism-ref", "--metric", "chrf")
    assert [(r["metric"], r["system"]) for r in found] == [
        (metric, system) for metric in ("bleu", "prism-ref", "chrf") for system in ("A", "ref.txt", "C")
    ]
    assert found[0]["score"] == pytest.approx(100.0)
    assert "nrefs:2" in found[0]["signature"]


def test_every_way_in_gives_the_same_scores(capsys: Any, texts: Path, model: str, monkeypatch: Any) -> None:
    wanted = results(capsys, model, *BASE, "--src", "src.txt")
    rows = list(zip(SRC, REF, CAND, strict=True))
    Path("t.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    with gzip.open("t.tsv.gz", "wt", encoding="utf-8") as handle:
        handle.write(Path("t.tsv").read_text(encoding="utf-8"))
    keys = ("src", "ref", "cand")
    Path("t.jsonl").write_text("".join(json.dumps(dict(zip(keys, r, strict=True))) + "\n" for r in rows))
    for name in ("t.tsv", "t.tsv.gz", "t.jsonl"):
        found = results(capsys, model, "--input", name, "--fields", *keys)
        assert [r["segments"] for r in found] == [r["segments"] for r in wanted]
    found = results(capsys, model, "--input", "t.jsonl")  # the keys say what is what
    assert [r["segments"] for r in found] == [r["segments"] for r in wanted]
    for name in ("cand", "ref"):
        with gzip.open(f"{name}.gz", "wt", encoding="utf-8") as handle:
            handle.write(Path(f"{name}.txt").read_text(encoding="utf-8"))
    [zipped] = results(capsys, model, "--cand", "cand.gz", "--ref", "ref.gz")
    assert zipped["segments"] == wanted[0]["segments"]


def test_standard_input(texts: Path, model: str) -> None:
    words = [sys.executable, "-m", "prism_mt", "score", "--ref", "ref.txt", "--lang", "en", "--model-dir", model]
    done = subprocess.run(
        [*words, "--segment-scores"], input="\n".join(CAND), capture_output=True, text=True, check=True
    )
    assert len([float(line) for line in done.stdout.splitlines()]) == 3


def test_crlf_and_separators_do_not_shift_lines(capsys: Any, texts: Path, model: str) -> None:
    wanted = results(capsys, model, *BASE)[0]["segments"]
    Path("cand.txt").write_bytes("\ufeff".encode() + "".join(f"{line}\r\n" for line in CAND).encode())
    assert results(capsys, model, *BASE)[0]["segments"] == wanted
    Path("cand.txt").write_text(
        "Hello\u2028world!\nThis is\x85a test.\nShe bought three apples.\n", encoding="utf-8"
    )
    assert results(capsys, model, *BASE)[0]["segments"][2] == wanted[2]


def test_tokens_in_every_format(capsys: Any, texts: Path, model: str) -> None:
    [result] = results(capsys, model, *BASE, "--tokens")
    assert len(result["tokens"]) == 3
    for score, (forward, backward) in zip(result["segments"], result["tokens"], strict=True):
        assert forward["direction"] == "hypothesis|reference"
        assert backward["pieces"][-1] == "</s>"
        means = [sum(trace["scores"]) / len(trace["pieces"]) for trace in (forward, backward)]
        assert score == pytest.approx(sum(means) / 2)
    _, rows, _ = run(capsys, *BASE, "--model", model, "--lang", "en", "--tokens", "--format", "tsv")
    header = rows.splitlines()[1].split("\t")
    assert header == ["metric", "system", "segment", "direction", "position", "piece", "score"]
    assert len(rows.splitlines()) == 2 + sum(len(t["pieces"]) for segment in result["tokens"] for t in segment)
    _, text, _ = run(capsys, *BASE, "--model", model, "--lang", "en", "--tokens")
    assert "▁a" in text


def test_text_and_tsv(capsys: Any, texts: Path, model: str) -> None:
    common = (*BASE, "--model", model, "--lang", "en")
    [wanted] = results(capsys, model, *BASE)
    _, table, _ = run(capsys, *common)
    assert f"{wanted['score']:.4f}" in table
    assert wanted["signature"] in table
    _, lines, _ = run(capsys, *common, "--segments")
    assert [float(line) for line in lines.splitlines()] == wanted["segments"]
    _, rows, _ = run(capsys, *common, "--format", "tsv")
    assert rows.splitlines()[0].split("\t") == ["metric", "system", "score", "signature"]
    assert float(rows.splitlines()[1].split("\t")[2]) == wanted["score"]
    _, rows, _ = run(capsys, *common, "--format", "tsv", "--segments")
    assert rows.splitlines()[0] == f"# {wanted['signature']}"
    assert [float(row.split("\t")[3]) for row in rows.splitlines()[2:]] == wanted["segments"]


def test_wmt_files(capsys: Any, texts: Path, model: str) -> None:
    [wanted] = results(capsys, model, *BASE)
    code, _, _ = run(capsys, *BASE, "--model", model, "--lang", "en", "--format", "wmt", "--output", "scores")
    assert code == 0
    name = re.sub(r"[^\w.+-]", "_", "prism-ref-ref.txt")
    segments = [line.split("\t") for line in Path(f"scores/{name}.seg.score").read_text().splitlines()]
    assert segments == [["cand.txt", repr(score)] for score in wanted["segments"]]
    assert Path(f"scores/{name}.sys.score").read_text() == f"cand.txt\t{wanted['score']!r}\n"


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\rb"])
def test_names_that_wmt_files_cannot_hold(capsys: Any, texts: Path, name: str) -> None:
    words = ("--cand", f"{name}=cand.txt", "--ref", "ref.txt", "--metric", "chrf", "--format", "wmt")
    code, _, err = run(capsys, *words, "--output", "scores")
    assert (code, "has a tab or a line break, which this format cannot hold" in err) == (2, True)
    assert not list(Path("scores").glob("*"))


def test_empty_lines_are_scored_and_counted(capsys: Any, texts: Path, model: str, caplog: Any) -> None:
    Path("cand.txt").write_text("Hello\n\n \n", encoding="utf-8")
    [result] = results(capsys, model, *BASE)
    assert len(result["segments"]) == 3
    assert "cand.txt: 2 lines are empty (first: line 2)" in caplog.text


def test_untranslated_output_is_noticed(capsys: Any, texts: Path, model: str, caplog: Any) -> None:
    german = "Der Ausschuss trat am Dienstag im großen Saal zusammen und nahm den Bericht an.\n"
    Path("cand.txt").write_text(german * 3, encoding="utf-8")
    results(capsys, model, *BASE)
    assert "3 of 3 outputs of cand.txt do not look like English (first: line 1)" in caplog.text


def test_language_can_be_detected(capsys: Any, texts: Path, model: str) -> None:
    english = "The committee met in the large hall on Tuesday and adopted the report without a vote.\n"
    for name in ("cand.txt", "ref.txt"):
        Path(name).write_text(english * 3, encoding="utf-8")
    code, out, _ = run(capsys, *BASE, "--model", model, "--lang", "auto", "--format", "json")
    assert code == 0
    assert "lang:en" in out


def test_test_set_brings_the_target_language(capsys: Any, texts: Path, model: str, monkeypatch: Any) -> None:
    from prism_mt.cli import inputs
    from prism_mt.text.lines import open_lines
    from prism_mt.text.testsets import Side

    monkeypatch.setattr(
        inputs, "open_testset", lambda spec, side, offline: Side([open_lines("src.txt")], "en", "de")
    )
    words = ["--cand", "cand.txt", "--src", "sacrebleu:wmt19:de-en", "--model", model, "--format", "json"]
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "lang:en|srclang:de" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cand", "cand.txt"), "nothing to compare outputs with: set --ref, --src, or both"),
        (("--cand", "short.txt", "--ref", "ref.txt"), "short.txt has 2 lines but ref.txt has 3"),
        (("--cand", "empty.txt", "--ref", "empty.txt"), "empty.txt is empty"),
        (("--cand", "latin1.txt", "--ref", "ref.txt"), "latin1.txt, line 2"),
        (("--cand", "none.txt", "--ref", "ref.txt"), "none.txt"),
        ((*BASE, "--lang", "sw"), "it supports de, en, fr, ru, zh"),
        ((*BASE, "--metric", "prism-src"), "needs sources: set --src"),
        ((*BASE, "--metric", "comet"), "no metric and no folder of a learned metric is named 'comet'; known: "),
        ((*BASE, "--temperature", "0"), "temperature must be between 0.001 and 1000"),
        ((*BASE, "--format", "wmt"), "set their folder with --output"),
        ((*BASE, "--model", "nowhere"), "no model 'nowhere'"),
        ((*BASE, "--model", "m39v1"), "fetch it with `prism models get m39v1`"),
        ((*BASE, "--model", "."), "is not a model"),
        ((*BASE, "--model", "hf:facebook/m2m100_418M", "--offline"), "facebook/m2m100_418M"),
        (("--cand", "long.txt", "--ref", "ref.txt"), "long.txt, line 2 has"),
        (("--input", "t.tsv"), "name the columns"),
        (("--input", "t.jsonl"), "t.jsonl, line 1 is not a JSON object"),
        (("--input", "t.tsv", "--fields", "src", "nonsense"), "'nonsense' is not a field"),
        (("--input", "t.tsv", "--fields", "src", "ref"), "no output to score"),
        (("--input", "three.tsv", "--fields", "group", "ref", "cand"), "skip that column with -"),
        (("--input", "t.tsv", "--fields", "src", "ref", "cand"), "t.tsv, line 1"),
        (("--input", "t.tsv", "--fields", "ref", "cand", "--ref", "ref.txt"), "use one or the other"),
        ((*BASE, "--output", "dir"), "cannot write dir"),
    ],
)
def test_mistakes_end_in_one_sentence(
    capsys: Any, texts: Path, model: str, words: tuple[str, ...], message: str
) -> None:
    Path("short.txt").write_text("a\nb\n")
    Path("empty.txt").write_text("")
    Path("latin1.txt").write_bytes(b"abc\nd\xe9f\nx\n")
    Path("long.txt").write_text("a\n" + "b " * 100 + "\nc\n")
    Path("t.tsv").write_text("a\tb\n")
    Path("three.tsv").write_text("a\tb\tc\n")
    Path("t.jsonl").write_text("[1]\n")
    Path("dir").mkdir()
    defaults = [word for pair in (("--lang", "en"), ("--model", model)) if pair[0] not in words for word in pair]
    code, out, err = run(capsys, *words, *defaults)
    assert code == 2
    assert out == ""
    errors = [line for line in err.splitlines() if line.startswith("prism: error: ")]
    assert len(errors) == 1
    assert message in errors[0]


def test_without_a_language_or_a_model(
    capsys: Any, texts: Path, model: str, monkeypatch: Any, tmp_path: Path
) -> None:
    code, _, err = run(capsys, *BASE, "--model", model)
    assert code == 2
    assert "needs the language of the outputs: set --lang" in err
    assert run(capsys, *BASE, "--metric", "bleu")[0] == 0


def test_an_interrupted_run_leaves_no_output(texts: Path, model: str, monkeypatch: Any, capsys: Any) -> None:
    from prism_mt.report.scores import ScoreReport

    def interrupt(self: object, handle: Any, format: str) -> None:
        handle.write("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(ScoreReport, "write", interrupt)
    code, _, err = run(capsys, *BASE, "--model", model, "--lang", "en", "--output", "out.json")
    assert code == 130
    assert "interrupted" in err
    assert [path.name for path in texts.iterdir() if "out" in path.name] == []


def test_documents(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    texts = {"hyp": "a cat\na dog\na bird\n", "ref": "a cat\na fog\na bird\n", "doc": "x\nx\ny\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    words = ["score", "--cand", str(tmp_path / "hyp"), "--ref", str(tmp_path / "ref"), "-m", "chrf"]
    assert main([*words, "--documents", str(tmp_path / "doc"), "--format", "json"]) == 0
    [result] = json.loads(capsys.readouterr().out)["results"]
    assert list(result["documents"]) == ["x", "y"]
    assert result["documents"]["y"] == pytest.approx(100)
    assert main([*words, "--documents", str(tmp_path / "doc")]) == 0
    assert "document   chrf hyp" in capsys.readouterr().out
    (tmp_path / "doc").write_text("x\ny\nx\n", encoding="utf-8")
    assert main([*words, "--documents", str(tmp_path / "doc")]) == 2
    assert "line 3: the document 'x' continues after another one" in capsys.readouterr().err
