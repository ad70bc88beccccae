"""Sequences of different lengths one after another, without padding between them."""

from collections.abc import Sequence

import torch
from torch import Tensor


class Ragged:
    """Where the tokens of packed sequences are: N packed rows of B sequences, of which the longest has T."""

    def __init__(
        self, lengths: Sequence[int], device: torch.device, multiple: int = 1, rows: Sequence[int] | None = None
    ) -> None:
        """Padded forms are as long as the longest sequence, rounded up to a multiple.

        `rows` says which packed row every token has, where sequences share some; otherwise each has its own.
        """
        sizes = torch.tensor(lengths)
        self.count = len(lengths)
        self.longest = -(-max(lengths) // multiple) * multiple
        sequence = torch.repeat_interleave(torch.arange(self.count), sizes)
        first = sizes.cumsum(0) - sizes
        positions = torch.arange(len(sequence)) - first[sequence]
        places = sequence * self.longest + positions
        packed = torch.arange(len(sequence)) if rows is None else torch.tensor(rows)
        tokens = torch.zeros(self.count * self.longest, dtype=torch.long)
        tokens[places] = packed
        if rows is not None:
            # Any of the tokens that share a row stands for it: all have the same position and the same states.
            token_of = torch.empty(int(packed.max()) + 1, dtype=torch.long)
            token_of[packed] = torch.arange(len(packed))
            positions, places = positions[token_of], places[token_of]
        hidden = torch.arange(self.longest)[None] >= sizes[:, None]
        self._dense = rows is None and not hidden.any()
        self.positions, self._places, self._tokens = (part.to(device) for part in (positions, places, tokens))
        """Positions of the rows in their sequences."""
        self._hidden = hidden.to(device) if hidden.any() else None

    def pad(self, states: Tensor) -> Tensor:
        """(N, D) → (B, T, D); what is past the end of a sequence is arbitrary."""
        if self._dense:
            return states.view(self.count, self.longest, -1)
        return states.index_select(0, self._tokens).view(self.count, self.longest, -1)

    def unpad(self, states: Tensor) -> Tensor:
        """(B, T, D) → (N, D)."""
        flat = states.reshape(self.count * self.longest, -1)
        return flat if self._dense else flat.index_select(0, self._places)

    def mask(self, dtype: torch.dtype) -> Tensor | None:
        """(B, 1, T): what to add to products with keys so that nothing past an end is seen; None to add nothing."""
        if self._hidden is None:
            return None
        mask = torch.zeros(self._hidden.shape, dtype=dtype, device=self._hidden.device)
        return mask.masked_fill_(self._hidden, float("-inf"))[:, None]
