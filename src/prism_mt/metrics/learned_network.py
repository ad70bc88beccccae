"""The networks of Mathur et al. 2019, ready to score: numpy alone, so that a plain install runs them.

`prism_mt.training.regression.network` is the same in torch, for training; weights have its names. Shapes in comments:
L layers of the encoder, T pieces, D width of the encoder, H hidden units (2H in both directions).
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["bilstm", "bilstm-attention", "esim"]
KINDS: tuple[Kind, ...] = ("bilstm", "bilstm-attention", "esim")
Array = NDArray[np.float32]


def reads_twice(kind: Kind) -> bool:
    """Whether a network compares pieces before it pools them, and reads what comes of it once more."""
    return kind == "esim"


def network_shapes(kind: Kind, layers: int, width: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all weights of a network."""
    shapes: dict[str, tuple[int, ...]] = {"mix.weight": (layers,), "mix.scale": ()}
    shapes |= _lstm_shapes("encoder", width, hidden)
    if reads_twice(kind):
        shapes |= {"projection.weight": (hidden, 8 * hidden), "projection.bias": (hidden,)}
        shapes |= _lstm_shapes("composition", hidden, hidden)
    features = (8 if reads_twice(kind) else 16) * hidden
    return shapes | {
        "inner.weight": (hidden, features),
        "inner.bias": (hidden,),
        "outer.weight": (1, hidden),
        "outer.bias": (1,),
    }


def _lstm_shapes(name: str, width: int, hidden: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for direction in ("", "_reverse"):
        shapes[f"{name}.lstm.weight_ih_l0{direction}"] = (4 * hidden, width)
        shapes[f"{name}.lstm.weight_hh_l0{direction}"] = (4 * hidden, hidden)
        shapes[f"{name}.lstm.bias_ih_l0{direction}"] = (4 * hidden,)
        shapes[f"{name}.lstm.bias_hh_l0{direction}"] = (4 * hidden,)
    return shapes


class RegressionNetwork:
    """From the vectors of a translation and of its reference to one score."""

    def __init__(self, kind: Kind, weights: Mapping[str, Array]) -> None:
        self.kind, self.weights = kind, weights
        layers = weights["mix.weight"].astype(np.float32)
        shares = np.exp(layers - layers.max())
        self.mix: Array = weights["mix.scale"] * shares / shares.sum()

    def read(self, texts: Sequence[Array]) -> list[Array]:
        """What `judge` needs of each text, whatever it is compared with: (L, T, D) → (T, 2H)."""
        mixed = [np.einsum("l,ltd->td", self.mix, text).astype(np.float32) for text in texts]
        return run_lstm(self.weights, "encoder", mixed)

    def without_mix(self) -> "RegressionNetwork":
        """The same network for vectors that are the sum of all layers by `mix` already, (1, T, D)."""
        one: dict[str, Array] = {"mix.weight": np.zeros(1, np.float32), "mix.scale": np.ones((), np.float32)}
        return RegressionNetwork(self.kind, {**self.weights, **one})

    def judge(self, pairs: Sequence[tuple[Array, Array]]) -> Array:
        """Scores of translations and references as they were read, two (T, 2H) each."""
        if reads_twice(self.kind):
            features = self._compare_pieces(pairs)
        else:
            attended = [_attend(t, r) if self.kind == "bilstm-attention" else (t, r) for t, r in pairs]
            features = np.stack([_join(_pool_both(t), _pool_both(r)) for t, r in attended])
        hidden = np.maximum(self._linear("inner", features), 0)
        return self._linear("outer", hidden)[:, 0]

    def _compare_pieces(self, pairs: Sequence[tuple[Array, Array]]) -> Array:
        """ESIM: both sides enriched by what they attend to, read again, pooled; (pairs, 8H)."""
        enriched: list[Array] = []
        for t, r in pairs:
            for_t, for_r = _attend(t, r)
            enriched += [_join(t, for_t), _join(r, for_r)]
        lengths = np.cumsum([len(text) for text in enriched])[:-1]
        projected = np.maximum(self._linear("projection", np.concatenate(enriched)), 0)
        states = run_lstm(self.weights, "composition", np.split(projected, lengths))
        rows = [
            np.concatenate([r.mean(0), r.max(0), t.mean(0), t.max(0)])
            for t, r in zip(states[::2], states[1::2], strict=True)
        ]
        return np.stack(rows)

    def _linear(self, name: str, states: Array) -> Array:
        output: Array = states @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return output


def _pool_both(states: Array) -> Array:
    return np.concatenate([states.max(0), states.mean(0)])


def _join(one: Array, other: Array) -> Array:
    """Both, their product and their difference, side by side."""
    return np.concatenate([one, other, one * other, one - other], axis=-1)


def _attend(one: Array, other: Array) -> tuple[Array, Array]:
    """For each piece of either side a mean of the other side's states, weighted by a softmax of dot products."""
    products = one @ other.T
    return _softmax(products) @ other, _softmax(products.T) @ one


def _softmax(rows: Array) -> Array:
    shares: Array = np.exp(rows - rows.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    return shares


def run_lstm(weights: Mapping[str, Array], name: str, texts: Sequence[Array]) -> list[Array]:
    """Read texts (T, D) in both directions, (T, 2H) each; at each step those that are long enough take part."""
    prefix = f"{name}.lstm."
    lengths = np.array([len(text) for text in texts])
    order = np.argsort(-lengths, kind="stable")
    lengths = lengths[order]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    pieces = np.concatenate([texts[place] for place in order])
    size = weights[f"{prefix}weight_hh_l0"].shape[1]
    states = np.empty((len(pieces), 2 * size), dtype=np.float32)
    for half, direction in enumerate(("", "_reverse")):
        bias = weights[f"{prefix}bias_ih_l0{direction}"] + weights[f"{prefix}bias_hh_l0{direction}"]
        gates = pieces @ weights[f"{prefix}weight_ih_l0{direction}"].T + bias
        recurrent = np.ascontiguousarray(weights[f"{prefix}weight_hh_l0{direction}"].T)
        hidden = cell = np.zeros((len(texts), size), dtype=np.float32)
        for step in range(int(lengths[0])):
            count = int(np.searchsorted(-lengths, -step))  # texts with more than `step` pieces
            places = starts[:count] + (step if not half else lengths[:count] - 1 - step)
            hidden, cell = _step(gates[places] + hidden[:count] @ recurrent, cell[:count])
            states[places, half * size : (half + 1) * size] = hidden
    found: list[Array] = [np.empty(0, dtype=np.float32)] * len(texts)
    for place, start, length in zip(order, starts, lengths, strict=True):
        found[place] = states[start : start + length]
    return found


def _step(gates: Array, cell: Array) -> tuple[Array, Array]:
    """New hidden state and cell; the gates are input, forget, cell and output."""
    size = gates.shape[1] // 4
    i, f, o = (_sigmoid(gates[:, size * at : size * (at + 1)]) for at in (0, 1, 3))
    cell = f * cell + i * np.tanh(gates[:, 2 * size : 3 * size])
    return o * np.tanh(cell), cell


def _sigmoid(values: Array) -> Array:
    # Through tanh, which cannot overflow.
    half: Array = np.tanh(values * np.float32(0.5))
    return half * np.float32(0.5) + np.float32(0.5)


def cut(text: Array, limit: int) -> Array:
    """At most `limit` pieces of a text (L, T, D); one without pieces gets one of zeros, since networks must read."""
    if text.shape[1]:
        return text[:, :limit]
    return np.zeros((text.shape[0], 1, text.shape[2]), dtype=np.float32)
