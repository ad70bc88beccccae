"""Products in 8 bits: exact, close to float32, and the same for a row whatever stands beside it."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from prism_mt._core.environment import has_int8
from prism_mt.engines import quantized
from prism_mt.engines.quantized import QuantizedLinear, QuantizedNormalizer, QuantizedProduct, has_packed, quantize

needs_vnni = pytest.mark.skipif(not has_int8(), reason="this processor has no 8-bit products of its own")


@pytest.fixture(params=[pytest.param(True, marks=needs_vnni), False], ids=["packed", "plain"], autouse=True)
def packed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With oneDNN's product, and with the plain one that takes its place."""
    if request.param and not has_packed():
        pytest.skip("this torch has no 8-bit product")
    monkeypatch.setattr(quantized, "has_packed", lambda: request.param)
    return bool(request.param)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_states_have_a_scale_per_row() -> None:
    numbers, scales = quantize(torch.tensor([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0], [-254.0, 3.0, 127.0]]))
    assert numbers.dtype == torch.uint8
    assert numbers.tolist() == [[128 + 64, 1, 128 + 32], [128, 128, 128], [1, 128 + 2, 128 + 64]]
    torch.testing.assert_close(scales[[0, 2], 0], torch.tensor([2 / 127, 2.0]))


@pytest.mark.parametrize("rows", [1, 17, 300])
@pytest.mark.parametrize("shape", [(24, 40), (7, 33), (1152, 1536)])
def test_products_are_exact_even_at_the_limits(rows: int, shape: tuple[int, int]) -> None:
    outputs, inputs = shape
    weight = 127 * normal(outputs, inputs).sign()
    states = 127 * normal(rows, inputs, seed=1).sign()
    states[0] = 127 * weight[0].sign()  # the largest sum that there can be
    numbers, scales = quantize(states)
    wanted = (states.double() @ weight.double().T).float()
    torch.testing.assert_close(QuantizedProduct(weight)(numbers) * scales, wanted, rtol=1e-6, atol=0.5)


@pytest.mark.parametrize("activation", ["none", "relu", "gelu", "swish"])
def test_a_layer_is_close_to_float32(activation: Any) -> None:
    weight, bias, states = normal(48, 64), normal(48, seed=1), normal(5000, 64, seed=2)
    plain = {"none": torch.clone, "relu": torch.relu, "gelu": F.gelu, "swish": F.silu}
    wanted = plain[activation](F.linear(states, weight, bias))
    found = QuantizedLinear(weight, bias)(states, activation)
    assert 1e-4 < (found - wanted).abs().mean() / wanted.std() < 0.02
    residual = normal(5000, 48, seed=3)
    torch.testing.assert_close(
        QuantizedLinear(weight, bias)(states, residual=residual), QuantizedLinear(weight, bias)(states) + residual
    )


def test_a_row_does_not_depend_on_the_others() -> None:
    weight, states = normal(96, 64), normal(700, 64, seed=2)
    states[5] *= 1000
    layer = QuantizedLinear(weight, None)
    together = layer(states)
    for row in (0, 5, 511, 699):
        assert torch.equal(layer(states[row : row + 1])[0], together[row])


@pytest.mark.parametrize("with_bias", [True, False])
def test_log_probabilities(with_bias: bool) -> None:
    weight, states = normal(2500, 32) / 4, 2 * normal(300, 32, seed=1)
    bias = normal(2500, seed=2) if with_bias else None
    tokens = torch.arange(300) * 8
    wanted = F.linear(states, weight, bias).div(0.8).log_softmax(1).gather(1, tokens[:, None])[:, 0]
    found = QuantizedNormalizer(weight, bias, 0.8)(states, tokens)
    assert 1e-5 < (found - wanted).abs().mean() < 0.03
    assert found.max() <= 0


def test_a_certain_token_loses_nothing() -> None:
    weight = torch.eye(64)
    states = 40 * weight[:8] + 0.1 * normal(8, 64)
    found = QuantizedNormalizer(weight, None, 1.0)(states, torch.arange(8))
    assert found.abs().max() < 1e-6


def test_an_impossible_token_is_finite() -> None:
    weight = torch.eye(64)
    states = 400 * weight[:8]
    found = QuantizedNormalizer(weight, None, 1.0)(states, torch.arange(8) + 1)
    torch.testing.assert_close(found, torch.full((8,), -400.0), rtol=1e-3, atol=0)
