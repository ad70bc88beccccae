import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fairseq_checkpoints import (
    DECODER_POSITIONS,
    ENCODER_LAYERS,
    WIDTH,
    Recipe,
    State,
    make_checkpoint,
    pieces,
    stand_in,
    stand_ins,
)
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.models.fairseq import reader as fairseq
from prism_mt.models.fairseq.files import FILES
from prism_mt.models.model import Model

GOLDEN = Path(__file__).parents[1] / "fixtures" / "fairseq-postnorm"
"""A small random checkpoint in the original layout, with the scores that the original tool gives for it."""


def made(folder: Path, **options: Any) -> tuple[Model, State]:
    state = make_checkpoint(folder, Recipe(**options))
    return fairseq.read(folder), state


def refusal(path: Path) -> str:
    with pytest.raises(PrismError) as caught:
        fairseq.read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def as_float(tensor: torch.Tensor) -> NDArray[Any]:
    return tensor.float().numpy()


LAYER_NAMES = {
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.out_proj",
    "self_attention_norm": "self_attn_layer_norm",
    "cross_attention.query": "encoder_attn.q_proj",
    "cross_attention.key": "encoder_attn.k_proj",
    "cross_attention.value": "encoder_attn.v_proj",
    "cross_attention.output": "encoder_attn.out_proj",
    "cross_attention_norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "feed_forward_norm": "final_layer_norm",
}


def theirs(name: str) -> str:
    """fairseq's current name for a weight of ours."""
    for ours, other in (
        (".embedding.", ".embed_tokens."),
        (".embedding_norm.", ".layernorm_embedding."),
        (".final_norm.", ".layer_norm."),
        ("output.", "decoder.output_projection.") if name.startswith("output.") else ("", ""),
    ):
        name = name.replace(ours, other) if ours else name
    head, layers, rest = name.partition(".layers.")
    if layers:
        index, _, part = rest.partition(".")
        sublayer, _, kind = part.rpartition(".")
        name = f"{head}.layers.{index}.{LAYER_NAMES[sublayer]}.{kind}"
    return name


@pytest.mark.parametrize("form", ["args", "cfg", "cfg-namespace", "omegaconf", "omegaconf-nested"])
@pytest.mark.parametrize("pre_norm", [True, False])
def test_options_are_read_from_every_form(tmp_path: Path, form: str, pre_norm: bool) -> None:
    model, state = made(tmp_path, form=form, pre_norm=pre_norm)
    architecture = model.spec.architecture
    assert architecture.norm == ("pre" if pre_norm else "post")
    assert architecture.final_norm == pre_norm
    assert (architecture.width, architecture.encoder_layers, architecture.decoder_layers) == (16, 2, 1)
    assert (architecture.encoder_heads, architecture.decoder_heads) == (4, 2)
    assert (architecture.encoder_feed_forward, architecture.decoder_feed_forward) == (24, 20)
    assert architecture.source_vocabulary == architecture.target_vocabulary == len(pieces()[1]) + 4
    assert architecture.positions == "sinusoidal"
    assert architecture.max_positions == 2000
    assert architecture.scaled_embedding
    assert architecture.tied_embeddings
    assert architecture.tied_output
    for name, array in model.weights.items():
        assert np.array_equal(array, state[theirs(name)].numpy()), name


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"no_scale_embedding": True}, {"scaled_embedding": False}),
        ({"activation_fn": "gelu"}, {"activation": "gelu"}),
        ({"activation_fn": "swish"}, {"activation": "swish"}),
        ({"arch": "transformer_wmt_en_de_big"}, {"activation": "relu"}),
        ({"arch": "mbart_large"}, {"activation": "relu"}),
        ({"quant_noise_scalar": 0.5, "encoder_layerdrop": 0.2}, {"activation": "relu"}),
    ],
)
def test_single_options(tmp_path: Path, options: dict[str, Any], expected: dict[str, Any]) -> None:
    model, _ = made(tmp_path, options=options)
    assert {name: getattr(model.spec.architecture, name) for name in expected} == expected


def test_missing_options_take_the_defaults_of_the_original(tmp_path: Path) -> None:
    left_out = [f"{side}_{name}" for side in ("encoder", "decoder") for name in ("normalize_before", "embed_dim")]
    left_out += ["arch", "activation_fn", "encoder_attention_heads", "encoder_layers"]
    model, _ = made(tmp_path, without=tuple(left_out))
    architecture = model.spec.architecture
    assert (architecture.encoder_heads, architecture.activation, architecture.norm) == (8, "relu", "post")
    assert architecture.encoder_layers == ENCODER_LAYERS


def test_stacked_projections_are_taken_apart(tmp_path: Path) -> None:
    model, state = made(tmp_path, stacked=True, legacy=True)
    stacked = state["decoder.layers.0.encoder_attn.in_proj_weight"].numpy()
    bias = state["encoder.layers.1.self_attn.in_proj_bias"].numpy()
    for number, name in enumerate(("query", "key", "value")):
        rows = slice(number * WIDTH, (number + 1) * WIDTH)
        assert np.array_equal(model.weights[f"decoder.layers.0.cross_attention.{name}.weight"], stacked[rows])
        assert np.array_equal(model.weights[f"encoder.layers.1.self_attention.{name}.bias"], bias[rows])


def test_numbered_norms(tmp_path: Path) -> None:
    model, state = made(tmp_path, numbered_norms=True)
    for number, name in enumerate(("self_attention", "cross_attention", "feed_forward")):
        expected = state[f"decoder.layers.0.layer_norms.{number}.weight"].numpy()
        assert np.array_equal(model.weights[f"decoder.layers.0.{name}_norm.weight"], expected)
    expected = state["encoder.layers.1.layer_norms.1.bias"].numpy()
    assert np.array_equal(model.weights["encoder.layers.1.feed_forward_norm.bias"], expected)


def test_pre_norm_of_early_checkpoints_has_no_final_norm(tmp_path: Path) -> None:
    model, _ = made(tmp_path, pre_norm=True, final_norm=False)
    assert model.spec.architecture.norm == "pre"
    assert not model.spec.architecture.final_norm


@pytest.mark.parametrize("output_name", ["decoder.output_projection.weight", "decoder.embed_out"])
def test_separate_output(tmp_path: Path, output_name: str) -> None:
    model, state = made(tmp_path, share_all=False, share_output=False, output_name=output_name)
    architecture = model.spec.architecture
    assert not architecture.tied_embeddings
    assert not architecture.tied_output
    assert np.array_equal(model.weights["output.weight"], state[output_name].numpy())
    assert np.array_equal(model.weights["decoder.embedding.weight"], state["decoder.embed_tokens.weight"].numpy())


def test_shared_output_with_separate_vocabularies(tmp_path: Path) -> None:
    model, state = made(tmp_path, share_all=False, target_only=("nur", "<ja>"))
    architecture = model.spec.architecture
    assert (architecture.tied_embeddings, architecture.tied_output) == (False, True)
    assert architecture.target_vocabulary == architecture.source_vocabulary + 2
    assert model.source is not model.target
    assert model.target.ids["nur"] == architecture.source_vocabulary
    assert model.spec.languages["ja"] == architecture.source_vocabulary + 1
    assert "output.weight" not in model.weights
    assert np.array_equal(model.weights["decoder.embedding.weight"], state["decoder.embed_tokens.weight"].numpy())


@pytest.mark.parametrize("name", ["decoder.output_projection.weight", "decoder.embed_tokens.weight"])
def test_a_shared_weight_may_be_stored_again_if_it_is_equal(tmp_path: Path, name: str) -> None:
    copy = make_checkpoint(tmp_path)["encoder.embed_tokens.weight"].clone()
    assert made(tmp_path, weights={name: copy})[0].spec.architecture.tied_output
    make_checkpoint(tmp_path, Recipe(weights={name: copy + 1}))
    assert "which it should share" in refusal(tmp_path)


def test_learned_positions_begin_after_the_padding_index(tmp_path: Path) -> None:
    model, state = made(tmp_path, learned=True, embedding_norm=True)
    architecture = model.spec.architecture
    assert (architecture.positions, architecture.embedding_norm) == ("learned", True)
    assert architecture.max_positions == DECODER_POSITIONS  # the shorter of both tables
    for side in ("encoder", "decoder"):
        table = state[f"{side}.embed_positions.weight"].numpy()
        assert np.array_equal(model.weights[f"{side}.positions.weight"], table[2 : 2 + DECODER_POSITIONS])
        norm = state[f"{side}.layernorm_embedding.weight"].numpy()
        assert np.array_equal(model.weights[f"{side}.embedding_norm.weight"], norm)


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_become_float32(tmp_path: Path, legacy: bool, dtype: torch.dtype) -> None:
    model, state = made(tmp_path, dtype=dtype, legacy=legacy)
    for name, array in model.weights.items():
        assert array.dtype == np.float32
        assert np.array_equal(array, as_float(state[theirs(name)])), name


def test_float32_weights_stay_in_the_file(tmp_path: Path) -> None:
    model, _ = made(tmp_path)
    assert not any(array.flags.owndata or array.flags.writeable for array in model.weights.values())


def test_unaligned_weights_of_legacy_files_are_usable(tmp_path: Path) -> None:
    for name in ("", "x", "xx", "xxx"):  # moves the numbers by a byte each
        model, _ = made(tmp_path, legacy=True, options={"note": name})
        assert all(array.flags.aligned and array.flags.c_contiguous for array in model.weights.values())


def test_identity(tmp_path: Path) -> None:
    model, _ = made(tmp_path / "m39v1")
    assert (model.spec.name, model.spec.origin) == ("m39v1", "fairseq")
    content = b"".join((tmp_path / "m39v1" / name).read_bytes() for name in FILES)
    assert model.spec.origin_digest == hashlib.md5(content).hexdigest() == fairseq.digest(tmp_path / "m39v1")
    assert dict(model.spec.languages) == {"de": 4, "en": 5, "fr": 6}
    assert model.source is model.target
    assert [model.source.piece(index) for index in range(5)] == ["<s>", "<pad>", "</s>", "<unk>", "<de>"]


def test_all_unsupported_things_are_told_at_once(tmp_path: Path) -> None:
    options = {
        "arch": "lightconv",
        "activation_fn": "gelu_fast",
        "adaptive_softmax_cutoff": "100,200",
        "adaptive_input": True,
        "no_cross_attention": True,
        "cross_self_attention": True,
        "no_token_positional_embeddings": True,
        "encoder_layers_to_keep": "0",
        "decoder_layers_to_keep": "0",
        "decoder_output_dim": 8,
        "decoder_normalize_before": True,
        "decoder_learned_pos": True,
        "encoder_attention_heads": 5,
        "decoder_ffn_embed_dim": 21,
        "moe_freq": 2,
        "base_layers": 1,
    }
    extra = {
        "encoder.quant_noise.weight": torch.zeros(WIDTH, WIDTH),
        "decoder.layers.0.experts.0.fc1.weight": torch.zeros(1),
    }
    make_checkpoint(tmp_path, Recipe(options=options, weights=extra))
    message = refusal(tmp_path)
    for word in [*(set(options) - {"arch", "activation_fn"}), "lightconv", "gelu_fast", *extra]:
        assert word in message, word
    assert "decoder_ffn_embed_dim 21 (the weights have 20)" in message
    assert "encoder_attention_heads 5 for a width of 16" in message


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (Recipe(options={"arch": "transformer_lm_gpt"}), "the architecture transformer_lm_gpt"),
        (Recipe(options={"encoder_layers": 3}), "encoder_layers 3 (the weights have 2)"),
        (Recipe(options={"encoder_embed_dim": 32}), "encoder_embed_dim 32 (the weights have 16)"),
        (
            Recipe(learned=True, options={"max_source_positions": 50}),
            "max_source_positions 50 (the weights have 40)",
        ),
        (Recipe(final_norm=True), "a LayerNorm after the last layer although"),
        (
            Recipe(pre_norm=True, final_norm=False, weights={"encoder.layer_norm.weight": torch.zeros(WIDTH)}),
            "of only one side",
        ),
        (
            Recipe(share_all=False, target_only=("nur",), options={"share_all_embeddings": True}),
            "shared embeddings with",
        ),
        (
            Recipe(weights={"encoder.layers.0.fc1.weight": torch.zeros(24, 16).int()}),
            "encoder.layers.0.fc1.weight",
        ),
        (
            Recipe(stacked=True, weights={"encoder.layers.0.self_attn.q_proj.weight": torch.zeros(WIDTH, WIDTH)}),
            "encoder.layers.0.self_attn.q_proj.weight",
        ),
        (Recipe(weights={"encoder.embed_tokens.weight": torch.zeros(50, WIDTH)}), "50 embeddings in the encoder"),
        (Recipe(weights={"encoder.layers.0.fc2.bias": torch.zeros(17)}), "instead of (16,)"),
        (Recipe(embedding_norm=True, options={"layernorm_embedding": False}), "unexpected encoder.embedding_norm"),
        (Recipe(options={"layernorm_embedding": True}), "missing encoder.embedding_norm.weight"),
        (Recipe(weights={"decoder.embed_positions.weight": torch.zeros(9, WIDTH)}), "decoder.positions.weight"),
    ],
)
def test_refused_checkpoints(tmp_path: Path, recipe: Recipe, message: str) -> None:
    make_checkpoint(tmp_path, recipe)
    assert message in refusal(tmp_path)


@pytest.mark.parametrize("checkpoint", [{}, {"model": 3}, {"model": {}}, {"args": None, "model": {}}, [1]])
def test_files_of_torch_that_are_no_checkpoints(tmp_path: Path, checkpoint: object) -> None:
    make_checkpoint(tmp_path)
    torch.save(checkpoint, tmp_path / "checkpoint.pt")
    assert "checkpoint.pt" in refusal(tmp_path)


def test_options_that_contain_themselves(tmp_path: Path) -> None:
    make_checkpoint(tmp_path)
    node = stand_in("omegaconf.dictconfig.DictConfig")
    node._content = node
    with stand_ins():
        torch.save({"cfg": node, "model": {}}, tmp_path / "checkpoint.pt")
    assert "neither args nor cfg.model" in refusal(tmp_path)


def test_languages_are_tags_only(tmp_path: Path) -> None:
    others = ("<ast>", "<sep>", "<2de>", "<abcd>", "<EN>", "▁<it>", "<x>", "<mask>")
    model, _ = made(tmp_path, share_all=False, target_only=others)
    assert set(model.spec.languages) == {"de", "en", "fr", "ast"}


def test_a_model_without_tags_is_refused(tmp_path: Path) -> None:
    make_checkpoint(tmp_path)
    for side in ("src", "tgt"):
        path = tmp_path / f"dict.{side}.txt"
        lines = path.read_text(encoding="utf-8").replace("<de>", "d3").replace("<en>", "e3").replace("<fr>", "f3")
        path.write_text(lines, encoding="utf-8")
    assert "no language tag such as <en>" in refusal(tmp_path)


def test_reads_without_torch(tmp_path: Path) -> None:
    make_checkpoint(tmp_path, Recipe(form="omegaconf"))
    program = (
        "import sys; sys.modules['torch'] = None; from pathlib import Path; "
        "from prism_mt.models.fairseq import reader; "
        "print(reader.read(Path(sys.argv[1])).weights['encoder.embedding.weight'].sum())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    expected = fairseq.read(tmp_path).weights["encoder.embedding.weight"].sum()
    assert float(run.stdout) == pytest.approx(float(expected))


def test_golden_checkpoint() -> None:
    model = fairseq.read(GOLDEN)
    architecture = model.spec.architecture
    assert (architecture.norm, architecture.encoder_layers, architecture.decoder_layers) == ("post", 3, 2)
    assert model.spec.origin_digest == "295740d21eb38122b99c0c28c8d3e3b4"
    assert dict(model.spec.languages) == {"de": 4, "en": 5, "fr": 6, "ru": 7, "zh": 8}
    state = torch.load(GOLDEN / "checkpoint.pt", weights_only=False)["model"]
    for name, array in model.weights.items():
        assert np.array_equal(array, state[theirs(name)].numpy()), name
