"""Linear layers in 8 bits for the torch engine on a CPU.

Weights have a scale per output, states one per token, so that a token's result does not depend on what else is in its
batch. Products are sums of integers and therefore exact; everything between them is float32.
"""

import math
from collections.abc import Iterator
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from prism_mt._core.environment import has_int8
from prism_mt.engines.kernels import Activation, Normalizer

_LARGEST = 127
_OFFSET = 128
"""What is added to signed states: processors multiply unsigned by signed numbers."""
_TINY = 1e-30
_BLOCK = 2**18
"""Numbers that stay in the processor's cache between a product and what follows it."""


class QuantizedProduct:
    """Weights (out, in) in 8 bits; multiplies states that are quantized already."""

    def __init__(self, weight: Tensor) -> None:
        self.scales = weight.abs().amax(1).clamp_min_(_TINY).div_(_LARGEST)
        self.numbers = (weight / self.scales[:, None]).round_().to(torch.int8)
        self.outputs = len(weight)
        self._packed = None
        if has_packed():
            self._packed = torch.ops.onednn.qlinear_prepack(self.numbers, None)
            self._zeros = torch.zeros(self.outputs, dtype=torch.int32)

    def __call__(self, numbers: Tensor) -> Tensor:
        """(N, in) of `quantize` → (N, out) float32, still to be multiplied by the scales of the states."""
        if self._packed is None:
            signed = numbers.float().sub_(_OFFSET)
            return F.linear(signed, self.numbers.float()).mul_(self.scales)
        product: Tensor = torch.ops.onednn.qlinear_pointwise(
            numbers,
            1.0,
            _OFFSET,
            self._packed,
            self.scales,
            self._zeros,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        return product


class QuantizedLinear:
    """A linear layer in 8 bits, with the interface of `Linear`."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        """Take over weights (out, in) and a bias (out)."""
        self._product = QuantizedProduct(weight)
        self._bias = bias
        self._rows = max(64, _BLOCK // max(weight.shape))

    def __call__(self, states: Tensor, activation: Activation = "none", residual: Tensor | None = None) -> Tensor:
        """(N, in) → (N, out), with an activation or with a residual added."""
        output = torch.empty(len(states), self._product.outputs)
        for start in range(0, len(states), self._rows):
            block = slice(start, start + self._rows)
            numbers, scales = quantize(states[block])
            part = torch.mul(self._product(numbers), scales, out=output[block])
            if self._bias is not None:
                part += self._bias
            if residual is not None:
                part += residual[block]
            _activate(part, activation)
        return output


@cache
def has_packed() -> bool:
    """Whether oneDNN's product can be used: without instructions for it, sums of two products overflow 16 bits."""
    return bool(torch._C._has_mkldnn) and hasattr(torch.ops.onednn, "qlinear_pointwise") and has_int8()


def _activate(states: Tensor, activation: Activation) -> None:
    if activation == "relu":
        F.relu_(states)
    elif activation == "gelu":
        torch.ops.aten.gelu_(states)
    elif activation == "swish":
        F.silu(states, inplace=True)


def quantize(states: Tensor) -> tuple[Tensor, Tensor]:
    """(N, D) → (N, D) unsigned 8-bit numbers, and the scales (N, 1) by which they are too small."""
    states = states.float()
    scales = torch.maximum(states.amax(1, keepdim=True), states.amin(1, keepdim=True).neg_())
    scales.clamp_min_(_TINY).div_(_LARGEST)
    signed = (states * scales.reciprocal()).round_().to(torch.int8)
    # Flipping the highest bit adds 128; conversion to unsigned numbers is ten times as slow as to signed ones.
    return signed.bitwise_xor_(-_OFFSET).view(torch.uint8), scales


class QuantizedNormalizer(Normalizer):
    """The projection onto a vocabulary in 8 bits.

    The wanted token's own logit is computed in float32, and takes the place of the quantized one in the sum.
    """

    _ROWS = 256
    _CHUNK = 1024

    def __init__(self, weight: Tensor, bias: Tensor | None, temperature: float) -> None:
        """Take over the weights (V, D) and a bias (V)."""
        scale = 1 / (math.log(2) * temperature)
        self._weight = weight * scale
        self._bias = None if bias is None else bias * scale
        self._products = [QuantizedProduct(chunk) for chunk in torch.split(self._weight, self._CHUNK)]
        self._numbers = torch.cat([product.numbers for product in self._products])
        self._scales = torch.cat([product.scales for product in self._products])

    def _differences(self, states: Tensor, own: Tensor) -> Iterator[Tensor]:
        numbers, scales = quantize(states)
        start = 0
        for product in self._products:
            part = product(numbers).mul_(scales)
            if self._bias is not None:
                part += self._bias[start : start + product.outputs]
            start += product.outputs
            yield part.sub_(own[:, None])

    def _total(self, states: Tensor, tokens: Tensor, own: Tensor) -> Tensor:
        total = super()._total(states, tokens, own)
        numbers, scales = quantize(states)
        logits = (
            (numbers.float().sub_(_OFFSET) * self._numbers[tokens]).sum(1) * self._scales[tokens] * scales[:, 0]
        )
        if self._bias is not None:
            logits += self._bias[tokens]
        return total.add_(1 - (logits - own).clamp_max_(126).exp2_()).clamp_min_(1)
