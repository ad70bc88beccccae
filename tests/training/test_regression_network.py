import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")


from prism_mt.metrics.learned_network import KINDS, Kind, network_shapes  # noqa: E402
from prism_mt.metrics.learned_network import RegressionNetwork as Scoring  # noqa: E402
from prism_mt.metrics.learned_network import cut as cut_text  # noqa: E402
from prism_mt.training.regression.network import (  # noqa: E402
    BiLSTM,
    LayerMix,
    RegressionNetwork,
    VariationalDropout,
    attend,
    max_pool,
    mean_pool,
    pad,
)

Array = Any


def softmax(values: Array, axis: int) -> Array:
    powers = np.exp(values - values.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def plain_attention(one: Array, other: Array) -> tuple[Array, Array]:
    """The equations, piece by piece, for one pair of unpadded texts."""
    products = one @ other.T
    return (
        np.stack([sum(w * h for w, h in zip(softmax(row, 0), other, strict=True)) for row in products]),
        np.stack([sum(w * h for w, h in zip(softmax(row, 0), one, strict=True)) for row in products.T]),
    )


def plain_score(network: RegressionNetwork, translation: Array, reference: Array) -> float:
    """The paper's equations for one pair (layers × pieces × width each); the LSTMs alone are torch's."""
    weights = {name: value.detach().double().numpy() for name, value in network.state_dict().items()}

    def read(lstm: BiLSTM, vectors: Array) -> Array:
        with torch.no_grad():
            return lstm.lstm(torch.tensor(vectors, dtype=torch.float32)[None])[0][0].double().numpy()

    mix = weights["mix.scale"] * softmax(weights["mix.weight"], 0)
    t, r = (read(network.encoder, np.tensordot(mix, side, 1)) for side in (translation, reference))
    if network.kind == "esim":
        composed = []
        for own, other in zip((t, r), plain_attention(t, r), strict=True):
            m = np.concatenate([own, other, own * other, own - other], axis=1)
            projected = np.maximum(m @ weights["projection.weight"].T + weights["projection.bias"], 0)
            composed.append(read(network.composition, projected))
        t, r = composed
        features = np.concatenate([r.mean(0), r.max(0), t.mean(0), t.max(0)])
    else:
        if network.kind == "bilstm-attention":
            t, r = plain_attention(t, r)
        v_t, v_r = (np.concatenate([side.max(0), side.mean(0)]) for side in (t, r))
        features = np.concatenate([v_t, v_r, v_t * v_r, v_t - v_r])
    inner = np.maximum(weights["inner.weight"] @ features + weights["inner.bias"], 0)
    return float(weights["outer.weight"][0] @ inner + weights["outer.bias"][0])


def make_network(kind: Kind) -> RegressionNetwork:
    torch.manual_seed(7)
    network = RegressionNetwork(kind, layers=3, width=5, hidden=4)
    with torch.no_grad():
        network.mix.weight.copy_(torch.tensor([0.3, -1.0, 0.8]))
        network.mix.scale.fill_(1.5)
    return network.eval()


def texts(*lengths: int) -> list[Array]:
    generator = np.random.default_rng(1)
    return [generator.normal(size=(3, length, 5)).astype(np.float32) for length in lengths]


def score(network: RegressionNetwork, hypotheses: list[Array], references: list[Array], limit: int = 100) -> Any:
    (t, t_mask), (r, r_mask) = pad(hypotheses, limit), pad(references, limit)
    return network(t, r, t_mask, r_mask)


@pytest.mark.parametrize("kind", KINDS)
def test_every_equation_in_a_padded_batch(kind: Kind) -> None:
    network = make_network(kind)
    hypotheses, references = texts(4, 1, 6), texts(2, 7, 3)
    expected = [plain_score(network, *pair) for pair in zip(hypotheses, references, strict=True)]
    assert score(network, hypotheses, references).tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_never_changes_a_score(kind: Kind) -> None:
    network = make_network(kind)
    (t, t_mask), (r, r_mask) = pad(texts(4), 100), pad(texts(3), 100)
    alone = network(t, r, t_mask, r_mask)
    rubbish = torch.full((1, 3, 5, 5), 9.0)
    no = torch.zeros(1, 5, dtype=torch.bool)
    padded = network(
        torch.cat([t, rubbish], 2),
        torch.cat([r, rubbish], 2),
        torch.cat([t_mask, no], 1),
        torch.cat([r_mask, no], 1),
    )
    assert padded.tolist() == pytest.approx(alone.tolist(), abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind: Kind) -> None:
    """Analytic against numeric gradients of some entries of every parameter, in float64."""
    network = make_network(kind).double()
    (t, t_mask), (r, r_mask) = pad(texts(4, 2), 100), pad(texts(3, 5), 100)

    def loss() -> Any:
        return network(t.double(), r.double(), t_mask, r_mask).square().sum()

    loss().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        flat, gradient = parameter.data.view(-1), parameter.grad.view(-1)
        for place in {0, len(flat) // 2, len(flat) - 1}:
            kept = float(flat[place])
            values = []
            for change in (1e-6, -1e-6):
                flat[place] = kept + change
                values.append(loss().item())
            flat[place] = kept
            assert float(gradient[place]) == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-6), name


def test_pooling_and_attention_by_hand() -> None:
    states = torch.tensor([[[1.0, -4.0], [3.0, -2.0], [99.0, 99.0]]])
    mask = torch.tensor([[True, True, False]])
    assert mean_pool(states, mask).tolist() == [[2.0, -3.0]]
    assert max_pool(states, mask).tolist() == [[3.0, -2.0]]
    # One piece of the other side is real: all attention goes there. Its products with 1 and 3 are 1 and 3.
    other = torch.tensor([[[1.0, 0.0], [50.0, 0.0]]])
    to_other, to_one = attend(states, other, mask, torch.tensor([[True, False]]))
    assert to_other[0, :2].tolist() == [[1.0, 0.0], [1.0, 0.0]]
    share = math.exp(1) / (math.exp(1) + math.exp(3))
    assert to_one[0, 0].tolist() == pytest.approx([share + 3 * (1 - share), -4 * share - 2 * (1 - share)])


def test_layers_are_mixed_and_lstms_start_as_published() -> None:
    mix = LayerMix(2)
    with torch.no_grad():
        mix.weight.copy_(torch.tensor([0.0, math.log(3)]))
    layers = torch.tensor([[[[4.0]], [[8.0]]]])
    assert mix(layers).item() == pytest.approx(0.25 * 4 + 0.75 * 8)
    with torch.no_grad():
        mix.scale.fill_(0.5)
    assert mix(layers).item() == pytest.approx(0.5 * (0.25 * 4 + 0.75 * 8))
    lstm: Any = BiLSTM(6, 4).lstm
    assert (lstm.bias_ih_l0 + lstm.bias_hh_l0).tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 8
    assert torch.allclose(lstm.weight_hh_l0.T @ lstm.weight_hh_l0, torch.eye(4), atol=1e-5)
    assert lstm.weight_ih_l0.abs().max().item() <= math.sqrt(6 / (6 + 16))


@pytest.mark.parametrize("kind", KINDS)
def test_linear_layers_start_as_published(kind: Kind) -> None:
    torch.manual_seed(1)
    network = RegressionNetwork(kind, layers=2, width=8, hidden=40)
    found = [module for module in network.modules() if isinstance(module, torch.nn.Linear)]
    assert len(found) == (3 if kind == "esim" else 2)
    for linear in found:
        bound = math.sqrt(6 / sum(linear.weight.shape))
        assert 0.9 * bound < linear.weight.abs().max().item() <= bound
        assert not linear.bias.any()


def test_variational_dropout_has_one_mask_per_text() -> None:
    torch.manual_seed(1)
    dropout = VariationalDropout(0.5)
    found = dropout(torch.ones(20, 3, 50))
    assert torch.equal(found, found[:, :1].expand_as(found))
    assert set(found.unique().tolist()) == {0.0, 2.0}
    assert not torch.equal(found[0], found[1])
    assert found.mean().item() == pytest.approx(1.0, abs=0.1)
    assert torch.equal(dropout.eval()(found), found)


def shares(before: Any, after: Any) -> set[float]:
    """What remains of numbers that are not zero."""
    real = before != 0
    return set((after[real] / before[real]).round(decimals=3).unique().tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_is_where_it_was_published(kind: Kind) -> None:
    """On the inputs of every LSTM, on the features, and after the ReLU; in training only."""
    torch.manual_seed(1)
    network = RegressionNetwork(kind, layers=3, width=5, hidden=60)
    lstms = [network.encoder, network.composition] if kind == "esim" else [network.encoder]
    inputs: list[tuple[Any, Any]] = []
    for lstm in lstms:
        lstm.dropout.register_forward_hook(lambda _, given, output: inputs.append((given[0], output)))
    dropped: list[tuple[Any, Any]] = []
    network.dropout.register_forward_hook(lambda _, given, output: dropped.append((given[0], output)))
    inner: list[Any] = []
    network.inner.register_forward_hook(lambda _, given, output: inner.append(output))
    score(network, texts(*[4] * 30), texts(*[5] * 30))
    assert len(inputs) == len(lstms)
    for before, after in [*inputs, *dropped]:
        assert shares(before, after) == {0.0, 2.0}
    features, hidden = dropped
    assert features[0].shape == (60 // 2, network.inner.in_features)
    assert torch.equal(hidden[0], inner[0].relu())
    network.eval()
    score(network, texts(4), texts(5))
    for before, after in [*inputs[len(lstms) :], *dropped[2:]]:
        assert shares(before, after) == {1.0}


@pytest.mark.parametrize("kind", KINDS)
def test_lstms_read_what_dropout_leaves(kind: Kind) -> None:
    """With everything but the biases dropped, texts cannot be told apart."""
    network = RegressionNetwork(kind, layers=3, width=5, hidden=6)
    for module in network.modules():
        if isinstance(module, VariationalDropout):
            module.p = 1.0
    network.dropout.eval()
    one, other = (score(network, [factor * text for text in texts(4)], texts(4)).item() for factor in (1, 3))
    assert one == other


def test_long_texts_are_cut_and_empty_ones_scored() -> None:
    network = make_network("esim")
    long, short, empty = (*texts(6, 2), np.zeros((3, 0, 5), np.float32))
    assert score(network, [long], [short], 4).tolist() == score(network, [long[:, :4]], [short]).tolist()
    assert score(network, [empty], [short]).isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
def test_scoring_without_torch_is_the_same_network(kind: Kind) -> None:
    network = make_network(kind)
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    assert {name: array.shape for name, array in weights.items()} == network_shapes(kind, 3, 5, 4)
    hypotheses, references = texts(4, 1, 6, 8), [*texts(2, 7, 3), np.zeros((3, 0, 5), np.float32)]
    scoring = Scoring(kind, weights)
    read = [scoring.read([cut_text(text, 5) for text in side]) for side in (hypotheses, references)]
    found = scoring.judge(list(zip(*read, strict=True)))
    np.testing.assert_allclose(found, score(network, hypotheses, references, 5).detach(), atol=1e-5)
