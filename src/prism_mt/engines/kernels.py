"""The arithmetic of the torch engine: linear layers and attention as fast as the processor allows.

On a CPU, weights are kept in oneDNN's own layout. torch multiplies float32 with MKL, which on AMD reaches less than
half of what oneDNN does; in bfloat16 the layout saves a reordering per product. Activations and residual sums happen
inside the product. Where these operators are missing, and on GPUs, plain torch does the same.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Activation = Literal["none", "relu", "gelu", "swish"]

_PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda states: states,
    "relu": F.relu,
    "gelu": F.gelu,
    "swish": F.silu,
}
KEY_MULTIPLE = 32
"""Softmax over rows of other lengths is several times slower on a CPU."""


class Linear:
    """A linear layer in one precision on one device; its weights may be packed, and then they cannot be read."""

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype, device: torch.device) -> None:
        """Take over weights (out, in) and a bias (out)."""
        self._dtype = dtype
        self._weight = weight.to(device, dtype)
        self._bias = None if bias is None else bias.to(device, dtype)
        self._packed = device.type == "cpu" and _has_packed(dtype)
        if self._packed:
            self._weight = torch.ops.mkldnn._reorder_linear_weight(self._weight.contiguous())

    def __call__(self, states: Tensor, activation: Activation = "none", residual: Tensor | None = None) -> Tensor:
        """(N, in) → (N, out), with an activation or with a residual added, whose precision the sum has."""
        output: Tensor
        states = states.to(self._dtype)
        if residual is not None and residual.dtype != self._dtype:
            return residual + self(states, activation)
        if not self._packed:
            output = _PLAIN[activation](F.linear(states, self._weight, self._bias))
            return output if residual is None else output + residual
        linear = torch.ops.mkldnn._linear_pointwise
        if residual is not None:
            output = linear.binary(states, residual, self._weight, self._bias, "add")
        else:
            algorithm = "none" if activation == "gelu" else ""
            output = linear(states, self._weight, self._bias, activation, [], algorithm)
        return output


def attend(states: Iterable[Tensor], mask: Tensor | None) -> Tensor:
    """Attend with queries (B, H, T, d), already scaled, to keys and values (B, H, S, d).

    `mask` is added to the products, (B or 1, T or 1, S).

    For sentences, plain products are three times as fast on a CPU as torch's fused attention.
    """
    queries, keys, values = states
    batch, heads, length, width = queries.shape
    if queries.device.type != "cpu":
        wide = None if mask is None else mask[:, None]
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=wide, scale=1.0)
    queries, keys, values = (part.reshape(batch * heads, -1, width) for part in (queries, keys, values))
    if mask is None:
        products = torch.bmm(queries, keys.transpose(1, 2))
    else:
        if len(mask) > 1:
            mask = mask[:, None].expand(-1, heads, -1, -1).flatten(0, 1)
        products = torch.baddbmm(mask, queries, keys.transpose(1, 2))
    return torch.bmm(products.softmax(-1), values).view(batch, heads, length, width)


class Normalizer:
    """The projection onto a vocabulary and its softmax: log-probabilities of given tokens.

    Log-probability is -log Σ exp(logit - own logit). The own logit is computed apart, in float32, and subtracted
    inside the product, as further columns of states and weights: what is near it, its own entry first, loses nothing
    when the differences are rounded. They are to the base 2, whose exponential is four times as fast as that to e.
    """

    _ROWS = 512
    _CHUNK = 2048
    """States times pieces whose differences stay in the processor's cache."""

    def __init__(
        self, weight: Tensor, bias: Tensor | None, temperature: float, dtype: torch.dtype, device: torch.device
    ) -> None:
        """Take over the weights (V, D) and a bias (V)."""
        scale = 1 / (math.log(2) * temperature)
        self._weight = (weight * scale).to(device, dtype)
        self._bias = None if bias is None else (bias * scale).to(device)
        self._parts = 1 if dtype == torch.float32 else 3  # bfloat16 numbers whose sum has the digits of float32
        columns = [self._weight, -torch.ones(len(weight), self._parts, dtype=dtype, device=device)]
        if self._bias is not None:
            columns.append(self._split(self._bias))
        wide = torch.cat(columns, 1)
        size = self._CHUNK if device.type == "cpu" else len(weight)
        self._chunks = [Linear(chunk, None, dtype, device) for chunk in torch.split(wide, size)]

    def __call__(self, states: Tensor, tokens: Tensor) -> Tensor:
        """(N, D) and (N,) ids → (N,) natural-log probabilities in float32."""
        rows = self._ROWS if states.device.type == "cpu" else 4096
        parts = [
            self._score(*part) for part in zip(torch.split(states, rows), torch.split(tokens, rows), strict=True)
        ]
        return torch.cat(parts)

    def _score(self, states: Tensor, tokens: Tensor) -> Tensor:
        own = (states.float() * self._weight[tokens].float()).sum(1)
        if self._bias is not None:
            own += self._bias[tokens]
        scores = self._total(states, tokens, own).log_().neg_()
        # Where another token is 2^127 times as probable, the sum overflows.
        infinite = scores.isinf().nonzero()[:, 0]
        if len(infinite):
            scores[infinite] = self._improbable(states[infinite], own[infinite])
        return scores

    def _total(self, states: Tensor, tokens: Tensor, own: Tensor) -> Tensor:
        """(N,) sums of the probabilities of all tokens, relative to the wanted one's."""
        total = torch.zeros_like(own)
        for differences in self._differences(states, own):
            total += differences.exp2_().sum(1)
        return total

    def _improbable(self, states: Tensor, own: Tensor) -> Tensor:
        differences = torch.cat(list(self._differences(states, own)), 1)
        return -(differences * math.log(2)).logsumexp(1)

    def _differences(self, states: Tensor, own: Tensor) -> Iterator[Tensor]:
        """Logits minus the own one, to the base 2 and in float32, some pieces at a time."""
        wide = self._widen(states, own)
        for chunk in self._chunks:
            yield chunk(wide).float()

    def _widen(self, states: Tensor, own: Tensor) -> Tensor:
        columns = [states, self._split(own)]
        if self._bias is not None:
            columns.append(states.new_ones(len(states), self._parts))
        return torch.cat(columns, 1)

    def _split(self, values: Tensor) -> Tensor:
        """(N,) float32 → (N, parts) numbers of the layer's precision that add up to them."""
        columns = []
        for _ in range(self._parts):
            columns.append(values.to(self._weight.dtype))
            values = values - columns[-1].float()
        return torch.stack(columns, 1)


def _has_packed(dtype: torch.dtype) -> bool:
    """Whether oneDNN's layouts can be used: operators that torch's own compiler builds on, outside of its interface."""
    if not torch._C._has_mkldnn or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    # Without instructions for it, oneDNN has no bfloat16.
    return dtype != torch.bfloat16 or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
