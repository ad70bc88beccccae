"""Sequences of different lengths one after another, without padding between them."""

from collections.abc import Sequence

import torch
from torch import Tensor


class Ragged:
    """Where the tokens of packed sequences are: N tokens of B sequences, of which the longest has T."""

    def __init__(self, lengths: Sequence[int], device: torch.device, multiple: int = 1) -> None:
        """Padded forms are as long as the longest sequence, rounded up to a multiple."""
        sizes = torch.tensor(lengths)
        self.count = len(lengths)
        self.longest = -(-max(lengths) // multiple) * multiple
        row = torch.repeat_interleave(torch.arange(self.count), sizes)
        first = sizes.cumsum(0) - sizes
        self.positions = torch.arange(len(row)) - first[row]
        """Position of every token in its sequence."""
        places = row * self.longest + self.positions
        tokens = torch.zeros(self.count * self.longest, dtype=torch.long)
        tokens[places] = torch.arange(len(row))
        hidden = torch.arange(self.longest)[None] >= sizes[:, None]
        self.positions, self._places, self._tokens = (part.to(device) for part in (self.positions, places, tokens))
        self._hidden = hidden.to(device) if hidden.any() else None

    def pad(self, states: Tensor) -> Tensor:
        """(N, D) → (B, T, D); what is past the end of a sequence is arbitrary."""
        if self._hidden is None:
            return states.view(self.count, self.longest, -1)
        return states.index_select(0, self._tokens).view(self.count, self.longest, -1)

    def unpad(self, states: Tensor) -> Tensor:
        """(B, T, D) → (N, D)."""
        flat = states.reshape(self.count * self.longest, -1)
        return flat if self._hidden is None else flat.index_select(0, self._places)

    def mask(self, dtype: torch.dtype) -> Tensor | None:
        """(B, 1, T): what to add to products with keys so that nothing past an end is seen; None to add nothing."""
        if self._hidden is None:
            return None
        mask = torch.zeros(self._hidden.shape, dtype=dtype, device=self._hidden.device)
        return mask.masked_fill_(self._hidden, float("-inf"))[:, None]
