"""Optimizers."""

import dataclasses
from pathlib import Path

import pytest
import torch
from torch import nn

from prism_mt._core.errors import PrismError
from prism_mt.training.config import Limits, Optimizer
from prism_mt.training.distributed import World
from prism_mt.training.loop import Loop
from prism_mt.training.optimizer import make_optimizers
from prism_mt.training.translation.config import TrainConfig
from prism_mt.training.translation.objective import TranslationObjective

ALONE = World(0, 1, torch.device("cpu"))
needs_muon = pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="needs torch 2.9")


def run(config: TrainConfig, steps: int) -> Loop:
    config = dataclasses.replace(
        config, optimizer=Optimizer("muon", learning_rate=1e-2), limits=Limits(steps=steps)
    )
    loop = Loop(TranslationObjective(config, ALONE), config, ALONE)
    loop.run()
    return loop


def names_of(optimizer: torch.optim.Optimizer, module: nn.Module) -> set[str]:
    places = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    return {name for name, parameter in module.named_parameters() if id(parameter) in places}


@needs_muon
def test_muon_takes_the_matrices_inside_layers(toy_config: TrainConfig) -> None:
    module = TranslationObjective(toy_config, ALONE).module
    adam, muon = make_optimizers(module, Optimizer("muon"))
    matrices = {name for name, p in module.named_parameters() if ".layers." in name and p.dim() == 2}
    assert names_of(muon, module) == matrices
    assert names_of(adam, module) == {name for name, _ in module.named_parameters()} - matrices
    assert len(make_optimizers(module, Optimizer("adam"))) == 1


@needs_muon
def test_a_run_with_muon_resumes_exactly_and_learns(toy_config: TrainConfig, tmp_path: Path) -> None:
    whole = run(dataclasses.replace(toy_config, output=tmp_path / "whole"), 10)
    run(toy_config, 6)
    resumed = run(toy_config, 10)
    for name, tensor in whole.objective.weights().items():
        assert torch.equal(tensor, resumed.objective.weights()[name]), name
    assert whole.progress.best > -3.7  # about ln 60 = 4.1 before


def test_another_optimizer_is_another_run(toy_config: TrainConfig) -> None:
    config = dataclasses.replace(toy_config, limits=Limits(steps=1))
    Loop(TranslationObjective(config, ALONE), config, ALONE).run()
    with pytest.raises(PrismError, match=r"other settings \(optimizer\)"):
        run(toy_config, 2)


def test_decay_spares_norms_biases_and_embeddings(toy_config: TrainConfig) -> None:
    module = TranslationObjective(toy_config, ALONE).module
    [adam] = make_optimizers(module, Optimizer(weight_decay=0.1))
    decayed = {id(p) for p in adam.param_groups[0]["params"]}
    for name, parameter in module.named_parameters():
        spared = parameter.dim() == 1 or "embedding" in name
        assert (id(parameter) in decayed) != spared, name
