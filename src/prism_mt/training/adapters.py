"""Low-rank adapters: a frozen model learns only small matrices, whose products are added to its weights."""

from torch import Tensor, nn
from torch.nn.utils import parametrize

from prism_mt.models.network import Transformer
from prism_mt.training.finetune_config import Adapters


class LowRank(nn.Module):
    """weight + scale · up · down; `up` starts as zero, so that nothing changes before training."""

    def __init__(self, weight: Tensor, rank: int, scale: float) -> None:
        super().__init__()
        self.scale = scale
        self.down = nn.Parameter(weight.new_empty(rank, weight.shape[1]).normal_(std=weight.shape[1] ** -0.5))
        self.up = nn.Parameter(weight.new_zeros(weight.shape[0], rank))

    def forward(self, weight: Tensor) -> Tensor:
        """The adapted weight."""
        return weight + self.scale * (self.up @ self.down)


def add_adapters(model: Transformer, adapters: Adapters) -> None:
    """Freeze a model and give every linear layer an adapter."""
    model.requires_grad_(False)
    for module in list(model.modules()):
        if isinstance(module, nn.Linear):
            added = LowRank(module.weight, adapters.rank, adapters.scale)
            parametrize.register_parametrization(module, "weight", added)


def merge_adapters(model: Transformer) -> None:
    """Make the adapted weights the model's own, under their canonical names."""
    for module in model.modules():
        if parametrize.is_parametrized(module):
            parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)
