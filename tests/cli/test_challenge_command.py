import json
from pathlib import Path

import pytest
from made import make_model

import prism_mt
from prism_mt.cli.main import main
from prism_mt.models.directory import write_model


def run(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["challenge", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_built_in_set(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plot = tmp_path / "kinds.svg"
    words = ("builtin", "-m", "chrf", "-l", "de", "zh", "--segments", 4, "--kind", "addition", "word-order")
    kinds, languages = json.loads(run(capsys, *words, "--format", "json", "--plot", plot))
    assert kinds["rows"] == [
        {"phenomenon": "addition", "contrasts": 7, "chrf": 100.0},
        {"phenomenon": "word-order", "contrasts": 8, "chrf": 100.0},
        {"phenomenon": "all", "contrasts": 15, "chrf": 100.0},
    ]
    assert [row["language"] for row in languages["rows"]] == ["de", "zh", "all"]
    assert plot.read_text(encoding="utf-8").startswith("<?xml")


def test_a_file_of_references_and_several_models(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    texts = tmp_path / "references.txt"
    texts.write_text("She was in Paris in 1990.\nHe has never been there before noon.\n", encoding="utf-8")
    made = [str(write_model(make_model(seed), tmp_path / f"made{seed}").folder) for seed in (1, 2)]
    text = run(capsys, "builtin", "--texts", texts, "-l", "en", "--model", *made, "--kind", "number")
    assert all(f"prism-ref[model={folder}]" in text.replace("\n", "") for folder in made)
    assert text.splitlines()[-2].split()[:2] == ["number", "1"]


def test_a_set_from_a_file_and_mistakes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "aces.tsv"
    path.write_text(
        "source\tgood-translation\tincorrect-translation\treference\tphenomena\tlangpair\n"
        "Ja.\tYes.\tNo.\tYes.\tantonym\tde-en\n",
        encoding="utf-8",
    )
    assert "antonym" in run(capsys, path, "--metric", "bleu")
    found = prism_mt.challenge(path, "bleu")
    assert found.result.accuracy(found.result.outcomes[0]) == 1
    assert main(["challenge", str(path), "--texts", str(path)]) == 2
    assert "--texts are perturbed for the builtin set" in capsys.readouterr().err
    assert main(["challenge", "builtin", "-l", "th", "--texts", str(path)]) == 2
    assert "word boundaries of Thai are unknown" in capsys.readouterr().err
