"""Configurations of fine-tuning."""

import dataclasses
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.training.config import Limits, Schedule
from prism_mt.training.ranking.config import FinetuneConfig, Ranking, load_finetune_config


def test_the_configuration_that_comes_along() -> None:
    with resources.as_file(resources.files("prism_mt") / "assets/configs/finetune-mqm.toml") as path:
        found = load_finetune_config(path)
        assert found.train == (path.parent / "pairs" / "train.jsonl",)
        assert "--non-translation 5" in path.read_text(encoding="utf-8")
    assert (found.model, found.ranking) == ("mini", Ranking())
    assert (found.dropout, found.precision) == (0.1, "auto")
    assert (found.limits, found.checkpoints.export) == (Limits(epochs=1.0), "last")
    assert (found.optimizer.learning_rate, found.optimizer.clip) == (1e-4, 1.2)


def test_small_models_keep_better_outputs_likely() -> None:
    with resources.as_file(resources.files("prism_mt") / "assets/configs/finetune-mini.toml") as path:
        found = load_finetune_config(path)
    assert (found.name, found.model) == ("my-mini-ft", "mini")
    assert (found.ranking.preferred, found.ranking.across) == (0.02, 0.3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ranking": lambda: Ranking(0.0, False, False)}, "every term of the loss is switched off"),
        ({"ranking": lambda: Ranking(across=-1.0)}, "across must be at least 0"),
        ({"limits": Limits}, "without a limit, training never ends"),
        ({"train": tuple}, "set train and valid to files of pairs"),
        ({"dropout": lambda: 1.5}, "dropout must be"),
        ({"schedule": lambda: Schedule("constant", 0, decay=0.2)}, "needs limits.steps"),
    ],
)
def test_configurations_that_make_no_sense(changes: dict[str, Callable[[], Any]], message: str) -> None:
    sensible = FinetuneConfig(
        name="made", train=(Path("train.jsonl"),), valid=(Path("valid.jsonl"),), limits=Limits(epochs=1.0)
    )
    with pytest.raises(PrismError, match=message):
        dataclasses.replace(sensible, **{name: make() for name, make in changes.items()})
