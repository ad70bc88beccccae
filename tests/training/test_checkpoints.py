from pathlib import Path

import pytest
import torch

from prism_mt._core.errors import PrismError
from prism_mt.training.checkpoints import CheckpointFolder


def save(folder: CheckpointFolder, *steps: int) -> None:
    for step in steps:
        folder.save(step, {"w": torch.tensor([float(step)])}, {"progress": step})


def test_the_newest_is_loaded(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, 1, 10)
    assert folder.load() is None
    save(folder, 10, 20)
    assert folder.load() == ({"w": torch.tensor([20.0])}, {"progress": 20, "step": 20})


def test_two_are_kept(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, 1, 10)
    save(folder, 10, 20, 23, 30)
    assert folder.steps("state") == folder.steps("weights") == [23, 30]


def test_regular_ones_are_averaged(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, 3, 10)
    save(folder, 10, 20, 23, 30, 40, 44)
    assert folder.steps("state") == [40, 44]
    assert folder.steps("weights") == [20, 30, 40, 44]
    assert folder.averaged() == ({"w": torch.tensor([30.0])}, [20, 30, 40])


def test_before_the_first_regular_one_the_newest_stands_in(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, 3, 10)
    save(folder, 4, 6)
    assert folder.averaged()[1] == [6]


def test_weights_without_state_are_no_checkpoint(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, 1, 10)
    save(folder, 10, 20)
    (tmp_path / "step-00000020.state.pt").unlink()
    loaded = folder.load()
    assert loaded is not None
    assert loaded[1]["step"] == 10


def test_weights_that_were_never_finished_are_not_exported(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, 1, 10)
    for step in (10, 20):
        folder.save(step, {}, {"identity": {}})
    (tmp_path / "step-00000020.state.pt").unlink()
    assert folder.resume({}) is not None
    assert folder.averaged()[1] == [10]


def test_mistakes(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, 1, 10)
    with pytest.raises(PrismError, match="no checkpoint yet"):
        folder.averaged()
    with pytest.raises(PrismError, match="nothing has been validated"):
        folder.best()
    save(folder, 10)
    (tmp_path / "step-00000010.state.pt").write_bytes(b"half")
    with pytest.raises(PrismError, match=r"cannot read the checkpoint .*step-00000010.state.pt"):
        folder.load()
