"""Small checkpoints in the original layout, in every form that fairseq has written."""

import argparse
import sys
import types
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import torch
from made import make_vocabulary

State = dict[str, torch.Tensor]
TAGS = ("<de>", "<en>", "<fr>")
WIDTH, ENCODER_INNER, DECODER_INNER = 16, 24, 20
ENCODER_LAYERS, DECODER_LAYERS = 2, 1
ENCODER_POSITIONS, DECODER_POSITIONS = 40, 30


@dataclass
class Recipe:
    """How a checkpoint differs from the plainest one: post-norm, all embeddings shared, sinusoids, `args`, zip."""

    pre_norm: bool = False
    final_norm: bool | None = None
    """As `pre_norm` unless given."""
    learned: bool = False
    stacked: bool = False
    numbered_norms: bool = False
    share_all: bool = True
    share_output: bool = True
    output_name: str = "decoder.output_projection.weight"
    embedding_norm: bool = False
    form: Literal["args", "cfg", "cfg-namespace", "omegaconf", "omegaconf-nested"] = "args"
    legacy: bool = False
    dtype: torch.dtype = torch.float32
    options: dict[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    """Options to leave out."""
    weights: State = field(default_factory=dict)
    """Weights to add or replace, by fairseq's names."""
    target_only: tuple[str, ...] = ()
    """Pieces that only dict.tgt.txt has."""


@cache
def pieces() -> tuple[bytes, tuple[str, ...]]:
    """A SentencePiece model and the pieces that its dictionary lists."""
    vocabulary = make_vocabulary(())
    listed = [vocabulary.piece(index) for index in range(4, len(vocabulary))]
    return vocabulary.sentencepiece, (*TAGS, *listed)


def make_checkpoint(folder: Path, recipe: Recipe | None = None) -> State:
    """Write the four files and return the weights by fairseq's names."""
    recipe = recipe or Recipe()
    folder.mkdir(parents=True, exist_ok=True)
    sentencepiece, listed = pieces()
    (folder / "spm.model").write_bytes(sentencepiece)
    for side, extra in (("src", ()), ("tgt", recipe.target_only)):
        lines = "".join(f"{piece} 1\n" for piece in (*listed, *extra))
        (folder / f"dict.{side}.txt").write_text(lines, encoding="utf-8")
    state = make_state(recipe)
    noise = {
        "encoder.version": torch.tensor([3.0]),
        "decoder.version": torch.tensor([3.0]),
        "encoder.embed_positions._float_tensor": torch.zeros(1),
        "decoder.embed_positions.weights": torch.zeros(3, WIDTH),
        "encoder.layers.0.in_proj_weight": torch.zeros(3 * WIDTH, WIDTH),
        "encoder.layers.0.fc1_bias": torch.zeros(ENCODER_INNER),
    }
    model = OrderedDict({**noise, **state})
    model._metadata = OrderedDict({"": {"version": 1}})  # type: ignore[attr-defined]
    moments = {0: {"step": 3, "exp_avg": torch.zeros(4)}}
    checkpoint = {
        **make_options(recipe),
        "model": model,
        "optimizer_history": [{"optimizer_name": "FairseqAdam", "num_updates": 10}],
        "last_optimizer_state": {"state": moments},
    }
    with stand_ins():
        torch.save(checkpoint, folder / "checkpoint.pt", _use_new_zipfile_serialization=not recipe.legacy)
    return state


def make_state(recipe: Recipe) -> State:
    """Random weights; shared ones are one tensor, as in a real state dict."""
    generator = torch.Generator().manual_seed(1)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator).to(recipe.dtype)

    size = 4 + len(pieces()[1])
    state: State = {"encoder.embed_tokens.weight": random(size, WIDTH)}
    state["decoder.embed_tokens.weight"] = (
        state["encoder.embed_tokens.weight"] if recipe.share_all else random(size + len(recipe.target_only), WIDTH)
    )
    if not recipe.share_all and not recipe.share_output:
        state[recipe.output_name] = random(size + len(recipe.target_only), WIDTH)
    sides = (
        ("encoder", ENCODER_LAYERS, ENCODER_INNER, ENCODER_POSITIONS, ("self_attn",)),
        ("decoder", DECODER_LAYERS, DECODER_INNER, DECODER_POSITIONS, ("self_attn", "encoder_attn")),
    )
    for side, layers, inner, positions, attentions in sides:
        if recipe.learned:
            state[f"{side}.embed_positions.weight"] = random(positions + 2, WIDTH)
        norms = ["layernorm_embedding"] * recipe.embedding_norm
        norms += ["layer_norm"] * (recipe.pre_norm if recipe.final_norm is None else recipe.final_norm)
        linear: dict[str, tuple[int, int]] = {}
        for index in range(layers):
            layer = f"layers.{index}"
            for attention in attentions:
                linear |= {
                    f"{layer}.{attention}.{letter}_proj": (WIDTH, WIDTH) for letter in ("q", "k", "v", "out")
                }
            linear |= {f"{layer}.fc1": (inner, WIDTH), f"{layer}.fc2": (WIDTH, inner)}
            named = [f"{attention}_layer_norm" for attention in attentions] + ["final_layer_norm"]
            norms += [
                f"{layer}.layer_norms.{number}" if recipe.numbered_norms else f"{layer}.{name}"
                for number, name in enumerate(named)
            ]
        for name, (rows, columns) in linear.items():
            state[f"{side}.{name}.weight"] = random(rows, columns)
            state[f"{side}.{name}.bias"] = random(rows)
        for name in norms:
            state[f"{side}.{name}.weight"] = random(WIDTH)
            state[f"{side}.{name}.bias"] = random(WIDTH)
    if recipe.stacked:
        state = _stack(state)
    return {**state, **recipe.weights}


def _stack(state: State) -> State:
    """Query, key and value in one matrix, as before fairseq 0.8."""
    stacked: State = {}
    for name, tensor in state.items():
        head, _, kind = name.rpartition(".")
        if head.endswith(".q_proj"):
            parts = [state[f"{head[:-6]}{letter}_proj.{kind}"] for letter in ("q", "k", "v")]
            stacked[f"{head[:-6]}in_proj_{kind}"] = torch.cat(parts)
        elif not head.endswith((".k_proj", ".v_proj")):
            stacked[name] = tensor
    return stacked


def make_options(recipe: Recipe) -> dict[str, Any]:
    """The part of a checkpoint that describes the model."""
    options: dict[str, Any] = {
        "arch": "transformer",
        "encoder_layers": ENCODER_LAYERS,
        "decoder_layers": DECODER_LAYERS,
        "encoder_embed_dim": WIDTH,
        "decoder_embed_dim": WIDTH,
        "encoder_ffn_embed_dim": ENCODER_INNER,
        "decoder_ffn_embed_dim": DECODER_INNER,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 2,
        "encoder_normalize_before": recipe.pre_norm,
        "decoder_normalize_before": recipe.pre_norm,
        "encoder_learned_pos": recipe.learned,
        "decoder_learned_pos": recipe.learned,
        "max_source_positions": ENCODER_POSITIONS,
        "max_target_positions": DECODER_POSITIONS,
        "share_all_embeddings": recipe.share_all,
        "share_decoder_input_output_embed": recipe.share_output,
        "layernorm_embedding": recipe.embedding_norm,
        "activation_fn": "relu",
        "adaptive_softmax_cutoff": None,
        "quant_noise_pq": 0,
        **recipe.options,
    }
    options = {name: value for name, value in options.items() if name not in recipe.without}
    if recipe.form == "args":
        return {"args": argparse.Namespace(**options)}
    if recipe.form == "cfg":
        return {"args": None, "cfg": {"_name": None, "model": options}}
    if recipe.form == "cfg-namespace":
        return {"args": None, "cfg": {"model": argparse.Namespace(**options)}}
    if recipe.form == "omegaconf-nested":
        options = _nest(options)
    return {"args": None, "cfg": _omegaconf({"task": {"data": "???"}, "model": options})}


def _nest(options: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {"encoder": {}, "decoder": {"output_dim": "${model.decoder.embed_dim}"}}
    for name, value in options.items():
        side, _, rest = name.partition("_")
        if side in nested:
            nested[side][rest] = value
        else:
            nested[name] = value
    return nested


_STAND_INS = {
    name: type(name.rpartition(".")[2], (), {"__module__": name.rpartition(".")[0]})
    for name in (
        "omegaconf.dictconfig.DictConfig",
        "omegaconf.base.ContainerMetadata",
        "omegaconf.nodes.AnyNode",
        "fairseq.models.transformer.transformer_config.TransformerConfig",
        "fairseq.logging.meters.AverageMeter",
    )
}


def stand_in(name: str, **state: Any) -> Any:
    """An object that is pickled as one of a class of this name, with this state."""
    made = _STAND_INS[name]()
    vars(made).update(state)
    return made


def _omegaconf(value: Any) -> Any:
    """A tree as OmegaConf pickles it."""
    if not isinstance(value, dict):
        return stand_in("omegaconf.nodes.AnyNode", _metadata=None, _parent=None, _val=value)
    metadata = stand_in(
        "omegaconf.base.ContainerMetadata",
        ref_type=Any,
        object_type=_STAND_INS["fairseq.models.transformer.transformer_config.TransformerConfig"],
        key_type=str,
    )
    content = {key: _omegaconf(item) for key, item in value.items()}
    return stand_in("omegaconf.dictconfig.DictConfig", _metadata=metadata, _parent=None, _content=content)


@contextmanager
def stand_ins() -> Iterator[None]:
    """While this holds, the modules of the stand-ins exist, as pickling wants them."""
    modules: dict[str, types.ModuleType] = {}
    for name, made in _STAND_INS.items():
        parts = name.split(".")
        for end in range(1, len(parts)):
            modules.setdefault(".".join(parts[:end]), types.ModuleType(".".join(parts[:end])))
        setattr(modules[made.__module__], parts[-1], made)
    with mock.patch.dict(sys.modules, modules):
        yield
