import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from prism_mt.cli.main import main
from prism_mt.corpus.data_directory import ShardDataset
from prism_mt.models.directory import ModelDirectory
from prism_mt.training.translation.config import TrainConfig


def write_config(config: TrainConfig, path: Path, **changes: Any) -> str:
    """The configuration as TOML: it has only tables, lists, numbers, texts and switches."""
    table = dataclasses.asdict(dataclasses.replace(config, **changes))
    lines, tables = [], []
    for key, value in table.items():
        if value is None:
            continue
        if not isinstance(value, dict):
            lines.append(f"{key} = {_toml(value)}")
            continue
        tables.append(f"[{key}]")
        tables += [f"{name} = {_toml(item)}" for name, item in value.items() if item != {}]
    path.write_text("\n".join(lines + tables))
    return str(path)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value) if isinstance(value, int | float) else f'"{value}"'


def test_ends_with_a_model_that_scores(
    toy_config: TrainConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_config(toy_config, tmp_path / "toy.toml")
    assert main(["train", path]) == 0
    folder = toy_config.output / "model"
    assert str(folder) in capsys.readouterr().out
    model = ModelDirectory(folder)
    data = ShardDataset(toy_config.data)
    assert list(model.spec.languages) == list(data.meta.languages)
    saved = torch.load(toy_config.output / "checkpoints" / "step-00000012.weights.pt")
    weights = model.weights()
    assert all(np.array_equal(weights[name], tensor.numpy()) for name, tensor in saved.items())
    assert "25% of the examples are noisy copies" in (folder / "README.md").read_text()
    pair = tmp_path / "pair.txt"
    pair.write_text("abc def\n")
    arguments = ["score", "--model", str(folder), "--lang", "en", "--cand", str(pair), "--ref", str(pair)]
    assert main(arguments) == 0
    assert "-" in capsys.readouterr().out


def test_minutes_and_export_only(
    toy_config: TrainConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_config(toy_config, tmp_path / "toy.toml")
    elsewhere = str(tmp_path / "elsewhere")
    assert main(["train", path, "--output", elsewhere, "--minutes", "1e-9"]) == 0
    assert "Stopped at step 1; run the same command to resume." in capsys.readouterr().err
    assert main(["train", path, "--output", elsewhere, "--export-only"]) == 0
    assert "step 1" in (tmp_path / "elsewhere" / "model" / "README.md").read_text()


def test_a_language_model_gets_a_directory_too(toy_config: TrainConfig, tmp_path: Path) -> None:
    shape = dataclasses.replace(toy_config.architecture, encoder_layers=0)
    path = write_config(toy_config, tmp_path / "lm.toml", kind="language-model", architecture=shape)
    assert main(["train", path]) == 0
    model = ModelDirectory(toy_config.output / "model")
    assert model.spec.architecture.decoder_only
    assert not any(name.startswith("encoder") for name in model.weights())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "nowhere"], "nowhere is not a data directory"),
        (["--minutes", "0"], "minutes must be above 0"),
        (["--export-only"], "has no checkpoint yet"),
    ],
)
def test_mistakes(
    toy_config: TrainConfig,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    path = write_config(toy_config, tmp_path / "toy.toml")
    assert main(["train", path, *arguments]) == 2
    assert message in capsys.readouterr().err
