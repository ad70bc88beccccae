"""Adam, set up for speed."""

from typing import Any

import torch
from torch import nn

from prism_mt.training.config import Optimizer


def make_optimizer(module: nn.Module, settings: Optimizer) -> torch.optim.Optimizer:
    """Fused Adam; weight decay, where asked for, spares norms, biases and embeddings."""
    decayed: list[nn.Parameter] = []
    spared: list[nn.Parameter] = []
    for name, parameter in module.named_parameters():
        matrix = parameter.dim() > 1 and "embedding" not in name and "positions" not in name
        (decayed if matrix else spared).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": spared, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups, lr=settings.learning_rate, betas=(settings.beta1, settings.beta2), eps=settings.epsilon, fused=True
    )


def restore(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Go on with the moments of a checkpoint, but with the settings of now, which may have been changed."""
    settings = [{key: group[key] for key in ("betas", "eps", "weight_decay")} for group in optimizer.param_groups]
    optimizer.load_state_dict(state)
    for group, ours in zip(optimizer.param_groups, settings, strict=True):
        group.update(ours)
