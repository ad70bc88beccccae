"""`prism metaeval bias`: tables with scores, models, and the outputs of judged systems."""

import json
from pathlib import Path

import pytest
from made import make_model

from prism_mt.cli.main import main
from prism_mt.models.directory import write_model


def run(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["metaeval", *map(str, words)]) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(make_model(), tmp_path_factory.mktemp("metaeval") / "made").folder


def test_bias_of_given_scores(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.tsv"
    path.write_text(
        "reference\thypothesis\tkind\tscore\na b c d\ta b c d\tcopy\t-0.3\na b c d\te f\thuman\t-2\n",
        encoding="utf-8",
    )
    summary, bins = json.loads(run(capsys, "bias", path, "--format", "json"))
    assert summary["rows"][0] == {"": "H(copy|r0)", "model": -0.3}
    assert len(bins["rows"]) == 10


def test_bias_of_a_model(capsys: pytest.CaptureFixture[str], tmp_path: Path, model: Path) -> None:
    path = tmp_path / "paraphrases.tsv"
    path.write_text("ref\tdeen-1\tdeen-2\na red apple\tan apple\tapple, red\n", encoding="utf-8")
    summary, _ = json.loads(run(capsys, "bias", path, "--model", model, "--format", "json"))
    assert [row[""] for row in summary["rows"]][:3] == ["H(beam|r0)", "H(human|r0)", "H(copy|r0)"]
    assert all(row[str(model)] < 0 for row in summary["rows"][:3])


def test_bias_over_the_outputs_of_judged_systems(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, model: Path
) -> None:
    path = tmp_path / "judged_de-en.jsonl"
    outputs, scores = {"A": "a red apple", "B": "green"}, {"A": 1, "B": 0}
    rows = [{"seg_id": 1, "src": "x", "ref": "a red apple", "sys": outputs, "scores": scores}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    summary, bins = json.loads(run(capsys, "bias", "--judgments", path, "--model", model, "--format", "json"))
    assert [row[""] for row in summary["rows"]] == ["H(system|r0)", "BLEU(system, r0)"]
    # Nothing is generated: the two outputs are all there is, one of them equal to the reference.
    counts = [row[key] for row in bins["rows"] for key in row if key.startswith("n")]
    assert sum(counts) == 2
    assert counts[0] == counts[-1] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "pass either tables of paraphrases or --judgments"),
        (("--judgments", "j.jsonl"), "set --model"),
    ],
)
def test_what_is_scored_must_be_said(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert main(["metaeval", "bias", *words]) == 2
    assert message in capsys.readouterr().err


def test_files_of_one_name_are_not_two_models(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = [tmp_path / folder / "scores.tsv" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text("ref\tkind\ttext\tscore\na red apple\tbeam\tan apple\t-1\n", encoding="utf-8")
    assert main(["metaeval", "bias", *map(str, paths)]) == 2
    assert "give the files different names" in capsys.readouterr().err


def test_bias_over_all_outputs_without_generating(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A file of texts alone, as the metrics tasks publish them: nobody judged these systems.
    lines = [
        {"lp": "de-en", "sid": 1, "ref": "The dog sleeps.", "sys": {"A": "The dog sleeps.", "B": "A cat."}},
        {"lp": "de-en", "sid": 2, "ref": "It rains today.", "sys": {"A": "It rains today.", "ref-B": "Rain."}},
    ]
    path = tmp_path / "outputs.jsonl"
    path.write_text("".join(json.dumps({"src": "x", **line}) + "\n" for line in lines), encoding="utf-8")
    words = ["metaeval", "bias", "--judgments", str(path), "--format", "json"]
    assert main([*words, "--model", "mini"]) == 0
    _, table = json.loads(capsys.readouterr().out)
    counts = [row["n mini"] for row in table["rows"]]
    assert (sum(counts), counts[-1]) == (3, 2)
    assert table["rows"][-1]["mini"] > next(row["mini"] for row in table["rows"] if row["n mini"] == 1)
