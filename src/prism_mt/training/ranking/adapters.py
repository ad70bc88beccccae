"""Low-rank adapters: a frozen model learns only small matrices, whose products are finally merged into its weights."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prism_mt.training.ranking.config import Adapters


class AdaptedLinear(nn.Module):
    """A frozen linear layer plus scale · up · down; `up` starts at zero, so that nothing changes before training.

    The weights are never summed during training: that would take as much memory as training all of them.
    """

    def __init__(self, linear: nn.Linear, adapters: Adapters) -> None:
        super().__init__()
        weight, rank = linear.weight, adapters.rank
        self.linear, self.scale = linear, adapters.scale
        self.down = nn.Parameter(weight.new_empty(rank, weight.shape[1]).normal_(std=weight.shape[1] ** -0.5))
        self.up = nn.Parameter(weight.new_zeros(weight.shape[0], rank))

    def forward(self, states: Tensor) -> Tensor:
        """(…, input width) → (…, output width)."""
        frozen: Tensor = self.linear(states.to(self.linear.weight.dtype))
        return frozen + self.scale * F.linear(F.linear(states, self.down), self.up)

    def merged(self) -> nn.Linear:
        """The linear layer with the adapted weight."""
        with torch.no_grad():
            self.linear.weight += self.scale * (self.up @ self.down)
        return self.linear


def add_adapters(model: nn.Module, adapters: Adapters) -> None:
    """Freeze a model and add an adapter to every linear layer."""
    model.requires_grad_(False)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear):
                setattr(parent, name, AdaptedLinear(child, adapters))


def halve_frozen(model: nn.Module, dtype: torch.dtype) -> None:
    """Keep the frozen weights of adapted layers in half precision, in which they are multiplied anyway."""
    for module in model.modules():
        if isinstance(module, AdaptedLinear):
            module.linear.to(dtype)


def merge_adapters(model: nn.Module) -> None:
    """Merge the adapters into the model's weights, under their canonical names."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, AdaptedLinear):
                setattr(parent, name, child.merged())
