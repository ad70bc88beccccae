"""What the papers vary, inside `prism metaeval` and `prism metaeval sweep`: directions, sums, weights, paraphrases."""

import json
from pathlib import Path
from typing import Any

import pytest
from made import make_model

from prism_mt.cli.main import main
from prism_mt.models.directory import write_model

REFERENCES = ["the cat sat here", "a dog ran there quickly", "the dog sat slowly", "a cat ran", "dogs sat there"]
OUTPUTS = {
    "A": ["the cat sat here", "a dog ran quickly there", "the dog sat", "a cat ran", "dogs sat here"],
    "B": ["a cat sat", "the dog ran", "a dog slowly sat", "one cat", "the dogs were there"],
    "C": ["cat", "dog dog dog", "slowly", "ran a ran", "there"],
    "D": ["here the cat", "a dog", "the dog ran slowly", "the cats ran", "a dog sat there"],
}


@pytest.fixture
def judgments(tmp_path: Path) -> Path:
    path = tmp_path / "made_de-en.jsonl"
    rows = []
    for number, reference in enumerate(REFERENCES):
        texts = {"ref-A": reference, **{system: outputs[number] for system, outputs in OUTPUTS.items()}}
        scores = {"A": 0.0, "B": -2.0 - number, "C": -9.0, "D": -4.0 + number % 2}
        rows.append({"sid": number + 1, "src": "quelle", "sys": texts, "scores": scores})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(make_model(), tmp_path_factory.mktemp("papers") / "made").folder


def tables(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    assert main(["metaeval", *map(str, words), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_directions_sums_and_weights(capsys: pytest.CaptureFixture[str], judgments: Path, model: Path) -> None:
    ways = ("direction=forward", "direction=backward", "reduction=sum", "forward_weight=0.2")
    metrics = [f"prism-ref[{way}]" for way in ways]
    words = (judgments, "--model", model, "--statistic", "pearson", "--test", "none")
    [table] = tables(capsys, *words, "-m", "prism-ref", *metrics)
    values = {row["metric"]: row["pearson"] for row in table["rows"]}
    assert set(values) == {"prism-ref", *metrics}
    assert len(set(values.values())) == 5
    # As options they are the same for all metrics.
    [table] = tables(capsys, *words, "-m", "prism-ref", "--reduction", "sum")
    assert table["rows"][0]["pearson"] == pytest.approx(values["prism-ref[reduction=sum]"])


def test_sweeps_of_directions_are_standardized_and_say_so(
    capsys: pytest.CaptureFixture[str], judgments: Path, model: Path
) -> None:
    words = (judgments, "--model", model, "-m", "prism-ref[direction=forward]", "prism-ref[direction=backward]")
    [table] = tables(capsys, "sweep", *words, "--steps", 2)
    assert "weights of standardized metrics" in table["notes"]
    assert len(table["rows"]) == 3
    [plain] = tables(capsys, "sweep", *words, "--steps", 2, "--no-standardize")
    assert "weights of the metrics as they are" in plain["notes"]


def test_paraphrases_and_their_significance(
    capsys: pytest.CaptureFixture[str], judgments: Path, tmp_path: Path
) -> None:
    file = tmp_path / "paraphrases.jsonl"
    paraphrases = [
        {"source": text, "paraphrases": [{"text": OUTPUTS[one][number], "score": -1} for one in "BD"]}
        for number, text in enumerate(REFERENCES)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in paraphrases), encoding="utf-8")
    metrics = ["parchrf++[paraphrases=1]", "parchrf++[paraphrases=2]", "parchrf++[replace_reference=true]"]
    words = (judgments, "-m", "chrf++", *metrics, "--paraphrase-file", file)
    [systems] = tables(capsys, *words, "--protocol", "wmt19-sys")
    values = {row["metric"]: row["pearson"] for row in systems["rows"]}
    assert len(values) == len(set(values.values())) == 4
    assert any("Williams" in note for note in systems["notes"])
    [segments] = tables(capsys, *words, "--test", "paired-bootstrap", "--draws", 20)
    assert any("bootstrap" in note for note in segments["notes"])
