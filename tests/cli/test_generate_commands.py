"""`prism translate`, `paraphrase` and `rerank` end to end."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made import make_model

from prism_mt.cli.main import main
from prism_mt.engines.scheduler import Scheduler
from prism_mt.evaluation.rerank import rerank_with
from prism_mt.generate.nbest import Record
from prism_mt.models.directory import write_model

MODELLESS = {"chrf", "bleu", "ter", "lm", "blue"}
INPUT = ["Hello world!", "", "She bought three apples.", "This is a test."]
LISTS = [
    {
        "source": "Hallo Welt",
        "translations": [{"text": "Hello", "score": -1}, {"text": "Hello world"}, "Hello world"],
    },
    {"source": "Ein Test", "translations": ["A test", "x", "A text"]},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(make_model(max_positions=64), tmp_path_factory.mktemp("commands") / "made").folder)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("".join(f"{line}\n" for line in INPUT), encoding="utf-8")
    Path("lists.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LISTS), encoding="utf-8")
    Path("empty.txt").write_text("", encoding="utf-8")
    Path("long.txt").write_text("Hello!\n" + "word " * 80 + "\n", encoding="utf-8")
    Path("nosource.jsonl").write_text('{"translations": ["Hello", "Hi"]}\n', encoding="utf-8")


def run(capsys: Any, command: str, model: str, *words: str) -> tuple[int, str, str]:
    base = ["--device", "cpu", "--threads", "1"]
    if "--samples" in words or not MODELLESS.intersection(words):
        base += ["--model", model]
    code = main([command, *base, *(["--max-length", "6"] if command != "rerank" else []), *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_translate_in_every_format(capsys: Any, model: str) -> None:
    words = ("--to", "de", "in.txt", "-n", "2")
    code, text, _ = run(capsys, "translate", model, *words)
    assert code == 0
    lines = text.split("\n")[:-1]
    assert len(lines) == 8
    assert lines[2:4] == ["", ""]  # a blank line comes back as blank
    _, tsv, _ = run(capsys, "translate", model, *words, "--format", "tsv")
    rows = [line.split("\t") for line in tsv.split("\n")[:-1]]
    assert [row[:2] for row in rows] == [[str(number), rank] for number in (1, 2, 3, 4) for rank in "12"]
    assert [row[3] for row in rows] == lines
    _, jsonl, _ = run(capsys, "translate", model, *words, "--format", "jsonl", "--engine", "torch")
    records = [json.loads(line) for line in jsonl.splitlines()]
    assert [record["source"] for record in records] == INPUT
    assert [one["text"] for record in records for one in record["translations"]] == lines
    scores = [one["score"] for record in records for one in record["translations"]]
    assert scores == pytest.approx([float(row[2]) for row in rows], abs=1e-4)


@pytest.mark.parametrize(
    "words",
    [
        ("--method", "beam"),
        ("--method", "diverse", "--beam", "8", "--groups", "4", "--strength", "0.5"),
        ("--method", "sample", "--top-k", "5", "--temperature", "0.9", "--seed", "3"),
        ("--method", "penalty", "--penalty-form", "average", "--penalty-scale", "0.1"),
        (),
    ],
)
def test_paraphrase_by_every_method(capsys: Any, model: str, words: tuple[str, ...], caplog: Any) -> None:
    code, out, err = run(
        capsys, "paraphrase", model, "--lang", "en", "in.txt", "-n", "3", "--format", "jsonl", *words
    )
    assert code == 0, err
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["source"] for record in records] == INPUT
    assert [len(record["paraphrases"]) for record in records] == [3] * 4
    assert "cut off at the maximum length" in caplog.text


def test_standard_input(capsys: Any, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, wanted, _ = run(capsys, "translate", model, "--to", "de", "in.txt")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("in.txt").read_bytes())))
    monkeypatch.setattr("prism_mt.text.streams._stdin_taken", False)
    code, out, _ = run(capsys, "translate", model, "--to", "de")
    assert (code, out) == (0, wanted)


def test_a_killed_run_goes_on(capsys: Any, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--to", "de", "in.txt", "--no-cache", "-o", "out/de.txt")
    wanted = run(capsys, "translate", model, *words[:3])[1]
    monkeypatch.setattr("prism_mt.generate.generator.search_window", lambda width: 1)
    run_, asked = Scheduler.run, []

    def dying(self: Any, requests: Any) -> Any:
        asked.append(len(requests))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return run_(self, requests)

    monkeypatch.setattr(Scheduler, "run", dying)
    assert run(capsys, "translate", model, *words)[0] == 130
    assert [path.name for path in Path("out").iterdir()] == ["de.txt.partial"]
    code, _, err = run(capsys, "translate", model, *words, "-n", "2")
    assert code == 2
    assert "de.txt.partial is the unfinished output of another run" in err
    asked[:] = [0] * 2
    assert run(capsys, "translate", model, *words)[:2] == (0, "")
    assert asked[2:] == [1, 1]  # the two texts that were not done
    assert Path("out/de.txt").read_text(encoding="utf-8") == wanted
    assert [path.name for path in Path("out").iterdir()] == ["de.txt"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("translate", "in.txt"), "set the language to translate into: --to XX"),
        (
            ("translate", "in.txt", "--to", "xx"),
            "the model does not support the language 'xx'; it supports de, en",
        ),
        (("translate", "in.txt", "--to", "de", "-n", "6", "--beam", "5"), "a beam of 5 cannot yield 6 hypotheses"),
        (("translate", "empty.txt", "--to", "de"), "empty.txt is empty: nothing to do"),
        (("translate", "none.txt", "--to", "de"), "cannot read none.txt"),
        (("paraphrase", "in.txt"), "set the language of the input: --lang XX"),
        (
            ("paraphrase", "in.txt", "-l", "en", "--method", "diverse", "--beam", "10", "--groups", "3"),
            "3 groups do not divide a beam of 10",
        ),
        (
            ("paraphrase", "in.txt", "-l", "en", "--method", "diverse", "-n", "101"),
            "a beam of 100 cannot yield 101",
        ),
        (
            ("paraphrase", "in.txt", "-l", "en", "--method", "sample", "--engine", "ct2"),
            "omit --engine, or choose torch",
        ),
        (
            ("paraphrase", "in.txt", "-l", "en", "--seed", "7"),
            "--seed is an option of the method sample, but the method is",
        ),
        (("paraphrase", "in.txt", "-l", "en", "--precision", "int8"), "omit --precision"),
        (("paraphrase", "long.txt", "-l", "en"), "long.txt, line 2 has"),
        (("rerank", "long.txt", "--to", "en", "--samples", "2"), "long.txt, line 2 has"),
        (("rerank", "nosource.jsonl", "--to", "en", "-m", "prism-src"), "nosource.jsonl, line 1 has no source"),
        (
            ("rerank", "lists.jsonl", "-m", "0.5*prism-ref+0.5*chrf"),
            "needs the language of the candidates: set --lang",
        ),
        (("rerank", "lists.jsonl"), "needs the language of the candidates: set --lang"),
        (
            ("rerank", "lists.jsonl", "--to", "en", "-m", "blue"),
            "no metric and no folder of a learned metric is named 'blue'; did you mean 'bleu'?",
        ),
        (("rerank", "in.txt", "-m", "chrf"), "in.txt is plain text, not lists in JSONL: set --candidates"),
        (("rerank", "empty.txt", "-m", "chrf"), "empty.txt is empty: nothing to rerank"),
    ],
)
def test_mistakes(capsys: Any, model: str, words: tuple[str, ...], message: str) -> None:
    code, out, err = run(capsys, words[0], model, *words[1:])
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("metric", ["prism-ref", "prism-src", "chrf", "bleu", "ter"])
def test_rerank_by_every_kind_of_metric(capsys: Any, model: str, metric: str) -> None:
    words = ("lists.jsonl", "--to", "en", "-m", metric, "-n", "3", "--format", "jsonl")
    code, out, err = run(capsys, "rerank", model, *words)
    assert code == 0, err
    first, second = (json.loads(line)["translations"] for line in out.splitlines())
    assert {one["text"] for one in first} == {"Hello", "Hello world"}
    assert {one["text"] for one in second} == {"A test", "A text", "x"}
    for ranked in (first, second):
        assert sorted((one["score"] for one in ranked), reverse=True) == [one["score"] for one in ranked]
    if metric == "chrf":
        assert [one["text"] for one in first] == ["Hello world", "Hello"]
        assert second[-1]["text"] == "x"


@pytest.mark.parametrize("name", ["zh", "Chinese", "zh-CN"])
def test_the_tokenizer_is_that_of_the_language_however_it_is_called(capsys: Any, model: str, name: str) -> None:
    texts = ["我们明天去北京", "我们今天去北京", "他昨天在这里"]
    Path("zh.jsonl").write_text(json.dumps({"source": "", "translations": texts}) + "\n", encoding="utf-8")
    _, out, _ = run(
        capsys, "rerank", model, "zh.jsonl", "--to", name, "-m", "bleu", "--format", "jsonl", "-n", "3"
    )
    scores = [one["score"] for one in json.loads(out)["translations"]]
    assert scores[0] > scores[2]
    for side, text in zip(("cand", "ref"), texts, strict=False):
        Path(side).write_text(text + "\n", encoding="utf-8")
    words = ["score", "--cand", "cand", "--ref", "ref", "--lang", name, "--model", model, "--format", "json"]
    assert main([*words, "-m", "prism-ref", "bleu", "parbleu", "--paraphrases", "0"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [round(result["score"], 2) for result in results[1:]] == [48.89, 48.89]
    assert all("tok:zh" in result["signature"] for result in results[1:])


def test_rerank_by_vectors(capsys: Any, model: str) -> None:
    pytest.importorskip("transformers", reason="needs the extra hf")
    from tiny_bert import make_bert

    make_bert(Path("Bert"))
    texts = ["the dog barks", "a cat", "the dog barks loudly"]
    record = {"source": "the dog barks loudly", "hypotheses": [{"text": text, "score": 0.0} for text in texts]}
    Path("few.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    words = ("few.jsonl", "-m", "bertr-src", "--encoder", "Bert")
    code, out, err = run(capsys, "rerank", model, *words)
    assert (code, out) == (0, "the dog barks loudly\n"), err
    code, _, err = run(capsys, "rerank", model, "few.jsonl", "-m", "lm", "--to", "en")
    assert (code, "--language-model" in err) == (2, True)


def test_rerank_equals_prism_score(capsys: Any, model: str) -> None:
    _, out, _ = run(capsys, "rerank", model, "lists.jsonl", "--to", "en", "-n", "3", "--format", "jsonl")
    ranked = {one["text"]: one["score"] for one in json.loads(out.splitlines()[1])["translations"]}
    texts = ["A test", "x", "A text"]
    Path("hyp.txt").write_text("".join(f"{text}\n" * 3 for text in texts), encoding="utf-8")
    Path("ref.txt").write_text("".join(f"{text}\n" for text in texts * 3), encoding="utf-8")
    words = ["--cand", "hyp.txt", "--ref", "ref.txt", "--lang", "en", "--segments", "--format", "json"]
    assert main(["score", "--model", model, *words]) == 0
    segments = json.loads(capsys.readouterr().out)["results"][0]["segments"]
    for index, text in enumerate(texts):
        assert ranked[text] == pytest.approx(sum(segments[3 * index : 3 * index + 3]) / 3, abs=1e-4)


def test_a_killed_reranking_goes_on(capsys: Any, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("lists.jsonl", "--to", "en", "-m", "chrf")
    wanted = run(capsys, "rerank", model, *words)[1]

    def dying(*arguments: Any) -> Iterator[Record]:
        yield next(rerank_with(*arguments))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("prism_mt.cli.rerank.rerank_with", dying)
        assert run(capsys, "rerank", model, *words, "-o", "best.txt")[0] == 130
    assert not Path("best.txt").exists()
    assert run(capsys, "rerank", model, *words, "-o", "best.txt")[0] == 0
    assert Path("best.txt").read_text(encoding="utf-8") == wanted


def test_rerank_samples_of_the_model(capsys: Any, model: str) -> None:
    words = ("in.txt", "--to", "de", "--samples", "4", "--sample-top-k", "3", "-m", "chrf")
    code, out, err = run(capsys, "rerank", model, *words)
    assert code == 0, err
    assert len(out.split("\n")) == 5
    assert out.split("\n")[1] == ""
    assert run(capsys, "rerank", model, *words)[1] == out
    assert run(capsys, "rerank", model, *words, "-o", "out.txt")[1] == ""
    assert Path("out.txt").read_text(encoding="utf-8") == out


def test_score_with_a_paraphrase_file(capsys: Any, model: str) -> None:
    made = ["-l", "en", "in.txt", "-n", "2", "--format", "jsonl", "-o", "p.jsonl"]
    assert run(capsys, "paraphrase", model, *made)[0] == 0
    score = ["score", "--cand", "in.txt", "--ref", "in.txt", "--lang", "en", "--metric", "parbleu", "parchrf++"]
    words = ["--paraphrase-file", "p.jsonl", "--format", "json"]
    assert main([*score, *words, "--paraphrases", "2"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [round(result["score"]) for result in results] == [100, 100]
    assert "par:2-added" in results[0]["signature"]
    assert main([*score, *words, "--replace-reference"]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["score"] < 50
    assert main([*score, "--ref", "in.txt", "--paraphrase-file", "p.jsonl"]) == 2
    assert "p.jsonl has paraphrases for one reference per segment" in capsys.readouterr().err
    assert main([*score[:-2], "bleu", "--paraphrase-file", "p.jsonl"]) == 2
    assert "--paraphrase-file is an option of parbleu" in capsys.readouterr().err
    Path("short.jsonl").write_text("".join(Path("p.jsonl").read_text(encoding="utf-8").splitlines(True)[:3]))
    code = main([*score, "--paraphrase-file", "short.jsonl", "--paraphrases", "2"])
    assert code == 2
    assert "short.jsonl has paraphrases of 3 references" in capsys.readouterr().err


def test_a_candidate_that_is_too_long_does_not_stop_the_run(capsys: Any, model: str, caplog: Any) -> None:
    row = {"source": "a", "translations": ["A test", "word " * 80]}
    Path("long.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    code, out, err = run(capsys, "rerank", model, "long.jsonl", "--to", "en", "-n", "2")
    assert code == 0, err
    assert sorted(out.splitlines()) == ["A test", "word " * 80]
    assert "overlong texts were truncated" in caplog.text
