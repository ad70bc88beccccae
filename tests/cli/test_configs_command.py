"""`prism configs`."""

from pathlib import Path

import pytest

from prism_mt.cli.configs import FOLDER
from prism_mt.cli.main import main
from prism_mt.training.regression.config import load_metric_config

NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))


def test_all_are_listed_with_what_they_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert {"prism39", "paraphraser-en", "lm", "mini", "metric-small", "metric-large"} <= set(NAMES)
    assert "39 languages" in lines[NAMES.index("prism39")]


@pytest.mark.parametrize("name", ["prism39", "prism39.toml"])
def test_one_is_printed_as_it_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", name]) == 0
    assert capsys.readouterr().out == (FOLDER / "prism39.toml").read_text(encoding="utf-8")


def test_an_unknown_name_says_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", "prism40"]) == 2
    error = capsys.readouterr().err
    assert "prism40" in error
    assert "prism39" in error


@pytest.mark.parametrize(("name", "files"), [("metric-small", 1), ("metric-large", 2)])
def test_those_of_learned_metrics_are_the_papers(name: str, files: int) -> None:
    config = load_metric_config(FOLDER / f"{name}.toml")
    assert len(config.train) == files
    assert (config.kind, config.loss, config.hidden, config.pieces) == ("esim", "mse", 300, 100)
    assert (config.batch, config.limits.patience, config.schedule.kind) == (32, 4, "plateau")
    assert (config.optimizer.learning_rate, config.optimizer.clip) == (4e-4, 10.0)
    assert config.train[0] == Path(FOLDER / "wmt2016.tsv")


def test_no_model_made_with_one_is_named_and_so_signs_as_the_embedded_model() -> None:
    names = [line for path in FOLDER.glob("*.toml") for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line for line in names if line.startswith("name = ")]
    assert not [line for line in names if line.startswith('name = "mini"')]
