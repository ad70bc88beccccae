"""Cross-entropy of the target, with label smoothing."""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prism_mt.models.language_model import LanguageModel
from prism_mt.models.network import Transformer
from prism_mt.training.translation.batches import Batch

# Rows of logits at a time: few enough to stay in a processor's cache, many enough for fast matrix multiplication.
_CHUNK = 512
_TINY = torch.finfo(torch.float32).tiny


class _ProjectedCrossEntropy(torch.autograd.Function):
    """Projection, softmax and their gradients, chunk by chunk: the logits of a whole batch never exist.

    Written out because on a CPU the passes over N × V logits cost a third of a small model's step. With smoothing e,
    the loss of a row is lse - (1 - e)·logit[target] - e·mean(logits). Its last term is linear in the logits, so it and
    its gradient need only sums over the weights and no pass over the logits.
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        grad: bool,
    ) -> tuple[Tensor, Tensor]:
        kind = states.device.type
        mixed = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        if mixed is not None:
            states, weight, bias = states.to(mixed), weight.to(mixed), None if bias is None else bias.to(mixed)
        weight_sum, bias_mean = weight.sum(0), 0.0 if bias is None else bias.float().mean()
        size = len(weight)
        likelihood = states.new_zeros((), dtype=torch.float32)
        smooth = states.new_zeros((), dtype=torch.float32)
        d_states = torch.empty_like(states, dtype=torch.float32) if grad else None
        d_weight = torch.zeros_like(weight, dtype=torch.float32) if grad else None
        d_bias = torch.zeros_like(bias, dtype=torch.float32) if grad and bias is not None else None
        for start in range(0, len(states), _CHUNK):
            rows = slice(start, start + _CHUNK)
            chunk, wanted = states[rows], targets[rows, None]
            logits = F.linear(chunk, weight, bias).float()
            mean = (chunk @ weight_sum).float() / size + bias_mean
            at_target = logits.gather(1, wanted).squeeze(1)
            probabilities = logits.softmax(-1)
            nll = -probabilities.gather(1, wanted).squeeze(1).clamp_min(_TINY).log()
            likelihood += nll.sum()
            smooth += (nll + smoothing * (at_target - mean)).sum()
            if d_states is None or d_weight is None:
                continue
            probabilities.scatter_add_(1, wanted, probabilities.new_full(wanted.shape, smoothing - 1.0))
            d_logits = probabilities.to(chunk.dtype)
            d_states[rows] = d_logits @ weight - weight_sum * (smoothing / size)
            if mixed is None:
                d_weight.addmm_(d_logits.t(), chunk)
            else:
                d_weight += d_logits.t() @ chunk
            if d_bias is not None:
                d_bias += d_logits.sum(0) - len(chunk) * smoothing / size
        if d_weight is not None:
            d_weight -= states.sum(0) * (smoothing / size)
        ctx.gradients = d_states, d_weight, d_bias
        ctx.mark_non_differentiable(likelihood)
        return smooth, likelihood

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [None if gradient is None else gradient.mul_(outer[0]) for gradient in ctx.gradients]
        return (*scaled, None, None, None)


def projected_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Sums over all rows of the smoothed loss, which has a gradient, and of the plain negative log-likelihood.

    `states` (N, D) are projected with `weight` (V, D); `targets` (N,) are ids. The smoothed distribution is
    1 - smoothing on the target plus smoothing / V on every id, as in torch.
    """
    found: tuple[Tensor, Tensor] = _ProjectedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        states, weight, bias, targets, smoothing, torch.is_grad_enabled()
    )
    return found


def sample_types(
    weight: Tensor, bias: Tensor | None, targets: Tensor, negatives: int
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Reduce an output layer to the types among `targets` and N = `negatives` others, drawn uniformly.

    Each of those represents (V - |U|) / N others, where U are the types among the targets: the logarithm of that is
    added to its logit, so that the sum of exponentials is right on average.
    """
    size = len(weight)
    types, places = torch.unique(targets, return_inverse=True)
    others = size - len(types)
    if negatives >= others:
        return weight, bias, targets
    absent = torch.ones(size, dtype=torch.bool, device=weight.device)
    absent[types] = False
    # Drawn on the CPU, so that a seed means the same everywhere.
    drawn = absent.nonzero()[:, 0][torch.randperm(others)[:negatives].to(weight.device)]
    kept = torch.cat([types, drawn])
    correction = weight.new_zeros(len(kept), dtype=torch.float32)
    correction[len(types) :] = math.log(others / negatives)
    return weight[kept], correction if bias is None else bias[kept] + correction, places


class TranslationLoss(nn.Module):
    """A model and its loss."""

    def __init__(
        self,
        model: Transformer | LanguageModel,
        smoothing: float,
        frozen: Sequence[str] = (),
        negatives: int = 0,
    ) -> None:
        """`frozen` parts of the model are not trained; `negatives` above 0 makes training sample the softmax."""
        super().__init__()
        self.model, self.smoothing, self.negatives = model, smoothing, negatives
        self._frozen = [model.get_submodule(name).requires_grad_(False) for name in frozen]

    def train(self, mode: bool = True) -> "TranslationLoss":
        """Set training mode; frozen parts stay in evaluation mode, since without dropout their outputs never change."""
        super().train(mode)
        for part in self._frozen:
            part.eval()
        return self

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sums over the predicted tokens: the loss to minimize, and the negative log-likelihood to report."""
        if isinstance(self.model, Transformer):
            states = self.model(batch.source, batch.target_input, batch.source_padding)
        else:
            states = self.model(batch.target_input)
        weight = self.model.target_embedding if self.model.output.weight is None else self.model.output.weight
        chosen = states.flatten(0, 1).index_select(0, batch.counted)
        bias: Tensor | None = self.model.output.bias
        wanted = batch.wanted
        if self.training and self.negatives:
            weight, bias, wanted = sample_types(weight, bias, wanted, self.negatives)
        return projected_cross_entropy(chosen, weight, bias, wanted, self.smoothing)
