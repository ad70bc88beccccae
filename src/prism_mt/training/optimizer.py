"""Adam, tuned for speed, and Muon."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from prism_mt._core.errors import PrismError
from prism_mt.training.config import Optimizer


def make_optimizers(module: nn.Module, settings: Optimizer) -> list[torch.optim.Optimizer]:
    """Make fused Adam and, if requested, Muon for the matrices inside layers; frozen weights are left out.

    Weight decay exempts norms, biases and embeddings.
    """
    inner: list[nn.Parameter] = []
    decayed: list[nn.Parameter] = []
    spared: list[nn.Parameter] = []
    for name, parameter in module.named_parameters():
        matrix = parameter.dim() > 1 and "embedding" not in name and "positions" not in name
        if not parameter.requires_grad:
            continue
        if settings.kind == "muon" and parameter.dim() == 2 and ".layers." in name:
            inner.append(parameter)
        else:
            (decayed if matrix else spared).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": spared, "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(
        groups, lr=settings.learning_rate, betas=(settings.beta1, settings.beta2), eps=settings.epsilon, fused=True
    )
    return [adam, _muon(inner, settings)] if inner else [adam]


def _muon(parameters: Sequence[nn.Parameter], settings: Optimizer) -> torch.optim.Optimizer:
    """Muon with updates of the same size as Adam's, so that one learning rate serves both."""
    if not hasattr(torch.optim, "Muon"):
        raise PrismError('optimizer.kind = "muon" needs torch 2.9 or newer')
    return torch.optim.Muon(
        parameters,
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        adjust_lr_fn="match_rms_adamw",
    )


def restore(optimizers: Sequence[torch.optim.Optimizer], states: Sequence[dict[str, Any]]) -> None:
    """Restore the moments of a checkpoint, but keep the current settings, which may have changed."""
    for optimizer, state in zip(optimizers, states, strict=True):
        ours = [{key: group[key] for key in group if key != "params"} for group in optimizer.param_groups]
        optimizer.load_state_dict(state)
        for group, settings in zip(optimizer.param_groups, ours, strict=True):
            group.update(settings)
