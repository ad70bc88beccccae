"""LASER2 and the original LASER beside a forward pass in NumPy."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from prism_mt._core.errors import PrismError
from prism_mt.encoders.factory import open_sentence_encoder


@pytest.fixture
def pieces(tmp_path: Path) -> Path:
    """A tiny SentencePiece model as `laser2.spm`."""
    import sentencepiece

    text = tmp_path / "text.txt"
    text.write_text("the dog sleeps\nthe cat sleeps\na dog barks loudly\n" * 20, "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(tmp_path / "laser2"),
        vocab_size=40,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (tmp_path / "laser2.model").rename(tmp_path / "laser2.spm")
    return tmp_path


def lstm_direction(weights: dict[str, Any], suffix: str, inputs: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """One direction of one LSTM layer in NumPy; gates in the order input, forget, cell, output."""
    w_in, w_state = (weights[f"lstm.weight_{kind}_{suffix}"].numpy() for kind in ("ih", "hh"))
    bias = sum(weights[f"lstm.bias_{kind}_{suffix}"].numpy() for kind in ("ih", "hh"))
    size = w_state.shape[1]
    state, cell, outputs = np.zeros(size), np.zeros(size), []
    for vector in inputs:
        gates = w_in @ vector + w_state @ state + bias
        enter, forget, new, leave = (
            gates[:size],
            gates[size : 2 * size],
            gates[2 * size : 3 * size],
            gates[3 * size :],
        )
        cell = _sigmoid(forget) * cell + _sigmoid(enter) * np.tanh(new)
        state = _sigmoid(leave) * np.tanh(cell)
        outputs.append(state)
    return np.array(outputs)


def _sigmoid(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray(1 / (1 + np.exp(-x)))


def test_laser_against_an_independent_forward_pass(pieces: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra train")
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(pieces / "laser2.spm"))
    names = [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]
    (pieces / "laser2.cvocab").write_text("".join(f"{name} 1\n" for name in names[:-2]), "utf-8")
    params = {"num_embeddings": 60, "embed_dim": 6, "hidden_size": 5, "num_layers": 2, "bidirectional": True}
    torch.manual_seed(1)
    lstm = torch.nn.LSTM(6, 5, num_layers=2, bidirectional=True)
    weights = {f"lstm.{name}": value.detach() for name, value in lstm.state_dict().items()}
    weights["embed_tokens.weight"] = torch.randn(60, 6)
    torch.save({"params": params, "model": weights}, pieces / "laser2.pt")
    texts = ["The dog sleeps", "a cat", "the dog barks loudly the cat"]
    encoder = open_sentence_encoder(str(pieces))
    for text, vector in zip(texts, encoder.encode(texts), strict=True):
        ids = [
            4 + names.index(piece) if piece in names[:-2] else 3
            for piece in processor.encode(text.lower(), out_type=str)
        ]
        states = weights["embed_tokens.weight"].numpy()[[*ids, 2]]
        for layer in range(2):
            forward = lstm_direction(weights, f"l{layer}", states)
            backward = lstm_direction(weights, f"l{layer}_reverse", states[::-1])[::-1]
            states = np.concatenate([forward, backward], axis=1)
        pooled = states.max(axis=0)
        assert vector == pytest.approx(pooled / np.linalg.norm(pooled), abs=1e-5)


CODES = "t h 9\nth e</w> 8\nd o 7\ndo g</w> 6\nc a 5\nca t</w> 4\ns l 3\n"


def test_the_original_encoder_of_93_languages(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra train")
    (tmp_path / "93langs.fcodes").write_text(CODES, "utf-8")
    # `cat` is not in the vocabulary: it is taken apart as it was put together.
    (tmp_path / "93langs.fvocab").write_text("the 9\ndog 6\nca@@ 5\nt 4\nsl@@ 3\n", "utf-8")
    ids = {name: 4 + place for place, name in enumerate(("the", "dog", "ca@@", "t", "sl@@", "e@@", "p", "."))}
    params = {"num_embeddings": 20, "embed_dim": 6, "hidden_size": 5, "num_layers": 1, "bidirectional": True}
    torch.manual_seed(1)
    lstm = torch.nn.LSTM(6, 5, bidirectional=True)
    weights = {f"lstm.{name}": value.detach() for name, value in lstm.state_dict().items()}
    weights["embed_tokens.weight"] = torch.randn(20, 6)
    torch.save({"params": params, "model": weights, "dictionary": ids}, tmp_path / "bilstm.93langs.2018-12-26.pt")
    [vector] = open_sentence_encoder(str(tmp_path)).encode(["The cat sleep."])
    pieces = [ids[name] for name in ("the", "ca@@", "t", "sl@@", "e@@", "e@@", "p", ".")]
    inputs = weights["embed_tokens.weight"].numpy()[[*pieces, 2]]
    forward = lstm_direction(weights, "l0", inputs)
    backward = lstm_direction(weights, "l0_reverse", inputs[::-1])[::-1]
    pooled = np.concatenate([forward, backward], axis=1).max(axis=0)
    assert vector == pytest.approx(pooled / np.linalg.norm(pooled), abs=1e-5)


def test_incomplete_laser_folder_is_an_error(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra train")
    torch.save({}, tmp_path / "laser2.pt")
    with pytest.raises(PrismError, match="is not a complete LASER2 encoder"):
        open_sentence_encoder(str(tmp_path))


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x02(", b"PK\x03\x04"])
def test_damaged_laser_weights_are_an_error(pieces: Path, content: bytes) -> None:
    pytest.importorskip("torch", reason="needs the extra train")
    (pieces / "laser2.pt").write_bytes(content)
    with pytest.raises(PrismError, match="is not a complete LASER2 encoder"):
        open_sentence_encoder(str(pieces))
