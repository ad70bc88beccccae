"""The networks of Mathur et al. 2019, which learn from judgments how good a translation is given its reference.

This is how they are trained; `prism_mt.metrics.learned_network` scores with the same weights without torch.

Shapes in comments: B pairs, L layers of the encoder, T pieces, D width of the encoder, H hidden units (2H in both
directions). Masks are (B, T), true at real pieces; padding never changes a score.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from prism_mt.encoders.base import PieceVectors
from prism_mt.metrics.learned_network import Kind, reads_twice
from prism_mt.training.regression.lstm import run_lstm

DROPOUT = 0.5
"""As published."""


class LayerMix(nn.Module):
    """A weighted mean of the encoder's layers times a scale, both learned; at first all layers count the same."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, states: Tensor) -> Tensor:
        """(B, L, T, D) → (B, T, D)."""
        return torch.einsum("l,bltd->btd", self.scale * self.weight.softmax(0), states)


class VariationalDropout(nn.Dropout):
    """Dropout with one mask per text: what is dropped of one piece is dropped of all."""

    def forward(self, states: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        return states * super().forward(torch.ones_like(states[:, :1]))


class BiLSTM(nn.Module):
    """One bidirectional layer that reads real pieces only, in training with dropout of its inputs."""

    def __init__(self, width: int, hidden: int, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.dropout = VariationalDropout(dropout)
        self.lstm = nn.LSTM(width, hidden, bidirectional=True, batch_first=True)
        for name, parameter in self.lstm.named_parameters():
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(parameter)
            elif name.startswith("weight_hh"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)
                if name.startswith("bias_ih"):
                    # Gates are in the order input, forget, cell, output.
                    parameter.data[hidden : 2 * hidden] = 1.0

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """(B, T, D) → (B, T, 2H), zero at padding."""
        return run_lstm(self.lstm, self.dropout(states), mask)

    def read_both(self, one: Tensor, other: Tensor, one_mask: Tensor, other_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Both sides in one run, which has half the steps."""
        steps = max(one.shape[1], other.shape[1])
        states = torch.cat([_lengthen(side, steps) for side in (one, other)])
        masks = torch.cat([_lengthen(mask[..., None], steps)[..., 0] for mask in (one_mask, other_mask)])
        found = self(states, masks)
        return found[: len(one), : one.shape[1]], found[len(one) :, : other.shape[1]]


def _lengthen(states: Tensor, steps: int) -> Tensor:
    """(B, T, D) → (B, steps, D), zero where there was nothing."""
    return nn.functional.pad(states, (0, 0, 0, steps - states.shape[1]))


def mean_pool(states: Tensor, mask: Tensor) -> Tensor:
    """(B, T, D) → (B, D): the mean over real pieces."""
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


def max_pool(states: Tensor, mask: Tensor) -> Tensor:
    """(B, T, D) → (B, D): the maximum over real pieces."""
    return states.masked_fill(~mask[..., None], float("-inf")).amax(1)


def attend(one: Tensor, other: Tensor, one_mask: Tensor, other_mask: Tensor) -> tuple[Tensor, Tensor]:
    """For each piece of either side a mean of the other side's states, weighted by a softmax of dot products.

    The softmax is over the side that is attended to; the paper's equations have the index the wrong way round.
    """
    products = one @ other.transpose(1, 2)  # (B, T one, T other)
    to_other = products.masked_fill(~other_mask[:, None, :], float("-inf")).softmax(2)
    to_one = products.masked_fill(~one_mask[:, :, None], float("-inf")).softmax(1)
    return to_other @ other, to_one.transpose(1, 2) @ one


class RegressionNetwork(nn.Module):
    """From the vectors of a translation and its reference to one score."""

    def __init__(self, kind: Kind, layers: int, width: int, hidden: int = 300, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.kind = kind
        self.mix = LayerMix(layers)
        self.encoder = BiLSTM(width, hidden, dropout)
        pooled = 4 * hidden
        if reads_twice(kind):
            self.projection = nn.Linear(8 * hidden, hidden)
            self.composition = BiLSTM(hidden, hidden, dropout)
        self.dropout = nn.Dropout(dropout)
        self.inner = nn.Linear(2 * pooled if reads_twice(kind) else 4 * pooled, hidden)
        self.outer = nn.Linear(hidden, 1)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, translation: Tensor, reference: Tensor, t_mask: Tensor, r_mask: Tensor) -> Tensor:
        """Two (B, L, T, D) → (B,)."""
        t, r = self.encoder.read_both(self.mix(translation), self.mix(reference), t_mask, r_mask)
        return self.judge(t, r, t_mask, r_mask)

    def read(self, text: Tensor, mask: Tensor) -> Tensor:
        """What `judge` needs of one side, whatever is on the other: (B, L, T, D) → (B, T, 2H)."""
        states: Tensor = self.encoder(self.mix(text), mask)
        return states

    def judge(self, t: Tensor, r: Tensor, t_mask: Tensor, r_mask: Tensor) -> Tensor:
        """Both sides as they were read, (B, T, 2H) → (B,)."""
        if reads_twice(self.kind):
            features = self._compare_pieces(t, r, t_mask, r_mask)
        else:
            if self.kind == "bilstm-attention":
                t, r = attend(t, r, t_mask, r_mask)
            v_t = torch.cat([max_pool(t, t_mask), mean_pool(t, t_mask)], 1)
            v_r = torch.cat([max_pool(r, r_mask), mean_pool(r, r_mask)], 1)
            features = torch.cat([v_t, v_r, v_t * v_r, v_t - v_r], 1)
        hidden = self.inner(self.dropout(features)).relu()
        score: Tensor = self.outer(self.dropout(hidden)).squeeze(1)
        return score

    def _compare_pieces(self, t: Tensor, r: Tensor, t_mask: Tensor, r_mask: Tensor) -> Tensor:
        """ESIM: both sides enriched by what they attend to, read again, pooled; (B, 8H)."""
        attended_t, attended_r = attend(t, r, t_mask, r_mask)
        projected = [
            self.projection(torch.cat([own, other, own * other, own - other], 2)).relu()
            for own, other in ((t, attended_t), (r, attended_r))
        ]
        t, r = self.composition.read_both(projected[0], projected[1], t_mask, r_mask)
        pooled = [mean_pool(r, r_mask), max_pool(r, r_mask), mean_pool(t, t_mask), max_pool(t, t_mask)]
        return torch.cat(pooled, 1)


def pad(texts: Sequence[PieceVectors], limit: int) -> tuple[Tensor, Tensor]:
    """Vectors of texts as (B, L, T, D) with their mask, at most `limit` pieces each.

    A text without pieces gets one of zeros: every network needs something to read.
    """
    lengths = torch.tensor([min(limit, max(1, text.shape[1])) for text in texts])
    longest = int(lengths.max())
    padded = torch.zeros(len(texts), texts[0].shape[0], longest, texts[0].shape[2])
    for row, text in enumerate(texts):
        padded[row, :, : min(limit, text.shape[1])] = torch.from_numpy(text[:, :limit])
    return padded, torch.arange(longest)[None] < lengths[:, None]
