"""The encoder of a translation model, on CTranslate2 and on torch."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import SENTENCES, make_model

from prism_mt._core.errors import PrismError
from prism_mt.encoders.factory import ALL_LAYERS, EncoderConfig, open_both_encoders, open_piece_encoder
from prism_mt.encoders.tokens import SubwordTokenizer
from prism_mt.models.directory import write_model
from prism_mt.models.spec import Symbol

TEXTS = ["", *SENTENCES[:6]]


@pytest.mark.parametrize(
    "choices",
    [
        {"norm": "pre"},
        {
            "norm": "post",
            "final_norm": False,
            "positions": "learned",
            "embedding_norm": True,
            "activation": "gelu",
        },
        {"norm": "post", "final_norm": False, "positions": "marian", "scaled_embedding": False},
    ],
    ids=["pre-norm", "bert-like", "marian"],
)
def test_every_layer_is_what_the_network_computes(choices: dict[str, Any], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra train")
    from prism_mt.models.network import from_weights

    directory = write_model(make_model(**choices), tmp_path / "model")
    network = from_weights(directory.spec.architecture, directory.weights())
    everything = open_piece_encoder("model", "en", lambda: directory, config=ALL_LAYERS)
    assert (everything.layer, everything.layers, everything.width) == ("all", 3, 32)
    states = everything.encode(TEXTS)
    for place, text in enumerate(TEXTS):
        ids = directory.source.encode(text)
        with torch.no_grad():
            wanted = network.encode(torch.tensor([[*ids, 2]]))[0].numpy()
        assert states[place].shape == (3, len(ids), 32)
        assert states[place][-1] == pytest.approx(wanted[:-1], abs=1e-5)
        embedded = directory.weights()["encoder.embedding.weight"][ids]
        assert np.abs(states[place][0] - embedded).max(initial=1.0) > 0.1  # positions and scale are in it
    for layer in (1, -1):
        encoder = open_piece_encoder("model", "en", lambda: directory, config=EncoderConfig(layer=layer))
        assert (encoder.layer, encoder.layers) == (str(layer % 3), 1)
        for mine, full in zip(encoder.encode(TEXTS), states, strict=True):
            assert mine[0] == pytest.approx(full[layer], abs=1e-4)


def test_a_language_that_the_model_lacks(tmp_path: Path) -> None:
    directory = write_model(make_model(), tmp_path / "model")
    with pytest.raises(PrismError, match="kk"):
        open_piece_encoder("model", "kk", lambda: directory)


@pytest.mark.parametrize(
    ("source", "inputs", "names"),
    [
        (("pieces", "eos"), ([9, 2], [9, 2]), ("made", "made")),
        (("source-tag", "pieces", "eos"), (["en", 9, 2], ["de", 9, 2]), ("made-en", "made-de")),
        (("target-tag", "pieces", "eos"), (["en", 9, 2], ["en", 9, 2]), ("made-to-en", "made-to-en")),
    ],
)
def test_sources_are_encoded_as_if_to_be_translated(
    source: tuple[Symbol, ...],
    inputs: tuple[list[str | int], ...],
    names: tuple[str, ...],
    tmp_path: Path,
) -> None:
    made = make_model()
    spec = replace(made.spec, conventions=replace(made.spec.conventions, source=source))
    directory = write_model(replace(made, spec=spec), tmp_path / "model")
    encoders: tuple[Any, ...] = open_both_encoders("model", "en", "de", lambda: directory)
    for encoder, wanted, name in zip(encoders, inputs, names, strict=True):
        assert isinstance(encoder.tokenizer, SubwordTokenizer)
        around = [*encoder.tokenizer.before, 9, *encoder.tokenizer.after]
        assert around == [spec.languages[one] if isinstance(one, str) else one for one in wanted]
        assert encoder.name == name
    first, second = (encoder.encode(SENTENCES[:1])[0] for encoder in encoders)
    assert (np.abs(first - second).max() > 1e-3) == (names[0] != names[1])
    if "source-tag" in source:
        with pytest.raises(PrismError, match="made needs the source language: set `src_lang=`"):
            open_both_encoders("model", "en", "", lambda: directory)
