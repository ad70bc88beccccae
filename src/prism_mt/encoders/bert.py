"""BERT and relatives in Hugging Face folders, read without transformers: BERT, RoBERTa, XLM-R, CamemBERT, DistilBERT.

A new kind with the same network is one entry of `_KINDS`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.encoders.network import EncoderNetwork, encoder_architecture
from prism_mt.encoders.tokens import FastTokenizer, SubwordTokenizer, Tokenizer, xlm_roberta_vocabulary
from prism_mt.models.huggingface.folder import Folder, open_folder
from prism_mt.models.huggingface.weights import stored_weights
from prism_mt.models.spec import Weights

_BERT_PARTS = {
    "attention.self.query": "self_attention.query",
    "attention.self.key": "self_attention.key",
    "attention.self.value": "self_attention.value",
    "attention.output.dense": "self_attention.output",
    "attention.output.LayerNorm": "self_attention_norm",
    "intermediate.dense": "feed_forward.inner",
    "output.dense": "feed_forward.outer",
    "output.LayerNorm": "feed_forward_norm",
}
_DISTILBERT_PARTS = {
    "attention.q_lin": "self_attention.query",
    "attention.k_lin": "self_attention.key",
    "attention.v_lin": "self_attention.value",
    "attention.out_lin": "self_attention.output",
    "sa_layer_norm": "self_attention_norm",
    "ffn.lin1": "feed_forward.inner",
    "ffn.lin2": "feed_forward.outer",
    "output_layer_norm": "feed_forward_norm",
}
_EMBEDDINGS = {
    "embeddings.word_embeddings.weight": "encoder.embedding.weight",
    "embeddings.position_embeddings.weight": "encoder.positions.weight",
    "embeddings.token_type_embeddings.weight": "types",
    "embeddings.LayerNorm.weight": "encoder.embedding_norm.weight",
    "embeddings.LayerNorm.bias": "encoder.embedding_norm.bias",
}
_NAME = re.compile(r"(?:[a-z_]+\.)?(embeddings\..+|(?:encoder|transformer)\.layer\.\d+\..+)")
_LAYER = re.compile(r"(?:encoder|transformer)\.layer\.(\d+)\.(.+)\.(weight|bias)")
_OLD_NORMS = {"gamma": "weight", "beta": "bias"}
"""Names of norm weights in early versions."""


@dataclass(frozen=True)
class Kind:
    """How a model type stores the network that all of them share."""

    keys: Mapping[str, str] = field(
        default_factory=lambda: {
            "width": "hidden_size",
            "layers": "num_hidden_layers",
            "heads": "num_attention_heads",
            "feed_forward": "intermediate_size",
            "activation": "hidden_act",
        }
    )
    parts: Mapping[str, str] = field(default_factory=lambda: _BERT_PARTS)
    types: bool = True
    """Whether there are token types; row 0 is added to every position."""
    padded: bool = False
    """Whether positions are counted from the padding id on."""


_DISTILBERT = {
    "width": "dim",
    "layers": "n_layers",
    "heads": "n_heads",
    "feed_forward": "hidden_dim",
    "activation": "activation",
}
_KINDS = {
    "bert": Kind(),
    "roberta": Kind(padded=True),
    "xlm-roberta": Kind(padded=True),
    "camembert": Kind(padded=True),
    "distilbert": Kind(_DISTILBERT, _DISTILBERT_PARTS, types=False),
}


def is_readable(folder: Path, config: Mapping[str, Any]) -> bool:
    """Whether the network is one of ours and its tokenizer can be read without transformers."""
    kind = _KINDS.get(str(config.get("model_type")))
    if kind is None or config.get("is_decoder") or config.get("quantization_config"):
        return False
    plain = config.get("position_embedding_type", "absolute") == "absolute"
    known = config.get(kind.keys["activation"], "gelu") == "gelu"
    return plain and known and (_is_xlm_roberta(folder, config) or (folder / "tokenizer.json").is_file())


def read_bert(path: Path, name: str, digest: str) -> EncoderNetwork:
    """Read the configuration and the tokenizer of a folder; weights are read when needed."""
    folder = open_folder(path)
    kind = _KINDS[folder.config["model_type"]]
    sizes = {key: _number(folder, theirs) for key, theirs in kind.keys.items() if key != "activation"}
    reserved = _number(folder, "pad_token_id", 1) + 1 if kind.padded else 0
    epsilon = folder.config.get("layer_norm_eps", 1e-12)
    if not isinstance(epsilon, float) or not 0 < epsilon < 0.01:
        raise PrismError(f"{path / 'config.json'}: layer_norm_eps is {epsilon!r:.40}")
    architecture = encoder_architecture(
        **sizes,
        vocabulary=_number(folder, "vocab_size"),
        positions=_number(folder, "max_position_embeddings", 512) - reserved,
        epsilon=epsilon,
    )
    tokenizer = _tokenizer(folder, architecture.source_vocabulary)
    return EncoderNetwork(name, digest, architecture, tokenizer, lambda: _weights(folder, kind, reserved))


def _number(folder: Folder, key: str, default: int | None = None) -> int:
    value = folder.config.get(key, default)
    if type(value) is not int or value < 0:
        raise PrismError(f"{folder.path / 'config.json'}: {key} is {value!r:.40} instead of a number")
    return value


def _is_xlm_roberta(folder: Path, config: Mapping[str, Any]) -> bool:
    return config.get("model_type") == "xlm-roberta" and (folder / "sentencepiece.bpe.model").is_file()


def _tokenizer(folder: Folder, rows: int) -> Tokenizer:
    """XLM-R's tokenizer is read from SentencePiece, so that pieces do not depend on which packages are installed."""
    if _is_xlm_roberta(folder.path, folder.config):
        vocabulary = xlm_roberta_vocabulary(folder.content("sentencepiece.bpe.model"), rows)
        return SubwordTokenizer(vocabulary, (0,), (2,))
    tokenizer = FastTokenizer(folder.path / "tokenizer.json")
    if tokenizer.size() > rows:
        raise PrismError(f"{folder.path}: the tokenizer has {tokenizer.size():,} ids, the network {rows:,}")
    tokenizer.encode("a test")  # some damage only shows in use
    return tokenizer


def _weights(folder: Folder, kind: Kind, reserved: int) -> Weights:
    """The weights under our names, without those that vectors do not depend on (heads, poolers)."""
    weights: dict[str, NDArray[np.float32]] = {}
    for stored, array in stored_weights(folder):
        name = _canonical(stored, kind)
        if name is not None:
            if not np.isfinite(array).all():
                raise PrismError(
                    f"the weights of {folder.path} are damaged: {stored} has values that are not finite"
                )
            weights[name] = array
    types = weights.pop("types", None)
    positions = weights.get("encoder.positions.weight")
    if kind.types and types is None:
        raise PrismError(f"the weights of {folder.path} are incomplete: token_type_embeddings.weight is missing")
    if positions is not None:
        rows = positions[reserved:]
        if types is not None and types.shape[1:] != rows.shape[1:]:
            raise PrismError(
                f"the weights of {folder.path} are inconsistent: positions and token types differ in width"
            )
        weights["encoder.positions.weight"] = rows + types[0] if types is not None else rows
    return weights


def _canonical(stored: str, kind: Kind) -> str | None:
    """Our name of a weight; None if no vector depends on it."""
    match = _NAME.fullmatch(stored)
    if match is None:
        return None
    name, _, last = match[1].rpartition(".")
    name = f"{name}.{_OLD_NORMS.get(last, last)}"
    if name in _EMBEDDINGS:
        return _EMBEDDINGS[name]
    layer = _LAYER.fullmatch(name)
    if layer is None or layer[2] not in kind.parts:
        return None
    return f"encoder.layers.{layer[1]}.{kind.parts[layer[2]]}.{layer[3]}"
