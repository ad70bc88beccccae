"""Read weights from safetensors or pytorch_model.bin, under canonical names and in float32."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.models.huggingface.folder import Folder, read_table
from prism_mt.models.spec import Architecture

Arrays = dict[str, NDArray[np.float32]]

_PARTS = {
    **{
        f"{theirs}_attn.{short}_proj": f"{ours}_attention.{long}"
        for theirs, ours in (("self", "self"), ("encoder", "cross"))
        for short, long in (("q", "query"), ("k", "key"), ("v", "value"), ("out", "output"))
    },
    "self_attn_layer_norm": "self_attention_norm",
    "encoder_attn_layer_norm": "cross_attention_norm",
    "fc1": "feed_forward.inner",
    "fc2": "feed_forward.outer",
    "final_layer_norm": "feed_forward_norm",
    "layer_norm": "final_norm",
    "layernorm_embedding": "embedding_norm",
    "embed_tokens": "embedding",
    "embed_positions": "positions",
}
_NAME = re.compile(r"(?:model\.)?((?:encoder|decoder)\.(?:layers\.\d+\.)?)(.+)\.(weight|bias)")
_TOP = {
    "model.shared.weight": "shared",
    "shared.weight": "shared",
    "lm_head.weight": "output.weight",
    "final_logits_bias": "output.bias",
}
# Computed values that old versions saved: sinusoids, and a marker of their type.
_COMPUTED = re.compile(r"(?:model\.)?(?:encoder|decoder)\.(?:embed_positions\.(?:weights|_float_tensor)|version)")
_LEARNED_OFFSET = 2
"""Rows of a learned position table that no token uses."""


def read_weights(folder: Folder, architecture: Architecture) -> tuple[Architecture, Arrays]:
    """Read all weights of the folder, and the architecture with the ties and the bias that they actually have."""
    weights = {name: array for stored, array in stored_weights(folder) if (name := canonical(stored)) is not None}
    for side in ("encoder", "decoder"):
        name = f"{side}.positions.weight"
        if architecture.positions != "learned":
            weights.pop(name, None)
        elif name in weights:
            weights[name] = weights[name][_LEARNED_OFFSET:]
    tied = bool(folder.config.get("tie_word_embeddings", True))
    architecture = _settle_embeddings(weights, architecture, tied, str(folder.path))
    bias = weights.pop("output.bias", None)
    if bias is not None and bias.any():
        # transformers' M2M100 has no such bias: it must not come out of nowhere.
        if folder.config["model_type"] == "m2m_100":
            raise PrismError(f"{folder.path}: final_logits_bias is not zero, which M2M100 does not support")
        weights["output.bias"] = bias.reshape(-1)
        architecture = replace(architecture, output_bias=True)
    return architecture, weights


def canonical(name: str) -> str | None:
    """Our name for a weight; None for computed ones, and the original name if we have no such weight."""
    if name in _TOP:
        return _TOP[name]
    if _COMPUTED.fullmatch(name):
        return None
    match = _NAME.fullmatch(name)
    if match is None or match[2] not in _PARTS:
        return name
    return f"{match[1]}{_PARTS[match[2]]}.{match[3]}"


def _settle_embeddings(weights: Arrays, architecture: Architecture, tied: bool, where: str) -> Architecture:
    """Keep one copy of tied embeddings. Copies that differ although the configuration ties them are an error."""
    shared = weights.pop("shared", None)
    source = weights.pop("encoder.embedding.weight", shared)
    target = weights.pop("decoder.embedding.weight", shared)
    output = weights.pop("output.weight", None)
    source = target if source is None and architecture.tied_embeddings else source
    target = source if target is None and architecture.tied_embeddings else target
    if source is None or target is None:
        side = "encoder" if source is None else "decoder"
        raise PrismError(f"{where}: the weights lack model.{side}.embed_tokens.weight")
    if output is None and not tied:
        raise PrismError(f"{where}: the weights lack lm_head.weight, which the configuration does not tie")
    output = target if output is None else output
    one_embedding, one_output = _equal(source, target), _equal(target, output)
    problems = []
    if tied and architecture.tied_embeddings and not one_embedding:
        problems.append("the encoder's and the decoder's embeddings differ")
    if tied and not one_output:
        problems.append("lm_head differs from the decoder's embedding")
    if problems:
        raise PrismError(f"{where}: {' and '.join(problems)}, but the configuration ties them")
    weights["encoder.embedding.weight"] = source
    if not one_embedding:
        weights["decoder.embedding.weight"] = target
    if not one_output:
        weights["output.weight"] = output
    return replace(architecture, tied_embeddings=one_embedding, tied_output=one_output)


def _equal(one: NDArray[np.float32], other: NDArray[np.float32]) -> bool:
    return one is other or np.array_equal(one, other)


def stored_weights(folder: Folder) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield every stored weight, from one file or from the shards of an index."""
    for name, read in (("model.safetensors", _safetensors), ("pytorch_model.bin", _pickle)):
        if folder.has(name):
            yield from read(folder.path / name)
            return
        if folder.has(f"{name}.index.json"):
            for shard in _shards(folder.path / f"{name}.index.json"):
                yield from read(shard)
            return
    raise PrismError(
        f"{folder.path} has no weights: model.safetensors or pytorch_model.bin is needed, whole or sharded"
    )


def _shards(index: Path) -> list[Path]:
    table = read_table(index).get("weight_map")
    if not isinstance(table, Mapping) or not table:
        raise PrismError(f"{index} has no weight_map: download the model again")
    names = sorted(set(map(str, table.values())))
    for name in names:
        if Path(name).name != name:
            raise PrismError(f"{index}: {name!r} is not a plain file name")
        if not (index.parent / name).is_file():
            raise PrismError(f"{index} names {name}, which is missing: download the model again")
    return [index.parent / name for name in names]


def _safetensors(path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118 (not a mapping)
                kind = file.get_slice(name).get_dtype()
                if kind == "BF16":
                    yield name, _bfloat16(path, name)
                elif kind in ("F16", "F32", "F64"):
                    yield name, file.get_tensor(name).astype(np.float32, copy=False)
                elif kind != "I64":  # position ids, which old versions saved
                    raise PrismError(f"{path}: {name} has the unsupported type {kind} (quantized weights?)")
    except SafetensorError as error:
        raise PrismError(f"{path} is damaged: {error}") from error


def _bfloat16(path: Path, name: str) -> NDArray[np.float32]:
    """Widen bfloat16, the upper half of a float32, which numpy lacks."""
    with open(path, "rb") as handle:
        size = int.from_bytes(handle.read(8), "little")
        entry: Any = json.loads(handle.read(size))[name]
    begin, end = entry["data_offsets"]
    halves = np.fromfile(path, "<u2", count=(end - begin) // 2, offset=8 + size + begin)
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(entry["shape"])


def _pickle(path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    from prism_mt.models.fairseq.pickles import load_torch

    content = load_torch(path)
    if not isinstance(content, Mapping) or not all(isinstance(array, np.ndarray) for array in content.values()):
        raise PrismError(f"{path} is not a table of weights")
    for name, array in content.items():
        if array.dtype.kind == "f":  # others are counters, or quantized and then missing below
            yield name, array.astype(np.float32, copy=False)
