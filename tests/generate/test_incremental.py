"""Decoding token by token gives what the network gives for the whole target at once."""

from dataclasses import replace

import pytest
import torch
from made import TINY, random_weights
from torch import Tensor

from prism_mt.generate.incremental import Decoding
from prism_mt.models.network import Transformer, from_weights

SOURCE = torch.tensor([[4, 5, 2, 1], [6, 7, 8, 2]])
TARGET = torch.randint(4, 11, (2, 14), generator=torch.Generator().manual_seed(3))


def network(post_norm: bool = False) -> Transformer:
    architecture = replace(TINY, norm="post", final_norm=False) if post_norm else TINY
    return from_weights(architecture, random_weights(architecture))


def at_once(model: Transformer, target: Tensor, sentences: list[int]) -> Tensor:
    """Logits after the last token of every row."""
    source = SOURCE[sentences]
    return model.project(model(source, target, source == 1)[:, -1])


@torch.inference_mode()
@pytest.mark.parametrize("post_norm", [False, True])
@pytest.mark.parametrize("first", [1, 2, 7])
def test_token_by_token(post_norm: bool, first: int) -> None:
    model = network(post_norm)
    decoding = Decoding(model, SOURCE, SOURCE == 1)
    for end in range(first, TARGET.shape[1] + 1):
        found = decoding.step(TARGET[:, :first] if end == first else TARGET[:, end - 1 : end])
        torch.testing.assert_close(found, at_once(model, TARGET[:, :end], [0, 1]), rtol=1e-5, atol=1e-5)


@torch.inference_mode()
def test_rows_are_chosen_again_and_sentences_left() -> None:
    model = network()
    decoding = Decoding(model, SOURCE, SOURCE == 1)
    decoding.step(TARGET[:, :2])
    # Two rows of each sentence, then three of the second one only.
    decoding.select(torch.tensor([0, 0, 1, 1]), None)
    decoding.step(torch.tensor([[4], [5], [6], [7]]))
    decoding.select(torch.tensor([3, 2, 3]), torch.tensor([1]))
    found = decoding.step(torch.tensor([[8], [9], [10]]))
    begin = TARGET[1, :2].tolist()
    rows = torch.tensor([[*begin, 7, 8], [*begin, 6, 9], [*begin, 7, 10]])
    torch.testing.assert_close(found, at_once(model, rows, [1, 1, 1]), rtol=1e-5, atol=1e-5)
