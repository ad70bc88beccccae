"""Map the weights of a fairseq checkpoint, from all the names used over the years, to ours."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

FIRST_POSITION = 2
"""Learned tables start with rows for everything up to the padding index, which no token uses."""

_SHOWN = 8
_NAMES = {
    "embed_tokens.weight": "embedding.weight",
    "embed_positions.weight": "positions.weight",
    "layernorm_embedding.weight": "embedding_norm.weight",
    "layernorm_embedding.bias": "embedding_norm.bias",
    "layer_norm.weight": "final_norm.weight",
    "layer_norm.bias": "final_norm.bias",
}
_OUTPUTS = ("decoder.output_projection.weight", "decoder.embed_out")
_PROJECTIONS = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "output"}
_ATTENTIONS = {"self_attn": "self_attention", "encoder_attn": "cross_attention"}
_SUBLAYERS = {
    **{
        f"{attention}.{projection}": f"{ours}.{name}"
        for attention, ours in _ATTENTIONS.items()
        for projection, name in _PROJECTIONS.items()
    },
    "self_attn_layer_norm": "self_attention_norm",
    "encoder_attn_layer_norm": "cross_attention_norm",
    "fc1": "feed_forward.inner",
    "fc2": "feed_forward.outer",
    "final_layer_norm": "feed_forward_norm",
}
# Before they had names, the norms of a layer were numbered.
_NUMBERED_NORMS = {
    "encoder": ("self_attention_norm", "feed_forward_norm"),
    "decoder": ("self_attention_norm", "cross_attention_norm", "feed_forward_norm"),
}
_LAYER = re.compile(r"(encoder|decoder)\.layers\.(0|[1-9]\d{0,3})\.(.+)\.(weight|bias)", re.ASCII)
_STACKED = re.compile(
    r"(encoder|decoder)\.layers\.(0|[1-9]\d{0,3})\.(self_attn|encoder_attn)\.in_proj_(weight|bias)", re.ASCII
)
# Version numbers, computed sinusoids, and the buffers of a fast path, which fairseq refills from the real weights.
_NOISE = re.compile(
    r"(encoder|decoder)\.version"
    r"|(encoder|decoder)\.embed_positions\.(_float_tensor|weights)"
    r"|encoder\.layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)"
)


def rename(state: Mapping[Any, Any], problems: list[str]) -> Arrays:
    """The weights under our names, in their original precision; a weight without a name of ours is a problem."""
    weights: Arrays = {}
    unknown = []
    for name, value in state.items():
        if isinstance(name, str) and _NOISE.fullmatch(name):
            continue
        usable = isinstance(name, str) and isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim
        named = dict(_canonical(name, value)) if usable else {}
        # The same weight in two forms would leave open which one counts.
        if not named or named.keys() & weights.keys():
            unknown.append(str(name))
        weights.update(named)
    if unknown:
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        problems.append(f"the weights {', '.join(unknown[:_SHOWN])}{more}")
    return weights


def _canonical(name: str, value: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Our names for a weight: one, three for stacked projections, none for an unknown one."""
    if name in _OUTPUTS:
        yield "output.weight", value
    elif found := _STACKED.fullmatch(name):
        side, index, attention, kind = found.groups()
        for projection, part in zip(("query", "key", "value"), np.array_split(value, 3), strict=True):
            yield f"{side}.layers.{index}.{_ATTENTIONS[attention]}.{projection}.{kind}", part
    elif found := _LAYER.fullmatch(name):
        side, index, sublayer, kind = found.groups()
        ours = _SUBLAYERS.get(sublayer) or _numbered(side, sublayer)
        if ours:
            yield f"{side}.layers.{index}.{ours}.{kind}", value
    else:
        side, _, rest = name.partition(".")
        if side in ("encoder", "decoder") and rest in _NAMES:
            yield f"{side}.{_NAMES[rest]}", value[FIRST_POSITION:] if rest == "embed_positions.weight" else value


def _numbered(side: str, sublayer: str) -> str | None:
    names = {f"layer_norms.{number}": name for number, name in enumerate(_NUMBERED_NORMS[side])}
    return names.get(sublayer)


def tie(weights: Arrays, shared_embeddings: bool, shared_output: bool, problems: list[str]) -> None:
    """Drop copies of shared weights after comparing them: if they differ, the options are wrong."""
    shared = []
    if shared_output or shared_embeddings:
        shared.append(("output.weight", "decoder.embedding.weight"))
    if shared_embeddings:
        shared.append(("decoder.embedding.weight", "encoder.embedding.weight"))
    for copy, original in shared:
        if copy not in weights or original not in weights:
            continue
        if not _equal(weights[copy], weights[original]):
            problems.append(f"{copy} differs from {original}, which it should share")
        del weights[copy]


def _equal(first: NDArray[Any], second: NDArray[Any]) -> bool:
    # Shared weights mostly share memory; comparing them would read hundreds of megabytes.
    if (first.ctypes.data, first.shape, first.strides) == (second.ctypes.data, second.shape, second.strides):
        return True
    return first.shape == second.shape and np.array_equal(first, second, equal_nan=True)


def to_float32(weights: Arrays, positions: int) -> dict[str, NDArray[np.float32]]:
    """Convert weights for the engines; what is already float32 stays a view of the file.

    Learned position tables are cut to `positions` rows, so that both sides have the same number.
    """
    return {
        name: np.require(
            array[:positions] if name.endswith(".positions.weight") else array,
            np.float32,
            ["C_CONTIGUOUS", "ALIGNED"],
        )
        for name, array in weights.items()
    }
