import csv
import dataclasses
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from prism_mt._core.errors import PrismError
from prism_mt.models.network import Transformer
from prism_mt.training.config import Batches, Limits, TrainConfig
from prism_mt.training.distributed import World, join_world
from prism_mt.training.export import export_model
from prism_mt.training.trainer import Trainer

ALONE = World(0, 1, torch.device("cpu"))


def run(config: TrainConfig, resume: bool = True, **changes: Any) -> Trainer:
    trainer = Trainer(dataclasses.replace(config, **changes), ALONE, resume)
    trainer.run()
    return trainer


def rows(path: Path, drop: str = "") -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as handle:
        return [{key: value for key, value in row.items() if key != drop} for row in csv.DictReader(handle)]


def same_weights(one: Trainer, other: Trainer) -> bool:
    left, right = one.objective.state_dict(), other.objective.state_dict()
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("kind", ["translation", "language-model"])
def test_loss_falls(toy_config: TrainConfig, kind: str) -> None:
    shape = toy_config.architecture
    if kind == "language-model":
        shape = dataclasses.replace(shape, encoder_layers=0)
    run(toy_config, kind=kind, architecture=shape, limits=Limits(steps=60), dropout=0.0)
    losses = [float(row["loss"]) for row in rows(toy_config.output / "train.csv")]
    assert losses[0] > 3.5  # about ln 60 at first
    assert losses[-1] < 0.85 * losses[0]
    held_out = [float(row["loss"]) for row in rows(toy_config.output / "valid.csv") if row["pair"] == "all"]
    assert held_out[-1] < held_out[0]


def test_resumed_run_is_the_run_without_interruption(toy_config: TrainConfig, tmp_path: Path) -> None:
    whole = run(toy_config, output=tmp_path / "whole")
    # Stopped between two rows of the log, two validations and two regular checkpoints; then killed after one.
    for steps in (7, 11):
        run(toy_config, limits=Limits(steps=steps))
    (toy_config.output / "checkpoints" / "step-00000011.state.pt").unlink()
    resumed = run(toy_config)
    assert same_weights(whole, resumed)
    for name, unlike in (("train.csv", "tokens_per_second"), ("valid.csv", "")):
        expected = rows(tmp_path / "whole" / name, unlike)
        assert expected
        assert rows(toy_config.output / name, unlike) == expected


def test_fresh_starts_again(toy_config: TrainConfig) -> None:
    first = run(toy_config)
    again = run(toy_config, resume=False)
    assert again.progress.tokens == first.progress.tokens
    assert len(rows(toy_config.output / "train.csv")) == 4


def test_accumulation_is_one_large_batch(toy_config: TrainConfig) -> None:
    config = dataclasses.replace(toy_config, dropout=0.0)
    trainer = Trainer(config, ALONE)
    stream = trainer.stream.batches(trainer.progress.position)
    plans = [next(stream)[0] for _ in range(3)]
    tokens = sum(plan.predicted for plan in plans)
    together = trainer.gradients(plans, tokens)
    gradients = [
        parameter.grad.clone() for parameter in trainer.objective.parameters() if parameter.grad is not None
    ]
    total = [torch.zeros_like(gradient) for gradient in gradients]
    separate = 0.0
    for plan in plans:
        separate += trainer.gradients([plan], tokens)
        for sum_, parameter in zip(total, trainer.objective.parameters(), strict=True):
            assert parameter.grad is not None
            sum_ += parameter.grad
    assert together == pytest.approx(separate)
    torch.testing.assert_close(gradients, total, rtol=1e-4, atol=1e-7)


def test_two_processes_have_the_gradients_and_losses_of_one(toy_config: TrainConfig, tmp_path: Path) -> None:
    config = dataclasses.replace(toy_config, dropout=0.0, limits=Limits(steps=4))
    alone = Trainer(dataclasses.replace(config, batches=dataclasses.replace(config.batches, accumulate=2)), ALONE)
    stream = alone.stream.batches(alone.progress.position)
    step = [next(stream)[0] for _ in range(2)]
    alone.gradients(step, sum(plan.predicted for plan in step))
    expected = [parameter.grad.clone() for parameter in alone.objective.parameters() if parameter.grad is not None]
    alone.run()
    torch.save(dataclasses.replace(config, output=tmp_path / "two"), tmp_path / "config.pt")
    environment = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(20_000 + os.getpid() % 20_000),
        "WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, str(Path(__file__).with_name("two_processes.py")), str(tmp_path)]
    started = [subprocess.Popen(command, env={**environment, "RANK": rank}) for rank in ("0", "1")]
    assert [process.wait(timeout=120) for process in started] == [0, 0]
    for rank in (0, 1):
        torch.testing.assert_close(torch.load(tmp_path / f"gradients-{rank}.pt"), expected, rtol=1e-4, atol=1e-7)
    for name in ("train.csv", "valid.csv"):
        one, two = (rows(folder / name) for folder in (config.output, tmp_path / "two"))
        assert [float(row["loss"]) for row in two] == pytest.approx([float(row["loss"]) for row in one], rel=1e-4)


def test_a_signal_leaves_a_checkpoint(toy_config: TrainConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(toy_config, ALONE)
    gradients = trainer.gradients

    def interrupted(*arguments: Any) -> float:
        if trainer.progress.step == 7:
            signal.raise_signal(signal.SIGTERM)
        return gradients(*arguments)

    monkeypatch.setattr(trainer, "gradients", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    assert not trainer.run()
    assert not trainer.stop.out_of_time
    assert trainer.checkpoints.steps()[-1] == trainer.progress.step == 7
    assert signal.getsignal(signal.SIGTERM) == before


def test_limits(toy_config: TrainConfig) -> None:
    epoch = run(toy_config, limits=Limits(epochs=0.5))
    assert 300 <= epoch.progress.position.examples < 340
    late = Trainer(dataclasses.replace(toy_config, limits=Limits(minutes=1e-9)), ALONE, resume=False)
    assert not late.run()
    assert late.stop.out_of_time
    assert late.progress.step == 1


def test_early_stopping_and_the_best_weights(toy_config: TrainConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([3.0, 2.0, 2.5, 2.1, 1.0])
    monkeypatch.setattr(
        "prism_mt.training.trainer.validate", lambda *_: {"all": (next(losses), 10), "de-en": (1.0, 10)}
    )
    trainer = run(toy_config, limits=Limits(steps=100, patience=2))
    assert trainer.progress.step == 16
    assert trainer.progress.best == 2.0
    name = "encoder.embedding.weight"
    assert not torch.equal(trainer.checkpoints.best()[name], trainer.objective.model.state_dict()[name])


def test_validation_is_per_direction(toy_config: TrainConfig) -> None:
    run(toy_config)
    found = rows(toy_config.output / "valid.csv")
    assert [row["pair"] for row in found if row["step"] == "4"] == ["all", "de-en", "en-de", "en-en"]
    tokens = {row["pair"]: int(row["tokens"]) for row in found}
    assert tokens["all"] == tokens["de-en"] + tokens["en-de"] + tokens["en-en"]
    last = {row["pair"]: float(row["loss"]) * int(row["tokens"]) for row in found if row["step"] == "12"}
    assert last["all"] == pytest.approx(last["de-en"] + last["en-de"] + last["en-en"])


def test_mixed_precision_trains(toy_config: TrainConfig) -> None:
    trainer = run(toy_config, precision="bfloat16", limits=Limits(steps=4))
    assert all(parameter.dtype == torch.float32 for parameter in trainer.objective.parameters())
    assert math.isfinite(trainer.progress.best)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, "another seed"),
        ({"precision": "bfloat16"}, "another precision"),
        ({"batches": Batches(tokens=300, max_length=10)}, "another examples"),
    ],
)
def test_another_run_cannot_be_resumed(toy_config: TrainConfig, change: dict[str, Any], message: str) -> None:
    run(toy_config, limits=Limits(steps=1))
    with pytest.raises(PrismError, match=message):
        Trainer(dataclasses.replace(toy_config, **change), ALONE)


def test_the_seed_decides_the_first_weights(toy_config: TrainConfig, tmp_path: Path) -> None:
    one, again, other = (
        Trainer(dataclasses.replace(toy_config, seed=seed, output=tmp_path / "none"), ALONE) for seed in (1, 1, 2)
    )
    assert isinstance(one.objective.model, Transformer)
    assert same_weights(one, again)
    assert not same_weights(one, other)


def test_a_gradient_that_is_no_number_ends_the_run(toy_config: TrainConfig) -> None:
    trainer = Trainer(toy_config, ALONE)
    with torch.no_grad():
        next(trainer.objective.parameters())[5] = float("nan")
    with pytest.raises(PrismError, match="gradient of step 1 is not a number"):
        trainer.run()
    assert not trainer.checkpoints.steps()


def test_another_vocabulary_is_another_run(toy_config: TrainConfig, tmp_path: Path) -> None:
    run(toy_config, limits=Limits(steps=1))
    other = tmp_path / "other"
    shutil.copytree(toy_config.data, other)
    with open(other / "spm.model", "ab") as handle:
        handle.write(b"\x0a\x00")
    with pytest.raises(PrismError, match="another data"):
        export_model(dataclasses.replace(toy_config, data=other))


def test_changed_settings_of_the_optimiser_count(toy_config: TrainConfig) -> None:
    run(toy_config, limits=Limits(steps=1))
    changed = dataclasses.replace(toy_config.optimiser, weight_decay=0.5, beta2=0.5)
    resumed = Trainer(dataclasses.replace(toy_config, optimiser=changed), ALONE)
    assert resumed.progress.step == 1
    groups = resumed.optimiser.param_groups
    assert [group["weight_decay"] for group in groups] == [0.5, 0.0]
    assert all(group["betas"] == (0.9, 0.5) for group in groups)


def test_a_machine_without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(PrismError, match="there is no GPU"):
        join_world("cuda")
