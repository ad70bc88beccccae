"""A bidirectional LSTM over texts of different lengths whose backward pass is a few large matrix products.

torch computes the gradients of the weights step by step, which on a CPU takes most of the time that training takes.
Here only the recurrence itself goes step by step, both directions at once; at each step the texts that are long enough
take part, so that padding costs nothing. Shapes: N texts, P pieces of all of them, D width, H hidden units.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Layout:
    """Where the pieces of a padded batch are when all first pieces come first, then all second ones, and so on."""

    places: Tensor
    """(P,): for each piece its place in the padded batch, rows of which follow one another."""
    mirrored: Tensor
    """(P,): for each piece the one that is as far from the end of its text; its own inverse."""
    counts: tuple[int, ...]
    """How many texts have a first piece, a second one, …"""


def lay_out(mask: Tensor) -> Layout:
    """The layout of a batch with this mask (N × T, true at real pieces, which come first in each row)."""
    lengths = mask.sum(1)
    order = lengths.argsort(descending=True, stable=True)
    steps = torch.arange(mask.shape[1], device=mask.device)
    real = steps[:, None] < lengths[order][None]  # T × N, longest text first
    step, rank = real.nonzero(as_tuple=True)
    starts = torch.cat([real.new_zeros(1, dtype=torch.long), real.sum(1).cumsum(0)])
    mirrored = starts[lengths[order][rank] - 1 - step] + rank
    counts = tuple(int(count) for count in real.sum(1).tolist() if count)
    return Layout(order[rank] * mask.shape[1] + step, mirrored, counts)


def run_lstm(lstm: nn.LSTM, states: Tensor, mask: Tensor) -> Tensor:
    """(N, T, D) → (N, T, 2H) by a single-layer bidirectional LSTM; zero at padding."""
    rows, steps, width = states.shape
    layout = lay_out(mask)
    packed = states.reshape(rows * steps, width)[layout.places]
    w = dict(lstm.named_parameters())
    input_weights = torch.cat([w["weight_ih_l0"], w["weight_ih_l0_reverse"]])  # (8H, D)
    biases = torch.cat([w["bias_ih_l0"] + w["bias_hh_l0"], w["bias_ih_l0_reverse"] + w["bias_hh_l0_reverse"]])
    gates = nn.functional.linear(packed, input_weights, biases)
    forward, backward = gates.chunk(2, 1)
    both = torch.stack(
        [forward, backward[layout.mirrored]]
    )  # (2, P, 4H): the second direction reads mirrored texts
    weights = torch.stack([w["weight_hh_l0"], w["weight_hh_l0_reverse"]])
    hidden: Tensor = _Recurrence.apply(both, weights, layout.counts)  # type: ignore[no-untyped-call]
    found = torch.cat([hidden[0], hidden[1][layout.mirrored]], 1)
    padded = found.new_zeros(rows * steps, found.shape[1]).index_copy(0, layout.places, found)
    return padded.view(rows, steps, -1)


class _Recurrence(torch.autograd.Function):
    """From what the input says to the gates (2, P, 4H) to the hidden states (2, P, H).

    Products are computed in the gates' precision, which mixed precision halves, all else in that of the weights.
    Autocast does not reach into `backward`.
    """

    @staticmethod
    def forward(context: Any, gates: Tensor, weights: Tensor, counts: tuple[int, ...]) -> Tensor:
        directions, pieces, width = gates.shape
        size = width // 4
        products, gates = gates.dtype, gates.to(weights.dtype, copy=True)
        weights = weights.to(products)
        turned = weights.transpose(1, 2).contiguous()
        cells, hidden, squashed = (gates.new_empty(directions, pieces, size) for _ in range(3))
        start = before = 0
        for step, count in enumerate(counts):
            now = slice(start, start + count)
            gate = gates[:, now]
            if step:
                gate += torch.bmm(hidden[:, before : before + count].to(products), turned)
            gate[..., : 2 * size].sigmoid_()
            gate[..., 2 * size : 3 * size].tanh_()
            gate[..., 3 * size :].sigmoid_()
            i, f, g, o = gate.chunk(4, 2)
            cell = i * g
            if step:
                cell.addcmul_(f, cells[:, before : before + count])
            cells[:, now] = cell
            squashed[:, now] = cell.tanh_()
            hidden[:, now] = o * cell
            before, start = start, start + count
        context.save_for_backward(gates, cells, squashed, hidden, weights)
        context.counts = counts
        return hidden

    @staticmethod
    def backward(context: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        gates, cells, squashed, hidden, weights = context.saved_tensors
        counts: tuple[int, ...] = context.counts
        products = weights.dtype
        directions, pieces, size = hidden.shape
        change = torch.empty_like(gates)
        earlier = torch.zeros_like(hidden)  # for each piece the hidden state before it
        d_hidden = hidden.new_zeros(directions, counts[0], size)
        d_cell = torch.zeros_like(d_hidden)
        start = pieces
        for step in range(len(counts) - 1, -1, -1):
            count = counts[step]
            start -= count
            now = slice(start, start + count)
            past = slice(start - counts[step - 1], start - counts[step - 1] + count) if step else None
            i, f, g, o = gates[:, now].chunk(4, 2)
            tanh = squashed[:, now]
            dh = d_hidden[:, :count] + upstream[0][:, now]
            dc = d_cell[:, :count] + dh * o * (1 - tanh * tanh)
            di, df, dg, do = change[:, now].chunk(4, 2)
            di.copy_(dc * g * i * (1 - i))
            dg.copy_(dc * i * (1 - g * g))
            do.copy_(dh * tanh * o * (1 - o))
            if past is None:
                df.zero_()
                continue
            df.copy_(dc * cells[:, past] * f * (1 - f))
            earlier[:, now] = hidden[:, past]
            d_cell[:, :count] = dc * f
            d_hidden[:, :count] = torch.bmm(change[:, now].to(products), weights)
        rounded = change.to(products)
        d_weights = torch.bmm(rounded.transpose(1, 2), earlier.to(products))
        return rounded, d_weights.to(change.dtype), None
