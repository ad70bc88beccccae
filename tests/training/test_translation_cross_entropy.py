import math

import pytest
import torch
import torch.nn.functional as F

from prism_mt.training.translation.cross_entropy import projected_cross_entropy, sample_types


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("rows", [5, 1100])
def test_agrees_with_torch(smoothing: float, with_bias: bool, rows: int) -> None:
    torch.manual_seed(1)
    leaves = [torch.randn(rows, 6, dtype=torch.float64), torch.randn(11, 6, dtype=torch.float64)]
    leaves += [torch.randn(11, dtype=torch.float64)] if with_bias else []
    targets = torch.randint(0, 11, (rows,))
    expected_leaves = [leaf.clone().requires_grad_() for leaf in leaves]
    logits = F.linear(*expected_leaves)
    expected = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    wanted = torch.autograd.grad(expected * 0.25, expected_leaves)
    found_leaves = [leaf.float().requires_grad_() for leaf in leaves]
    bias = found_leaves[2] if with_bias else None
    loss, likelihood = projected_cross_entropy(found_leaves[0], found_leaves[1], bias, targets, smoothing)
    gradients = torch.autograd.grad(loss * 0.25, found_leaves)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    assert likelihood.item() == pytest.approx(F.cross_entropy(logits, targets, reduction="sum").item(), rel=1e-5)
    for found, gradient in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(found.double(), gradient, rtol=1e-4, atol=1e-5)


def test_by_hand() -> None:
    # Logits 0 and ln 3: probabilities 1/4 and 3/4.
    states, weight = torch.tensor([[1.0]]), torch.tensor([[0.0], [math.log(3)]])
    loss, likelihood = projected_cross_entropy(states, weight, None, torch.tensor([0]), 0.2)
    assert likelihood.item() == pytest.approx(math.log(4))
    assert loss.item() == pytest.approx(0.9 * math.log(4) + 0.1 * math.log(4 / 3))


def test_a_hopeless_target_has_a_finite_loss() -> None:
    states, weight = torch.tensor([[1.0]], requires_grad=True), torch.tensor([[0.0], [500.0]])
    loss, _ = projected_cross_entropy(states, weight, None, torch.tensor([0]))
    assert math.isfinite(loss.item())
    assert torch.autograd.grad(loss, states)[0].item() == pytest.approx(500.0)


def test_mixed_precision_is_close() -> None:
    torch.manual_seed(2)
    states, weight = torch.randn(20, 16, requires_grad=True), torch.randn(30, 16, requires_grad=True)
    targets = torch.randint(0, 30, (20,))
    exact, _ = projected_cross_entropy(states, weight, None, targets, 0.1)
    gradient = torch.autograd.grad(exact, weight)[0]
    with torch.autocast("cpu", torch.bfloat16):
        rough, _ = projected_cross_entropy(states, weight, None, targets, 0.1)
    found = torch.autograd.grad(rough, weight)[0]
    assert rough.item() == pytest.approx(exact.item(), rel=0.02)
    assert found.dtype == torch.float32
    assert F.cosine_similarity(found.flatten(), gradient.flatten(), 0).item() > 0.999


def test_sampled_types_by_hand() -> None:
    torch.manual_seed(3)
    weight, bias, targets = torch.randn(50, 4), torch.randn(50), torch.tensor([7, 3, 7, 9])
    rows, corrected, places = sample_types(weight, bias, targets, 10)
    assert corrected is not None
    assert torch.equal(rows[places], weight[targets])
    assert torch.equal(corrected[places], bias[targets])
    drawn = [int((weight == row).all(1).nonzero()) for row in rows[3:]]
    assert len(set(drawn)) == 10
    assert not {3, 7, 9} & set(drawn)
    torch.testing.assert_close(corrected[3:], bias[drawn] + math.log(47 / 10))
    without = sample_types(weight, None, targets, 10)[1]
    assert without is not None
    assert without.tolist() == pytest.approx([0.0] * 3 + [math.log(4.7)] * 10)


def test_a_sample_as_large_as_the_vocabulary_is_the_full_softmax() -> None:
    weight, targets = torch.randn(20, 4), torch.tensor([1, 2])
    rows, bias, places = sample_types(weight, None, targets, 18)
    assert rows is weight
    assert bias is None
    assert places is targets


def test_the_sampled_sum_of_exponentials_is_right_on_average() -> None:
    torch.manual_seed(4)
    states, weight, targets = torch.randn(1, 8), torch.randn(200, 8) * 0.5, torch.tensor([5])
    full = F.linear(states, weight).exp().sum().item()
    sums = []
    for _ in range(2000):
        rows, bias, _ = sample_types(weight, None, targets, 20)
        sums.append(F.linear(states, rows, bias).exp().sum().item())
    assert sum(sums) / len(sums) == pytest.approx(full, rel=0.03)


def test_only_sampled_rows_get_a_gradient() -> None:
    torch.manual_seed(5)
    weight = torch.randn(40, 4, requires_grad=True)
    rows, bias, places = sample_types(weight, None, torch.tensor([0, 1]), 5)
    loss, _ = projected_cross_entropy(torch.randn(2, 4), rows, bias, places)
    [gradient] = torch.autograd.grad(loss, weight)
    assert int((gradient.abs().sum(1) > 0).sum()) == 7
    assert gradient[:2].abs().sum(1).min() > 0
