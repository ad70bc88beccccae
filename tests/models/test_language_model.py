import dataclasses

import pytest
import torch

from prism_mt._core.errors import PrismError
from prism_mt.models.language_model import LanguageModel, from_weights
from prism_mt.models.network import to_weights
from prism_mt.models.spec import Architecture, weight_shapes

TINY = Architecture(
    width=8,
    encoder_layers=0,
    decoder_layers=2,
    encoder_heads=1,
    decoder_heads=2,
    encoder_feed_forward=0,
    decoder_feed_forward=12,
    source_vocabulary=11,
    target_vocabulary=11,
    max_positions=20,
    activation="gelu",
    positions="learned",
)


def made() -> LanguageModel:
    torch.manual_seed(2)
    return LanguageModel(TINY).eval()


def test_later_tokens_are_not_seen() -> None:
    model = made()
    logits = model.project(model(torch.tensor([[2, 8, 4]])))
    assert logits.shape == (1, 3, 11)
    torch.testing.assert_close(logits[:, :2], model.project(model(torch.tensor([[2, 8]]))))


def test_weights_are_the_canonical_ones_without_encoder() -> None:
    shapes = {name: tuple(tensor.shape) for name, tensor in made().state_dict().items()}
    assert shapes == dict(weight_shapes(TINY))
    assert {name.split(".")[0] for name in shapes} == {"decoder"}
    assert not any("cross" in name for name in shapes)


def test_weights_go_out_and_in() -> None:
    model, ids = made(), torch.tensor([[2, 8, 4]])
    assert torch.equal(from_weights(TINY, to_weights(model))(ids), model(ids))


def test_a_translation_model_is_refused() -> None:
    full = dataclasses.replace(TINY, encoder_layers=1, encoder_feed_forward=8)
    with pytest.raises(PrismError, match="this is a translation model"):
        from_weights(full, {})
