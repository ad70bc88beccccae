"""Blocks of sequences: nothing lost, nothing seen that is not there, and no score that depends on them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from prism_mt.engines.ragged import Ragged, divide  # noqa: E402

CPU = torch.device("cpu")
LENGTHS = [3, 200, 1, 1, 2, 190, 7, 7, 7, 300, 5]


@pytest.mark.parametrize("lengths", [LENGTHS, [4], [1] * 50, sorted(LENGTHS)])
def test_blocks_hold_every_sequence_in_order(lengths: list[int]) -> None:
    counts = divide(lengths, lengths, CPU)
    assert sum(counts) == len(lengths)
    assert min(counts) >= 1
    start = 0
    for count in counts:
        block = lengths[start : start + count]
        padding = count * max(block) ** 2 - sum(length**2 for length in block)
        assert count == 1 or padding <= 4096
        start += count


def test_a_long_sequence_does_not_pad_the_short_ones() -> None:
    assert divide([5, 5, 5, 400], [5, 5, 5, 400], CPU) == [3, 1]


@pytest.mark.parametrize("blocks", [None, [4, 3, 4], [11], [1] * 11])
@pytest.mark.parametrize("multiple", [1, 8])
def test_what_is_padded_comes_back(blocks: list[int] | None, multiple: int) -> None:
    layout = Ragged(LENGTHS, CPU, multiple, blocks=blocks)
    states = torch.randn(sum(LENGTHS), 6)
    padded = layout.pad(states)
    assert sum(len(block) for block in padded) == len(LENGTHS)
    again = layout.unpad([block.view(*block.shape[:2], 2, 3) for block in padded])
    assert torch.equal(again, states)
    assert layout.positions.tolist() == [place for length in LENGTHS for place in range(length)]
    rows = [row for block in padded for row in block]
    hidden = [
        row
        for block, mask in zip(padded, layout.masks(torch.float32), strict=True)
        for row in (torch.zeros(len(block), block.shape[1]) if mask is None else mask[:, 0])
    ]
    start = 0
    for length, row, mask in zip(LENGTHS, rows, hidden, strict=True):
        assert torch.equal(row[:length], states[start : start + length])
        assert (mask[:length] == 0).all()
        assert (mask[length:] == float("-inf")).all()
        start += length


def test_causal_masks_hide_what_follows() -> None:
    layout = Ragged(LENGTHS, CPU)
    for block, mask in zip(
        layout.pad(torch.zeros(sum(LENGTHS), 1)), layout.causal_masks(torch.float32), strict=True
    ):
        assert mask is not None
        length = block.shape[1]
        assert mask.shape == (1, length, length)
        expected = np.triu(np.ones((length, length), bool), 1)
        np.testing.assert_array_equal(np.isneginf(mask[0].numpy()), expected)
