"""Sequences of different lengths one after another, without padding between them."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

_WASTE = 4096
"""Padding in queries times keys that costs as much as a block of its own."""
_LARGEST = 1 << 16
"""Queries times keys of the largest block whose products, of all heads, stay in the processor's cache."""


class Ragged:
    """Where the tokens of packed sequences are: N packed rows of B sequences.

    Attention needs sequences of equal length. So they are padded in blocks of a few that follow one another: a long
    sequence then costs the short ones of its batch nothing.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        device: torch.device,
        multiple: int = 1,
        rows: Sequence[int] | None = None,
        blocks: Sequence[int] | None = None,
    ) -> None:
        """Padded forms are as long as the longest sequence of their block, rounded up to a multiple.

        `rows` says which packed row every token has, where sequences share some; otherwise each has its own. `blocks`
        are numbers of sequences; without them, they are those of attention among the tokens of each sequence.
        """
        rounded = [-(-length // multiple) * multiple for length in lengths]
        counts = divide(rounded, rounded, device) if blocks is None else blocks
        rest = iter(rounded)
        self._blocks = [(count, max(next(rest) for _ in range(count))) for count in counts]
        self.longest = max(longest for _, longest in self._blocks)
        self._size = sum(count * longest for count, longest in self._blocks)
        sizes = torch.tensor(lengths)
        padded = torch.tensor([longest for count, longest in self._blocks for _ in range(count)])
        sequence = torch.repeat_interleave(torch.arange(len(lengths)), sizes)
        positions = torch.arange(len(sequence)) - (sizes.cumsum(0) - sizes)[sequence]
        places = positions + (padded.cumsum(0) - padded)[sequence]
        packed = torch.arange(len(sequence)) if rows is None else torch.tensor(rows)
        tokens = torch.zeros(self._size, dtype=torch.long)
        tokens[places] = packed
        hidden = torch.ones(self._size, dtype=torch.bool)
        hidden[places] = False
        if rows is not None:
            # Any of the tokens that share a row stands for it: all have the same position and the same states.
            token_of = torch.empty(int(packed.max()) + 1, dtype=torch.long)
            token_of[packed] = torch.arange(len(packed))
            positions, places = positions[token_of], places[token_of]
        self._dense = rows is None and len(places) == self._size
        self.positions, self._places, self._tokens = (part.to(device) for part in (positions, places, tokens))
        """Positions of the rows in their sequences."""
        self._hidden = hidden.to(device)

    def pad(self, states: Tensor) -> list[Tensor]:
        """(N, D) → (B, T, D) of every block; what is past the end of a sequence is arbitrary."""
        flat = states if self._dense else states.index_select(0, self._tokens)
        return list(self._split(flat))

    def unpad(self, blocks: Sequence[Tensor]) -> Tensor:
        """(B, T, H, d) of every block → (N, H · d)."""
        heads, width = blocks[0].shape[2:]
        flat = blocks[0].new_empty(self._size, heads, width)
        for place, block in zip(self._split(flat), blocks, strict=True):
            place.copy_(block)
        flat = flat.view(self._size, heads * width)
        return flat if self._dense else flat.index_select(0, self._places)

    def masks(self, dtype: torch.dtype) -> list[Tensor | None]:
        """(B, 1, T) of every block: what to add to products with keys so that nothing past an end is seen.

        None where there is nothing to add.
        """
        found: list[Tensor | None] = []
        for hidden in self._split(self._hidden):
            mask = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device).masked_fill_(hidden, float("-inf"))
            found.append(mask[:, None] if hidden.any() else None)
        return found

    def causal_masks(self, dtype: torch.dtype) -> list[Tensor | None]:
        """(1, T, T) of every block: nothing after a token is seen."""
        longest = torch.full((self.longest, self.longest), float("-inf"), dtype=dtype).triu_(1)
        longest = longest[None].to(self._hidden.device)
        return [longest[:, :length, :length] for _, length in self._blocks]

    def _split(self, flat: Tensor) -> Iterator[Tensor]:
        start = 0
        for count, longest in self._blocks:
            stop = start + count * longest
            yield flat[start:stop].view(count, longest, *flat.shape[1:])
            start = stop


def divide(queries: Sequence[int], keys: Sequence[int], device: torch.device) -> list[int]:
    """Divide sequences, given how long they are padded alone, into blocks of attention: numbers of sequences.

    A GPU is fastest with a single block.
    """
    if device.type != "cpu":
        return [len(queries)]
    counts: list[int] = []
    longest, needed = (0, 0), 0
    for query, key in zip(queries, keys, strict=True):
        joint = max(longest[0], query), max(longest[1], key)
        needed += query * key
        area = (counts[-1] + 1) * joint[0] * joint[1] if counts else 0
        if counts and area <= _LARGEST and area - needed <= _WASTE:
            counts[-1] += 1
            longest = joint
        else:
            counts.append(1)
            longest, needed = (query, key), query * key
    return counts
