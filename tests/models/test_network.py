import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from made import TINY
from scipy.special import erf

from prism_mt._core.errors import PrismError
from prism_mt.models.network import Transformer, from_weights, to_weights
from prism_mt.models.spec import Architecture, sinusoids, weight_shapes

VARIANTS: dict[str, dict[str, Any]] = {
    "pre": {},
    "post": {"norm": "post", "final_norm": False},
    "bart": {
        "norm": "post",
        "final_norm": False,
        "embedding_norm": True,
        "positions": "learned",
        "activation": "gelu",
    },
    "m2m": {"activation": "swish", "scaled_embedding": False, "norm_epsilon": 1e-3},
    "untied": {"tied_embeddings": False, "tied_output": False, "target_vocabulary": 9, "output_bias": True},
    "marian": {"positions": "marian", "position_offset": 0, "output_bias": True},
}


def variant(name: str) -> Transformer:
    torch.manual_seed(7)
    model = Transformer(dataclasses.replace(TINY, **VARIANTS[name])).eval()
    with torch.no_grad():  # norms and biases start as 1 and 0, which would hide mistakes
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model


def numpy_logits(a: Architecture, w: dict[str, Any], source: list[int], target: list[int]) -> Any:
    """The whole model for one unpadded sentence pair, in float64, written independently."""

    def norm(x: Any, name: str) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt((centered**2).mean(-1, keepdims=True) + a.norm_epsilon)
        return centered / deviation * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def attention(x: Any, context: Any, name: str, heads: int, causal: bool) -> Any:
        q, k, v = linear(x, f"{name}.query"), linear(context, f"{name}.key"), linear(context, f"{name}.value")
        size = a.width // heads
        columns = []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            scores = q[:, part] @ k[:, part].T / np.sqrt(size)
            if causal:
                scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            columns.append(weights / weights.sum(-1, keepdims=True) @ v[:, part])
        return linear(np.concatenate(columns, axis=1), f"{name}.output")

    def activation(x: Any) -> Any:
        if a.activation == "relu":
            return np.maximum(x, 0)
        return x * (1 + erf(x / np.sqrt(2))) / 2 if a.activation == "gelu" else x / (1 + np.exp(-x))

    def sublayer(x: Any, name: str, function: Any) -> Any:
        return x + function(norm(x, name)) if a.norm == "pre" else norm(x + function(x), name)

    def stack(ids: list[int], side: str, table: Any, heads: int, layers: int, memory: Any) -> Any:
        positions = w[f"{side}.positions.weight"] if a.positions == "learned" else sinusoids(a)
        x = table[ids] * (np.sqrt(a.width) if a.scaled_embedding else 1) + positions[: len(ids)]
        if a.embedding_norm:
            x = norm(x, f"{side}.embedding_norm")
        for index in range(layers):
            n = f"{side}.layers.{index}"
            causal = memory is not None
            own = f"{n}.self_attention"
            x = sublayer(x, f"{own}_norm", lambda y: attention(y, y, own, heads, causal))  # noqa: B023
            if causal:
                cross = f"{n}.cross_attention"
                x = sublayer(x, f"{cross}_norm", lambda y: attention(y, memory, cross, heads, False))  # noqa: B023
            inner, outer = f"{n}.feed_forward.inner", f"{n}.feed_forward.outer"
            x = sublayer(x, f"{n}.feed_forward_norm", lambda y: linear(activation(linear(y, inner)), outer))  # noqa: B023
        return norm(x, f"{side}.final_norm") if a.final_norm else x

    shared = w["encoder.embedding.weight"]
    decoder_table = shared if a.tied_embeddings else w["decoder.embedding.weight"]
    memory = stack(source, "encoder", shared, a.encoder_heads, a.encoder_layers, None)
    states = stack(target, "decoder", decoder_table, a.decoder_heads, a.decoder_layers, memory)
    logits = states @ (decoder_table if a.tied_output else w["output.weight"]).T
    return logits + w["output.bias"] if a.output_bias else logits


@pytest.mark.parametrize("name", VARIANTS)
def test_agrees_with_numpy(name: str) -> None:
    model = variant(name)
    weights = {key: value.astype(np.float64) for key, value in to_weights(model).items()}
    source, target = [4, 5, 6, 7, 2], [2, 8, 4, 3]
    expected = numpy_logits(model.architecture, weights, source, target)
    with torch.no_grad():
        logits = model.project(model(torch.tensor([source]), torch.tensor([target])))[0]
    np.testing.assert_allclose(logits.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", VARIANTS)
def test_parameter_names_are_canonical(name: str) -> None:
    model = variant(name)
    expected = dict(weight_shapes(model.architecture))
    assert {key: tuple(value.shape) for key, value in model.state_dict().items()} == expected
    assert {key for key, _ in model.named_parameters()} == set(expected)


@pytest.mark.parametrize("name", VARIANTS)
def test_weights_go_out_and_in(name: str) -> None:
    model = variant(name)
    again = from_weights(model.architecture, to_weights(model))
    source, target = torch.tensor([[4, 5, 2]]), torch.tensor([[2, 8]])
    assert not again.training
    assert torch.equal(model(source, target), again(source, target))


def test_weights_that_do_not_fit_are_named() -> None:
    weights = to_weights(variant("pre"))
    del weights["encoder.layers.1.feed_forward.inner.bias"]
    with pytest.raises(PrismError, match=r"missing encoder.layers.1.feed_forward.inner.bias"):
        from_weights(TINY, weights)


@pytest.mark.parametrize("name", ["pre", "bart"])
def test_padding_changes_nothing(name: str) -> None:
    model = variant(name)
    with torch.no_grad():
        alone = model(torch.tensor([[4, 5, 2]]), torch.tensor([[2, 8]]))
        source = torch.tensor([[4, 5, 2, 1, 1], [6, 7, 8, 9, 2]])
        together = model(source, torch.tensor([[2, 8, 1], [2, 4, 5]]), source == 1)
    # Sums of another shape are rounded differently in float32.
    torch.testing.assert_close(together[:1, :2], alone, rtol=1e-5, atol=3e-6)


def test_later_tokens_are_not_seen() -> None:
    model = variant("pre")
    source = torch.tensor([[4, 5, 2]])
    one, other = model(source, torch.tensor([[2, 8, 4]])), model(source, torch.tensor([[2, 8, 9]]))
    torch.testing.assert_close(one[:, :2], other[:, :2])
    assert not torch.allclose(one[:, 2], other[:, 2])


def test_too_long_a_text_is_an_error() -> None:
    with pytest.raises(PrismError, match="21 tokens is longer than this model's limit of 20"):
        variant("pre").encode(torch.full((1, 21), 4))


def test_dropout_only_in_training() -> None:
    torch.manual_seed(1)
    model = Transformer(TINY, dropout=0.5)
    source, target = torch.tensor([[4, 5, 2]]), torch.tensor([[2, 8]])
    assert not torch.equal(model.train()(source, target), model(source, target))
    assert torch.equal(model.eval()(source, target), model(source, target))


def test_initialization() -> None:
    model = Transformer(dataclasses.replace(TINY, width=64, source_vocabulary=2000, target_vocabulary=2000))
    table = model.source_embedding
    assert torch.equal(table[1], torch.zeros(64))
    assert table.std().item() == pytest.approx(64**-0.5, rel=0.02)
    parameters = dict(model.named_parameters())
    assert parameters["encoder.layers.0.self_attention.query.weight"].abs().max().item() <= (6 / 128) ** 0.5
    assert not parameters["encoder.layers.0.self_attention.query.bias"].any()


def test_a_language_model_is_refused() -> None:
    with pytest.raises(PrismError, match="this is a language model"):
        from_weights(dataclasses.replace(TINY, encoder_layers=0), {})


@pytest.mark.parametrize("name", VARIANTS)
def test_attention_in_training_is_that_of_scoring(name: str) -> None:
    model = variant(name)
    source, target = torch.tensor([[4, 5, 6, 2], [7, 2, 1, 1]]), torch.tensor([[2, 4, 5], [2, 6, 1]])
    padding = source == 1
    trained = model(source, target, padding)
    assert trained.requires_grad
    with torch.no_grad():
        scored = model(source, target, padding)
    torch.testing.assert_close(trained, scored, atol=1e-5, rtol=1e-5)
