import csv
import dataclasses
import math
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_training import run_two_processes

from prism_mt._core.errors import PrismError
from prism_mt.training.config import Limits
from prism_mt.training.distributed import World, join_world
from prism_mt.training.loop import Loop
from prism_mt.training.objective import Update
from prism_mt.training.translation.config import Batches, TrainConfig
from prism_mt.training.translation.export import export_model
from prism_mt.training.translation.objective import TranslationObjective

ALONE = World(0, 1, torch.device("cpu"))


def open_loop(config: TrainConfig, resume: bool = True) -> Loop:
    return Loop(TranslationObjective(config, ALONE), config, ALONE, resume)


def run(config: TrainConfig, resume: bool = True, **changes: Any) -> Loop:
    loop = open_loop(dataclasses.replace(config, **changes), resume)
    loop.run()
    return loop


def first_update(loop: Loop, accumulate: int) -> Update[Any]:
    return next(loop.objective.updates((), accumulate))


def rows(path: Path, drop: str = "") -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as handle:
        return [{key: value for key, value in row.items() if key != drop} for row in csv.DictReader(handle)]


def same_weights(one: Loop, other: Loop) -> bool:
    left, right = one.objective.weights(), other.objective.weights()
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize(
    ("kind", "train", "valid"),
    [
        (
            "translation",
            [4.2969228979, 3.6511409261, 3.1166168581, 2.8953785569],
            [3.7144682088, 3.1488445306, 2.8700728204],
        ),
        (
            "language-model",
            [4.8372772961, 4.2661606842, 3.5439994139, 3.0966275734],
            [4.0861461150, 3.2468171731, 2.8833462055],
        ),
    ],
)
def test_golden_losses(toy_config: TrainConfig, kind: str, train: list[float], valid: list[float]) -> None:
    """Losses of the first release, whose loop was another one."""
    layers = 1 if kind == "translation" else 0
    run(toy_config, kind=kind, architecture=dataclasses.replace(toy_config.architecture, encoder_layers=layers))
    assert [float(row["loss"]) for row in rows(toy_config.output / "train.csv")] == pytest.approx(train, rel=1e-4)
    held_out = [float(row["loss"]) for row in rows(toy_config.output / "valid.csv") if row["pair"] == "all"]
    assert held_out == pytest.approx(valid, rel=1e-4)


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
    loop = open_loop(config)
    update = first_update(loop, 3)
    together = loop.gradients(update)["loss"]
    parameters = list(loop.objective.module.parameters())
    gradients = [parameter.grad.clone() for parameter in parameters if parameter.grad is not None]
    total = [torch.zeros_like(gradient) for gradient in gradients]
    separate = 0.0
    for plan in update.batches:
        separate += loop.gradients(dataclasses.replace(update, batches=[plan]))["loss"]
        for sum_, parameter in zip(total, parameters, strict=True):
            assert parameter.grad is not None
            sum_ += parameter.grad
    assert together == pytest.approx(separate)
    torch.testing.assert_close(gradients, total, rtol=1e-4, atol=1e-7)


def test_two_processes_have_the_gradients_and_losses_of_one(toy_config: TrainConfig, tmp_path: Path) -> None:
    config = dataclasses.replace(toy_config, dropout=0.0, limits=Limits(steps=4))
    alone = open_loop(dataclasses.replace(config, batches=dataclasses.replace(config.batches, accumulate=2)))
    alone.gradients(first_update(alone, 1))
    parameters = list(alone.objective.module.parameters())
    expected = [parameter.grad.clone() for parameter in parameters if parameter.grad is not None]
    alone.run()
    torch.save(dataclasses.replace(config, output=tmp_path / "two"), tmp_path / "config.pt")
    run_two_processes(Path(__file__).with_name("translation_in_two_processes.py"), tmp_path)
    for rank in (0, 1):
        torch.testing.assert_close(torch.load(tmp_path / f"gradients-{rank}.pt"), expected, rtol=1e-4, atol=1e-7)
    for name in ("train.csv", "valid.csv"):
        one, two = (rows(folder / name) for folder in (config.output, tmp_path / "two"))
        assert [float(row["loss"]) for row in two] == pytest.approx([float(row["loss"]) for row in one], rel=1e-4)


def test_a_signal_leaves_a_checkpoint(toy_config: TrainConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = open_loop(toy_config)
    gradients = loop.gradients

    def interrupted(*arguments: Any) -> dict[str, float]:
        if loop.progress.step == 7:
            signal.raise_signal(signal.SIGTERM)
        return gradients(*arguments)

    monkeypatch.setattr(loop, "gradients", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    assert not loop.run()
    assert not loop.stop.out_of_time
    assert loop.checkpoints.steps()[-1] == loop.progress.step == 7
    assert signal.getsignal(signal.SIGTERM) == before


def test_limits(toy_config: TrainConfig) -> None:
    epoch = run(toy_config, limits=Limits(epochs=0.5))
    assert 300 <= epoch.progress.examples < 340
    late = open_loop(dataclasses.replace(toy_config, limits=Limits(minutes=1e-9)), resume=False)
    assert not late.run()
    assert late.stop.out_of_time
    assert late.progress.step == 1


def test_early_stopping_and_the_best_weights(toy_config: TrainConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([3.0, 2.0, 2.5, 2.1, 1.0])
    monkeypatch.setattr(
        "prism_mt.training.translation.objective.validate",
        lambda *_: {"all": (next(losses), 10), "de-en": (1.0, 10)},
    )
    loop = run(toy_config, limits=Limits(steps=100, patience=2))
    assert loop.progress.step == 16
    assert loop.progress.best == -2.0
    name = "encoder.embedding.weight"
    assert not torch.equal(loop.checkpoints.best()[name], loop.objective.weights()[name])


def test_validation_is_per_direction(toy_config: TrainConfig) -> None:
    run(toy_config)
    found = rows(toy_config.output / "valid.csv")
    assert [row["pair"] for row in found if row["step"] == "4"] == ["all", "de-en", "en-de", "en-en"]
    tokens = {row["pair"]: int(row["tokens"]) for row in found}
    assert tokens["all"] == tokens["de-en"] + tokens["en-de"] + tokens["en-en"]
    last = {row["pair"]: float(row["loss"]) * int(row["tokens"]) for row in found if row["step"] == "12"}
    assert last["all"] == pytest.approx(last["de-en"] + last["en-de"] + last["en-en"])


def test_mixed_precision_trains(toy_config: TrainConfig) -> None:
    loop = run(toy_config, precision="bfloat16", limits=Limits(steps=4))
    assert all(parameter.dtype == torch.float32 for parameter in loop.objective.module.parameters())
    assert math.isfinite(loop.progress.best)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, r"other settings \(seed\)"),
        ({"precision": "bfloat16"}, r"other settings \(precision\)"),
        ({"batches": Batches(tokens=300, max_length=10)}, r"other settings \(examples\)"),
    ],
)
def test_another_run_cannot_be_resumed(toy_config: TrainConfig, change: dict[str, Any], message: str) -> None:
    run(toy_config, limits=Limits(steps=1))
    with pytest.raises(PrismError, match=message):
        open_loop(dataclasses.replace(toy_config, **change))


def test_the_seed_decides_the_first_weights(toy_config: TrainConfig, tmp_path: Path) -> None:
    one, again, other = (
        open_loop(dataclasses.replace(toy_config, seed=seed, output=tmp_path / "none")) for seed in (1, 1, 2)
    )
    assert same_weights(one, again)
    assert not same_weights(one, other)


def test_a_gradient_that_is_no_number_ends_the_run(toy_config: TrainConfig) -> None:
    loop = open_loop(toy_config)
    with torch.no_grad():
        next(loop.objective.module.parameters())[5] = float("nan")
    with pytest.raises(PrismError, match="gradient of step 1 is not a number"):
        loop.run()
    assert not loop.checkpoints.steps()


def test_another_vocabulary_is_another_run(toy_config: TrainConfig, tmp_path: Path) -> None:
    run(toy_config, limits=Limits(steps=1))
    other = tmp_path / "other"
    shutil.copytree(toy_config.data, other)
    with open(other / "spm.model", "ab") as handle:
        handle.write(b"\x0a\x00")
    with pytest.raises(PrismError, match=r"other settings \(data\)"):
        export_model(dataclasses.replace(toy_config, data=other))


def test_changed_settings_of_the_optimizer_count(toy_config: TrainConfig) -> None:
    run(toy_config, limits=Limits(steps=1))
    changed = dataclasses.replace(toy_config.optimizer, weight_decay=0.5, beta2=0.5)
    resumed = open_loop(dataclasses.replace(toy_config, optimizer=changed))
    assert resumed.progress.step == 1
    [adam] = resumed.optimizers
    groups = adam.param_groups
    assert [group["weight_decay"] for group in groups] == [0.5, 0.0]
    assert all(group["betas"] == (0.9, 0.5) for group in groups)


def test_a_machine_without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(PrismError, match="torch finds no usable GPU"):
        join_world("cuda")
