"""Low-rank adapters: what they compute, what they keep in memory, and what they leave behind."""

import numpy as np
import torch
from made import make_model
from torch import Tensor, nn

from prism_mt.models.network import Transformer, from_weights, to_weights
from prism_mt.training.ranking.adapters import AdaptedLinear, add_adapters, halve_frozen, merge_adapters
from prism_mt.training.ranking.config import Adapters

SOURCE, TARGET = torch.tensor([[20, 21, 22, 2]]), torch.tensor([[2, 5, 30, 31]])


def adapted_model() -> tuple[Transformer, Transformer]:
    """A model, and the same one with adapters that do something."""
    model = make_model()
    base, adapted = (from_weights(model.spec.architecture, model.weights) for _ in range(2))
    torch.manual_seed(1)
    add_adapters(adapted, Adapters(rank=2, scale=0.5))
    for name, parameter in adapted.named_parameters():
        if name.endswith(".up"):
            nn.init.normal_(parameter, std=0.1)
    return base, adapted


def test_every_linear_layer_and_nothing_else_is_trained() -> None:
    base, adapted = adapted_model()
    linear = {name for name, module in base.named_modules() if isinstance(module, nn.Linear)}
    trained = {name for name, parameter in adapted.named_parameters() if parameter.requires_grad}
    assert trained == {f"{name}.{part}" for name in linear for part in ("up", "down")}


def test_merged_weights_compute_the_same() -> None:
    base, adapted = adapted_model()
    before = adapted(SOURCE, TARGET)
    assert not torch.allclose(before, base(SOURCE, TARGET), atol=1e-2)
    merge_adapters(adapted)
    torch.testing.assert_close(adapted(SOURCE, TARGET), before, atol=1e-4, rtol=1e-4)
    assert to_weights(adapted).keys() == to_weights(base).keys()
    changed = {
        name for name, array in to_weights(base).items() if not np.array_equal(array, to_weights(adapted)[name])
    }
    assert changed == {f"{name}.weight" for name, module in base.named_modules() if isinstance(module, nn.Linear)}


def test_nothing_as_large_as_a_weight_is_made_for_the_gradient() -> None:
    layer = AdaptedLinear(nn.Linear(64, 48).requires_grad_(False), Adapters(rank=2))
    states = torch.randn(3, 64, requires_grad=True)
    kept: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        torch.autograd.backward(layer(states).sum())
    large = {tensor.data_ptr() for tensor in kept if tensor.numel() >= layer.linear.weight.numel()}
    assert large == {layer.linear.weight.data_ptr()}
    assert layer.linear.weight.grad is None


def test_frozen_weights_take_half_the_memory_and_trained_ones_stay() -> None:
    _, adapted = adapted_model()
    before = adapted(SOURCE, TARGET)
    halve_frozen(adapted, torch.bfloat16)
    for name, parameter in adapted.named_parameters():
        halved = name.endswith((".linear.weight", ".linear.bias"))
        assert parameter.dtype == (torch.bfloat16 if halved else torch.float32), name
    torch.testing.assert_close(adapted(SOURCE, TARGET), before, atol=0.2, rtol=0.05)
