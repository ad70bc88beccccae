"""BERT-like folders without transformers, beside transformers itself."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import SENTENCES
from tiny_bert import make_bert

from prism_mt._core.errors import PrismError
from prism_mt.encoders.ct2 import CT2Encoder
from prism_mt.encoders.factory import ALL_LAYERS, EncoderConfig, open_piece_encoder
from prism_mt.models.directory import ModelDirectory

TEXTS = ["the dog barks loudly", "a cat", "", "the black cat sleeps the black dog barks"]
torch = pytest.importorskip("torch", reason="needs the extra hf")
library: Any = pytest.importorskip("transformers", reason="needs the extra hf")


def no_model() -> ModelDirectory:
    raise AssertionError("no model is wanted")


def assert_same_vectors(folder: Path, model: Any, texts: list[str]) -> None:
    """Both engines give transformers' hidden states."""
    everything: Any = open_piece_encoder(str(folder), "en", no_model, config=ALL_LAYERS)
    layers = range(1, everything.layers)
    single = {
        n: open_piece_encoder(str(folder), "en", no_model, config=EncoderConfig(layer=n)).encode(texts)
        for n in layers
    }
    found = everything.encode(texts)
    for place, text in enumerate(texts):
        tokens = everything.tokenizer.encode(text)
        with torch.no_grad():
            states = model(input_ids=torch.tensor([tokens.ids]), output_hidden_states=True).hidden_states
        wanted = torch.stack(states)[:, 0, tokens.pieces].numpy()
        assert found[place] == pytest.approx(wanted, abs=1e-5)
        for layer in layers:
            assert single[layer][place][0] == pytest.approx(wanted[layer], abs=1e-5)


def test_bert_gives_every_layer_without_special_tokens(tmp_path: Path) -> None:
    model, tokenizer = make_bert(tmp_path / "bert")
    assert_same_vectors(tmp_path / "bert", model, TEXTS)
    encoder: Any = open_piece_encoder(str(tmp_path / "bert"), "en", no_model)
    assert isinstance(encoder, CT2Encoder)
    assert (encoder.name, encoder.layer, encoder.layers, encoder.width) == ("bert", "2", 1, 8)
    for text in TEXTS:
        assert encoder.tokenizer.encode(text).ids == tokenizer(text)["input_ids"]
        assert encoder.encode([text])[0].shape == (1, len(text.split()), 8)


def test_old_names_of_norms_and_a_head_do_not_matter(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    model, _ = make_bert(tmp_path / "bert")
    path = tmp_path / "bert" / "model.safetensors"
    weights = {f"bert.{name}": array for name, array in load_file(path).items()}
    for new, old in (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")):
        weights = {name.replace(new, old): array for name, array in weights.items()}
    weights |= {"cls.predictions.bias": np.zeros(13, np.float32)}
    save_file({**weights, "bert.embeddings.position_ids": np.arange(32)[None]}, path)
    assert_same_vectors(tmp_path / "bert", model, TEXTS)


def test_distilbert(tmp_path: Path) -> None:
    sizes = {"vocab_size": 13, "n_layers": 2, "n_heads": 2, "dim": 8, "hidden_dim": 16}
    make_bert(tmp_path / "distilbert")
    config = library.DistilBertConfig(**sizes, max_position_embeddings=32, initializer_range=0.5)
    model = library.DistilBertModel(config).eval()
    model.save_pretrained(tmp_path / "distilbert")
    assert_same_vectors(tmp_path / "distilbert", model, TEXTS)


def test_xlm_roberta_needs_sentencepiece_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sentencepiece

    vocabulary = make_sentencepiece(tmp_path)
    pieces = sentencepiece.SentencePieceProcessor(model_proto=vocabulary)
    torch.manual_seed(2)
    config = library.XLMRobertaConfig(
        vocab_size=len(pieces) + 2,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=202,
        type_vocab_size=1,
        pad_token_id=1,
        initializer_range=0.5,
    )
    model = library.XLMRobertaModel(config).eval()
    model.save_pretrained(tmp_path / "xlmr")
    (tmp_path / "xlmr" / "sentencepiece.bpe.model").write_bytes(vocabulary)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert_same_vectors(tmp_path / "xlmr", model, [*SENTENCES, ""])
    encoder: Any = open_piece_encoder(str(tmp_path / "xlmr"), "en", no_model)
    assert encoder.limit == 200
    ids = encoder.tokenizer.encode(SENTENCES[0]).ids
    assert ids == [0, *(index + 1 for index in pieces.encode(SENTENCES[0])), 2]
    assert encoder.tokenizer.encode("𓀀").ids[-2] == 3  # unknown


def make_sentencepiece(tmp_path: Path) -> bytes:
    """A model with SentencePiece's own order of special symbols, as XLM-R's has it."""
    import sentencepiece

    (tmp_path / "text.txt").write_text("\n".join(SENTENCES), "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "text.txt"),
        model_prefix=str(tmp_path / "made"),
        vocab_size=200,
        hard_vocab_limit=False,
        character_coverage=1.0,
        minloglevel=2,
    )
    return (tmp_path / "made.model").read_bytes()


def test_a_text_that_is_too_long_and_a_folder_without_tokenizer(tmp_path: Path) -> None:
    make_bert(tmp_path / "bert", positions=8)
    encoder = open_piece_encoder(str(tmp_path / "bert"), "en", no_model)
    with pytest.raises(PrismError, match="9 pieces is longer than the limit of 8 of the encoder bert"):
        encoder.encode(["the dog", "the dog " * 3 + "barks"])
    for name in ("tokenizer.json", "vocab.txt"):
        (tmp_path / "bert" / name).unlink(missing_ok=True)
    with pytest.raises(PrismError, match="it has no tokenizer"):
        open_piece_encoder(str(tmp_path / "bert"), "en", no_model)


def test_layers_that_there_are_not(tmp_path: Path) -> None:
    make_bert(tmp_path / "bert")
    for layer in (0, 3, -3):
        with pytest.raises(PrismError, match=f"bert has no layer {layer}: choose 1 to 2, or -1 for the last"):
            open_piece_encoder(str(tmp_path / "bert"), "en", no_model, config=EncoderConfig(layer=layer))


def test_incomplete_and_damaged_weights(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    make_bert(tmp_path / "bert")
    path = tmp_path / "bert" / "model.safetensors"
    whole = load_file(path)

    def encode(weights: dict[str, Any]) -> None:
        save_file(weights, path, metadata={"format": "pt"})
        open_piece_encoder(str(tmp_path / "bert"), "en", no_model).encode(["the dog"])

    key = "encoder.layer.1.attention.self.key.weight"
    with pytest.raises(PrismError, match="incomplete: encoder.layers.1.self_attention.key.weight is missing"):
        encode({name: array for name, array in whole.items() if name != key})
    with pytest.raises(PrismError, match=r"key.weight is \(8, 7\) instead of \(8, 8\)"):
        encode({**whole, key: np.ascontiguousarray(whole[key][:, :7])})
    with pytest.raises(PrismError, match="layer.1.attention.self.key.weight has values that are not finite"):
        encode({**whole, key: whole[key] * np.nan})
    path.write_bytes(b"no weights")
    with pytest.raises(PrismError, match=r"model.safetensors is damaged"):
        open_piece_encoder(str(tmp_path / "bert"), "en", no_model).encode(["the dog"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer.json", b"{}"),
        ("tokenizer.json", b"\xff"),
        ("tokenizer.json", b"[" * 100_000),
        ("config.json", b"[]"),
        ("config.json", b'{"model_type": "bert"}'),
        ("config.json", b'{"model_type": ["bert"]}'),
        ("config.json", b"[" * 100_000),
    ],
)
def test_damaged_files_are_one_sentence(name: str, content: bytes, tmp_path: Path) -> None:
    make_bert(tmp_path / "bert")
    (tmp_path / "bert" / name).write_bytes(content)
    with pytest.raises(PrismError, match="bert"):
        open_piece_encoder(str(tmp_path / "bert"), "en", no_model)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_hidden_layers", 10**9),
        ("vocab_size", 10**12),
        ("hidden_size", "eight"),
        ("num_attention_heads", 3),
        ("layer_norm_eps", "x"),
        ("max_position_embeddings", -1),
        ("vocab_size", 5),
    ],
)
def test_absurd_configurations_are_one_sentence(key: str, value: Any, tmp_path: Path) -> None:
    make_bert(tmp_path / "bert")
    path = tmp_path / "bert" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}), "utf-8")
    with pytest.raises(PrismError):
        open_piece_encoder(str(tmp_path / "bert"), "en", no_model)


def test_a_tokenizer_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bert(tmp_path / "bert")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(
        PrismError, match=r"tokenizer.json needs an optional package: pip install 'prism-mt\[encod"
    ):
        open_piece_encoder(str(tmp_path / "bert"), "en", no_model)
