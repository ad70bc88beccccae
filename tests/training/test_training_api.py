"""Training from Python."""

import dataclasses
import threading
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt._core.locks import lock_folder
from prism_mt.cli.main import main
from prism_mt.models.directory import ModelDirectory
from prism_mt.training.api import TrainingResult, train
from prism_mt.training.config import Limits
from prism_mt.training.translation.config import TrainConfig


def test_trains_and_says_how_it_ended(toy_config: TrainConfig) -> None:
    result = train(toy_config)
    assert (result.finished, result.steps) == (True, 12)
    assert result.best is not None
    assert result.folder == toy_config.output / "model"
    assert ModelDirectory(result.folder).spec.name == "toy"


def test_minutes_stop_it_and_a_second_call_goes_on(toy_config: TrainConfig, tmp_path: Path) -> None:
    stopped = train(toy_config, output=str(tmp_path / "other"), minutes=1e-9)
    assert (stopped.finished, stopped.steps, stopped.best) == (False, 1, None)
    assert stopped.folder == tmp_path / "other" / "model"
    assert train(toy_config, output=tmp_path / "other").steps == 12
    exported = train(toy_config, output=tmp_path / "other", export_only=True)
    assert exported == TrainingResult(tmp_path / "other" / "model", finished=False, steps=0)
    assert train(toy_config, output=tmp_path / "other", minutes=1e-9, fresh=True).steps == 1


def test_trains_in_a_thread(toy_config: TrainConfig) -> None:
    config = dataclasses.replace(toy_config, limits=Limits(steps=1))
    found: list[TrainingResult] = []
    thread = threading.Thread(target=lambda: found.append(train(config)))
    thread.start()
    thread.join()
    assert [result.steps for result in found] == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"minutes": 0}, "minutes must be above 0"), ({"data": "nowhere"}, "nowhere is not a data directory")],
)
def test_mistakes(toy_config: TrainConfig, options: dict[str, object], message: str) -> None:
    with pytest.raises(PrismError, match=message):
        train(toy_config, **options)  # type: ignore[arg-type]


def test_two_runs_into_one_folder(
    toy_config: TrainConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fcntl", reason="this system has no locks")
    # flock belongs to the open file, so that one process can stand for two.
    with (
        lock_folder(toy_config.output, "training"),
        pytest.raises(PrismError, match="another process is training"),
    ):
        train(toy_config)
    assert not (toy_config.output / "checkpoints").exists()
    (tmp_path / "metric.toml").write_text('train = ["a"]\ndev = ["a"]\noutput = "run"\n')
    with lock_folder(tmp_path / "run", "training"):
        assert main(["metric", "train", str(tmp_path / "metric.toml")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "another process is training" in error


def test_a_model_called_as_one_of_the_package_is_warned_of(
    toy_config: TrainConfig, caplog: pytest.LogCaptureFixture
) -> None:
    train(dataclasses.replace(toy_config, name="mini", limits=Limits(steps=1)))
    assert "the new model will sign as mini, like the one that comes with the package" in caplog.text
