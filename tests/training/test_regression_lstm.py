from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence  # noqa: E402

from prism_mt.training.regression.lstm import lay_out, run_lstm  # noqa: E402


def mask_of(*lengths: int) -> Any:
    return torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]


def test_the_layout_by_hand() -> None:
    """Texts ab, cde and f: first c, a, f, then d, b, then e; padded they are a b - c d e f - -."""
    layout = lay_out(mask_of(2, 3, 1))
    assert layout.places.tolist() == [3, 0, 6, 4, 1, 5]
    assert layout.mirrored.tolist() == [5, 4, 2, 3, 1, 0]
    assert layout.counts == (3, 2, 1)


@pytest.mark.parametrize("lengths", [(3, 6, 1, 6), (1, 1), (5,)])
def test_values_and_gradients_are_those_of_torch(lengths: tuple[int, ...]) -> None:
    torch.manual_seed(2)
    lstm = torch.nn.LSTM(5, 4, bidirectional=True, batch_first=True).double()
    mask = mask_of(*lengths)
    states = torch.randn(len(lengths), max(lengths), 5, dtype=torch.double, requires_grad=True)
    packed = pack_padded_sequence(states, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
    found = run_lstm(lstm, states, mask)
    assert torch.allclose(found, expected, atol=1e-12)
    weights = torch.randn_like(found)
    inputs = [states, *lstm.parameters()]
    pairs = zip(*(torch.autograd.grad((o * weights).sum(), inputs) for o in (found, expected)), strict=True)
    assert all(torch.allclose(one, other, atol=1e-10) for one, other in pairs)


def test_in_mixed_precision_values_and_gradients_are_close_to_those_in_full() -> None:
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(8, 6, bidirectional=True, batch_first=True)
    mask = mask_of(5, 2, 7)
    states = torch.randn(3, 7, 8) * mask[..., None]
    found = []
    for mixed in (False, True):
        lstm.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            hidden = run_lstm(lstm, states, mask)
        torch.autograd.backward(hidden.square().sum())
        found.append([hidden.detach(), *(weights.grad for weights in lstm.parameters())])
    for full, halved in zip(*found, strict=True):
        assert full is not None
        assert halved is not None
        assert halved.dtype == torch.float32
        # bfloat16 has 8 bits.
        torch.testing.assert_close(halved, full, rtol=0.05, atol=0.02 * float(full.abs().max()))
