"""The folder layout of sentence-transformers: a network, pooling of its last layer, and dense layers on top."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_mt.encoders.base import reading
from prism_mt.encoders.pooled import Dense, Pooling
from prism_mt.models.fairseq.pickles import load_torch

MODULES = "modules.json"
_POOLINGS: tuple[Pooling, ...] = ("mean_tokens", "cls_token", "max_tokens")
_ACTIVATIONS: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "Tanh": np.tanh,
    "Identity": lambda array: array,
    "ReLU": lambda array: np.maximum(array, 0),
}


class Layout(NamedTuple):
    """A folder's description apart from its network."""

    network: Path
    """Folder of the network."""
    pooling: Pooling
    dense: tuple[Dense, ...]
    limit: int
    """Maximum input length in tokens; longer input is truncated, as in training."""


def read_layout(folder: Path) -> Layout:
    """Read modules.json and the modules after the network."""
    with reading(folder, "a usable sentence-transformers folder"):
        modules = json.loads((folder / MODULES).read_text("utf-8"))
        kinds = [(module["type"].rsplit(".", 1)[-1], _inside(folder, module["path"])) for module in modules]
        if kinds[0][0] != "Transformer" or kinds[1][0] != "Pooling":
            raise ValueError("its first modules are not Transformer and Pooling")
        odd = {kind for kind, _ in kinds[2:]} - {"Dense", "Normalize"}
        if odd:
            raise ValueError(f"it has modules that are not supported: {', '.join(sorted(odd))}")
        dense = tuple(_read_dense(path) for kind, path in kinds[2:] if kind == "Dense")
        return Layout(kinds[0][1], _read_pooling(kinds[1][1]), dense, _read_limit(kinds[0][1]))


def _inside(folder: Path, name: str) -> Path:
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(f"the module {name!r} is outside of the folder")
    return folder / name


def _read_pooling(folder: Path) -> Pooling:
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    chosen = [name for name in _POOLINGS if settings.get(f"pooling_mode_{name}")]
    if len(chosen) != 1:
        raise ValueError("its pooling is not one of mean, cls and max")
    return chosen[0]


def _read_dense(folder: Path) -> Dense:
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    name = settings["activation_function"].rsplit(".", 1)[-1]
    if name not in _ACTIVATIONS:
        raise ValueError(f"its dense layer has the unknown activation {name}")
    weights = _read_weights(folder)
    weight, activation = weights["linear.weight"].astype(np.float32), _ACTIVATIONS[name]
    bias = weights.get("linear.bias", np.zeros(len(weight))).astype(np.float32)
    return lambda vectors: activation(vectors @ weight.T + bias)


def _read_weights(folder: Path) -> Any:
    from safetensors.numpy import load_file

    path = folder / "model.safetensors"
    return load_file(path) if path.exists() else load_torch(folder / "pytorch_model.bin")


def _read_limit(folder: Path) -> int:
    path = folder / "sentence_bert_config.json"
    settings = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return int(settings.get("max_seq_length") or 512)
