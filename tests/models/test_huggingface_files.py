"""Weights in every form they come in, and every file that can be missing, damaged or unsupported."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import hf_models  # noqa: E402
from hf_models import Family, cached, edit  # noqa: E402

from prism_mt._core.errors import PrismError  # noqa: E402
from prism_mt.models import huggingface  # noqa: E402
from prism_mt.models.model import Model  # noqa: E402

Copier = Callable[..., Path]


def equal_weights(one: Model, other: Model) -> bool:
    return one.weights.keys() == other.weights.keys() and all(
        np.array_equal(array, other.weights[name]) for name, array in one.weights.items()
    )


def test_weights_are_where_they_belong() -> None:
    folder, network, _ = cached("mbart50")
    weights, state = huggingface.read(folder).weights, network.state_dict()
    for ours, theirs in {
        "encoder.embedding.weight": "model.shared.weight",
        "encoder.layers.1.self_attention.output.weight": "model.encoder.layers.1.self_attn.out_proj.weight",
        "decoder.layers.0.cross_attention.key.bias": "model.decoder.layers.0.encoder_attn.k_proj.bias",
        "decoder.layers.0.cross_attention_norm.weight": "model.decoder.layers.0.encoder_attn_layer_norm.weight",
        "encoder.layers.0.feed_forward.inner.weight": "model.encoder.layers.0.fc1.weight",
        "encoder.layers.0.feed_forward_norm.weight": "model.encoder.layers.0.final_layer_norm.weight",
        "decoder.final_norm.bias": "model.decoder.layer_norm.bias",
        "decoder.embedding_norm.bias": "model.decoder.layernorm_embedding.bias",
    }.items():
        assert np.array_equal(weights[ours], state[theirs].numpy())
    assert np.array_equal(weights["encoder.positions.weight"], state["model.encoder.embed_positions.weight"][2:])
    assert np.array_equal(weights["output.bias"], state["final_logits_bias"][0])


@pytest.mark.parametrize("family", ["m2m100", "mbart50", "marian", "marian-separate"])
def test_pickle_gives_the_same_weights(family: Family, copied: Copier) -> None:
    folder = copied(family)
    (folder / "model.safetensors").unlink()
    state = cached(family)[1].state_dict()
    # What old versions stored as well.
    state["model.encoder.embed_positions.weights"] = torch.zeros(130, 32)
    state["model.encoder.version"] = torch.ones(1)
    torch.save(state, folder / "pytorch_model.bin")
    assert equal_weights(huggingface.read(folder), huggingface.read(cached(family)[0]))


def test_shards_give_the_same_weights(copied: Copier) -> None:
    folder = copied("m2m100")
    (folder / "model.safetensors").unlink()
    cached("m2m100")[1].save_pretrained(folder, max_shard_size="50KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    assert equal_weights(huggingface.read(folder), huggingface.read(cached("m2m100")[0]))
    next(folder.glob("model-*2-*.safetensors")).unlink()
    with pytest.raises(PrismError, match=r"names model-00002-of-.* which is missing"):
        huggingface.read(folder)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_other_precisions_become_float32(dtype: str, copied: Copier) -> None:
    from safetensors.torch import save_file

    folder = copied("m2m100")
    state = {name: array.to(getattr(torch, dtype)) for name, array in cached("m2m100")[1].state_dict().items()}
    state = {name: array for name, array in state.items() if "embed_tokens" not in name and "lm_head" not in name}
    save_file(state, folder / "model.safetensors")
    read = huggingface.read(folder).weights["encoder.layers.0.feed_forward.inner.weight"]
    assert read.dtype == np.float32
    assert np.array_equal(read, state["model.encoder.layers.0.fc1.weight"].float().numpy())


def test_untied_embeddings(copied: Copier) -> None:
    from safetensors.numpy import load_file, save_file

    folder = copied("m2m100")
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"] = weights["model.shared.weight"] + 1
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(
        PrismError, match="lm_head differs from the decoder's embedding, but the configuration ties"
    ):
        huggingface.read(folder)
    edit(folder / "config.json", tie_word_embeddings=False)
    model = huggingface.read(folder)
    assert model.spec.architecture.tied_embeddings
    assert not model.spec.architecture.tied_output
    assert np.array_equal(model.weights["output.weight"], weights["lm_head.weight"])


CONFIGS: list[tuple[Family, dict[str, object], str]] = [
    ("m2m100", {"model_type": "t5"}, "a model of type t5; supported: m2m_100, mbart, marian"),
    (
        "mbart50",
        {"activation_function": "gelu_new", "normalize_before": False, "d_model": "32"},
        "normalize_before: False; activation_function: gelu_new; d_model is '32' instead of a number",
    ),
    ("mbart25", {"normalize_embedding": False}, "normalize_embedding: False"),
    ("m2m100", {"quantization_config": {"bits": 4}}, "quantized weights"),
    ("m2m100", {"encoder_layers": 3}, r"missing encoder.layers.2.self_attention.query.weight"),
    ("m2m100", {"encoder_ffn_dim": 50}, r"is \(48, 32\) instead of \(50, 32\)"),
    ("m2m100", {"encoder_attention_heads": 5}, "5 attention heads do not divide the width 32"),
    ("m2m100", {"vocab_size": 400}, "ids up to 400, but config.json says vocab_size 400"),
    (
        "m2m100",
        {"eos_token_id": 5, "decoder_start_token_id": 5},
        "eos_token_id is 5, but the tokenizer has </s> at 2",
    ),
    ("m2m100", {"decoder_start_token_id": 7}, "decoder_start_token_id 7 is none of eos, pad and bos"),
    ("marian-separate", {"decoder_vocab_size": None}, "decoder_vocab_size is None instead of a number"),
]


@pytest.mark.parametrize(("family", "changes", "message"), CONFIGS)
def test_unsupported_configurations(
    family: Family, changes: dict[str, object], message: str, copied: Copier
) -> None:
    folder = copied(family)
    edit(folder / "config.json", **changes)
    with pytest.raises(PrismError, match=message):
        huggingface.read(folder)


def test_mbart_that_cannot_be_told(copied: Copier) -> None:
    folder = copied("mbart50")
    edit(folder / "tokenizer_config.json", tokenizer_class=None)
    edit(folder / "config.json", vocab_size=1000)
    with pytest.raises(PrismError, match="cannot tell mBART-25 from mBART-50: set tokenizer_class"):
        huggingface.read(folder)


def test_marian_without_languages(copied: Copier) -> None:
    folder = copied("marian")
    edit(folder / "tokenizer_config.json", source_lang=None)
    with pytest.raises(PrismError, match=r"set source_lang and target_lang in tokenizer_config.json"):
        huggingface.read(folder)


@pytest.mark.parametrize(
    ("family", "name", "content", "message"),
    [
        ("m2m100", "config.json", None, "has no config.json"),
        ("m2m100", "config.json", b"{", "config.json is not valid JSON"),
        ("m2m100", "vocab.json", None, "has no vocab.json"),
        ("m2m100", "vocab.json", b'{"a": 0, "b": 0}', "'b' has the id 0; each id must occur once"),
        ("m2m100", "model.safetensors", None, "has no weights: model.safetensors or pytorch_model.bin"),
        ("m2m100", "model.safetensors", b"\x08\0\0\0\0\0\0\0{}", "model.safetensors is damaged"),
        ("nllb", "sentencepiece.bpe.model", None, "copy sentencepiece.bpe.model from the model"),
        ("nllb", "sentencepiece.bpe.model", b"no model", "sentencepiece.bpe.model is damaged"),
        ("m2m100", "sentencepiece.bpe.model", b"no model", "sentencepiece.bpe.model is damaged"),
        ("m2m100", "sentencepiece.bpe.model", b"", "sentencepiece.bpe.model is damaged"),
        ("nllb", "added_tokens.json", b'{"tyv_Cyrl": -1}', "added_tokens.json: 'tyv_Cyrl' has no valid id"),
        (
            "nllb",
            "tokenizer_config.json",
            b'{"added_tokens_decoder": {"x": {}}}',
            "added_tokens_decoder .* damaged",
        ),
        (
            "nllb",
            "tokenizer_config.json",
            b'{"added_tokens_decoder": {"9": {"content": 1.5}}}',
            "tokenizer_config.json: 1.5 is not a token",
        ),
        ("marian", "target.spm", None, "has no target.spm"),
        ("marian", "source.spm", b"no model", "source.spm is damaged"),
        ("marian-separate", "target_vocab.json", None, "has no target_vocab.json"),
        ("marian-separate", "target_vocab.json", b'{"<unk>": 0, "</s>": 1}', "</s> has another id"),
    ],
)
def test_missing_and_damaged_files(
    family: Family, name: str, content: bytes | None, message: str, copied: Copier
) -> None:
    folder = copied(family)
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises(PrismError, match=message):
        huggingface.read(folder)


def test_cut_off_weights(copied: Copier) -> None:
    path = copied("marian") / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(PrismError, match=r"model.safetensors is damaged"):
        huggingface.read(path.parent)


def test_tokenizer_json_alone_is_not_enough(copied: Copier) -> None:
    folder = copied("nllb")
    (folder / "sentencepiece.bpe.model").rename(folder / "tokenizer.json")
    with pytest.raises(PrismError, match=r"a tokenizer.json alone is not enough: copy sentencepiece.bpe.model"):
        huggingface.read(folder)


def test_quantized_and_foreign_weights(copied: Copier) -> None:
    from safetensors.numpy import load_file, save_file

    folder = copied("m2m100")
    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"model.encoder.layers.0.fc1.lora_A.weight": np.ones(3)}, folder / "model.safetensors")
    with pytest.raises(PrismError, match=r"unexpected model.encoder.layers.0.fc1.lora_A.weight"):
        huggingface.read(folder)
    weights["model.shared.weight"] = weights["model.shared.weight"].astype(np.int8)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(PrismError, match=r"model.shared.weight has the unsupported type I8"):
        huggingface.read(folder)


def test_index_that_leaves_the_folder(copied: Copier) -> None:
    folder = copied("m2m100")
    (folder / "model.safetensors").unlink()
    hf_models.write_json(folder / "model.safetensors.index.json", {"weight_map": {"a": "../model.safetensors"}})
    with pytest.raises(PrismError, match="is not a plain file name"):
        huggingface.read(folder)


def test_is_huggingface(tmp_path: Path) -> None:
    assert huggingface.is_huggingface(cached("marian")[0])
    assert not huggingface.is_huggingface(tmp_path)
    hf_models.write_json(tmp_path / "config.json", {"prism_format": 1})
    assert not huggingface.is_huggingface(tmp_path)
    assert not huggingface.is_huggingface(tmp_path / "config.json")


def test_reading_imports_neither_torch_nor_transformers() -> None:
    program = (
        "import sys; from pathlib import Path; from prism_mt.models import huggingface; "
        "huggingface.read(Path(sys.argv[1])).source.encode('Hallo'); "
        "print(sorted({'torch', 'transformers', 'huggingface_hub'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(cached("nllb")[0])], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_fetch_takes_the_pickle_only_where_it_is_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    calls: list[tuple[str, list[str], bool]] = []

    def snapshot(name: str, allow_patterns: list[str], local_files_only: bool) -> str:
        calls.append((name, allow_patterns, local_files_only))
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert huggingface.fetch("org/name", offline=True) == tmp_path
    assert [(name, "pytorch_model.bin" in patterns, offline) for name, patterns, offline in calls] == [
        ("org/name", False, True),
        ("org/name", True, True),
    ]
    calls.clear()
    (tmp_path / "model.safetensors").touch()
    huggingface.fetch("org/name", offline=False)
    assert [(name, "pytorch_model.bin" in patterns, offline) for name, patterns, offline in calls] == [
        ("org/name", False, False)
    ]


def test_fetch_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    with pytest.raises(PrismError, match=r"`offline=`: not fetching hf:nobody/nothing"):
        huggingface.fetch("nobody/nothing", offline=True)

    def no_network(*_: object, **__: object) -> str:
        raise OSError("no route to host\nmore")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", no_network)
    with pytest.raises(PrismError, match=r"cannot fetch hf:nobody/nothing: no route to host$"):
        huggingface.fetch("nobody/nothing", offline=False)


@pytest.mark.parametrize("family", ["m2m100", "marian-separate"])
@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_any_value_in_the_configuration_is_a_sentence_or_a_model(
    family: Family, name: str, copied: Copier
) -> None:
    folder = copied(family)
    whole = json.loads((folder / name).read_text("utf-8"))
    texts = [
        json.dumps({**whole, key: value})
        for key in whole
        for value in (None, -1, 10**30, 1.5, "x", "", [], ["x"], {}, {"a": 1}, True)
    ]
    refused = 0
    for text in [*texts, "[" * 100_000, "[]", '{"a":']:
        (folder / name).write_text(text, "utf-8")
        try:
            huggingface.read(folder)
        except PrismError:
            refused += 1
    assert refused >= 3  # the last three at least; anything but our own error ends the test
