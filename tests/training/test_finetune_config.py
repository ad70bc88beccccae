"""Configurations of fine-tuning."""

import dataclasses
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.training.config import Limits, Optimiser, Schedule
from prism_mt.training.finetune_config import FinetuneConfig, Ranking, load_finetune_config


def test_the_configuration_that_comes_along() -> None:
    with resources.as_file(resources.files("prism_mt") / "assets/configs/finetune-mqm.toml") as path:
        found = load_finetune_config(path)
        assert found.train == (path.parent / "pairs" / "train.jsonl",)
    assert (found.model, found.ranking) == ("mini", Ranking())
    assert (found.optimiser.learning_rate, found.optimiser.clip) == (1e-4, 1.2)


def test_small_models_keep_better_outputs_likely() -> None:
    with resources.as_file(resources.files("prism_mt") / "assets/configs/finetune-mini.toml") as path:
        found = load_finetune_config(path)
    assert (found.name, found.model) == ("mini-ft", "mini")
    assert (found.ranking.preferred, found.ranking.across) == (0.02, 0.3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ranking": Ranking(0.0, False, False)}, "every term of the loss is switched off"),
        ({"ranking": Ranking(across=-1.0)}, "must not be negative"),
        ({"limits": Limits()}, "without limits training never ends"),
        ({"limits": Limits(steps=-1)}, "limits must not be negative"),
        ({"optimiser": Optimiser(learning_rate=-1.0)}, "must not be negative"),
        ({"schedule": Schedule(warmup=-1)}, "warmup must not be negative"),
        ({"train": ()}, "name files of pairs"),
        ({"dropout": 1.0}, "dropout must be"),
        ({"schedule": Schedule("constant", 0, decay=0.2), "limits": Limits(epochs=1)}, "needs limits.steps"),
    ],
)
def test_configurations_that_make_no_sense(changes: dict[str, Any], message: str) -> None:
    sensible = FinetuneConfig("made", (Path("train.jsonl"),), (Path("valid.jsonl"),))
    with pytest.raises(PrismError, match=message):
        dataclasses.replace(sensible, **changes)
