"""Encoders in the folder layout of sentence-transformers, read with transformers alone."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np

from prism_mt.encoders.base import reading
from prism_mt.encoders.huggingface import load_network
from prism_mt.encoders.languages import card_languages
from prism_mt.encoders.sentence import Vectors, unit_length

_BATCH = 64
_LOG = logging.getLogger("prism_mt")
_POOLINGS = ("mean_tokens", "cls_token", "max_tokens")


class SentenceTransformer:
    """A Transformer, a pooling of its last layer, and any dense layers behind it."""

    def __init__(self, folder: Path) -> None:
        self.languages = card_languages(folder)
        self._cut = False
        with reading(folder, "a usable sentence-transformers folder"):
            modules = json.loads((folder / "modules.json").read_text("utf-8"))
            kinds = [(module["type"].rsplit(".", 1)[-1], folder / module["path"]) for module in modules]
            if kinds[0][0] != "Transformer" or kinds[1][0] != "Pooling":
                raise ValueError("its first modules are not Transformer and Pooling")
            self._tokenizer, self._model = load_network(kinds[0][1])
            self._pooling = _read_pooling(kinds[1][1])
            self._dense = [_read_dense(path) for kind, path in kinds[2:] if kind == "Dense"]
            self._limit = _read_limit(kinds[0][1])
            odd = {kind for kind, _ in kinds[2:]} - {"Dense", "Normalize"}
            if odd:
                raise ValueError(f"it has modules that are not supported: {', '.join(sorted(odd))}")

    def encode(self, texts: list[str]) -> Vectors:
        """One vector per text; batches of similar length waste the least."""
        import torch

        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found: dict[int, Any] = {}
        with torch.inference_mode():
            for start in range(0, len(order), _BATCH):
                places = order[start : start + _BATCH]
                vectors = self._forward([texts[place] for place in places])
                found |= dict(zip(places, vectors.numpy(), strict=True))
        return unit_length(np.stack([found[place] for place in range(len(texts))]))

    def _note_cuts(self, texts: list[str]) -> None:
        """Say once that texts are longer than the encoder takes; a piece has a byte at least, and two are special."""
        for text in texts:
            if self._cut or len(text.encode()) + 2 <= self._limit:
                continue
            if len(self._tokenizer(text, truncation=False, verbose=False)["input_ids"]) > self._limit:
                self._cut = True
                _LOG.warning(
                    "the encoder reads the first %d pieces of longer texts, such as %r", self._limit, text[:60]
                )

    def _forward(self, texts: list[str]) -> Any:
        self._note_cuts(texts)
        inputs = self._tokenizer(texts, padding=True, truncation=True, max_length=self._limit, return_tensors="pt")
        states = self._model(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1)
        if self._pooling == "cls_token":
            pooled = states[:, 0]
        elif self._pooling == "max_tokens":
            pooled = states.masked_fill(mask == 0, float("-inf")).amax(dim=1)
        else:
            pooled = (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        for weight, bias, activation in self._dense:
            pooled = activation(pooled @ weight.T + bias)
        return pooled


def _read_pooling(folder: Path) -> str:
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    chosen = [name for name in _POOLINGS if settings.get(f"pooling_mode_{name}")]
    if len(chosen) != 1:
        raise ValueError("its pooling is not one of mean, cls and max")
    return chosen[0]


def _read_dense(folder: Path) -> tuple[Any, Any, Any]:
    import torch
    from safetensors.torch import load_file

    settings = json.loads((folder / "config.json").read_text("utf-8"))
    activations = {"Tanh": torch.tanh, "Identity": lambda tensor: tensor, "ReLU": torch.relu}
    name = settings["activation_function"].rsplit(".", 1)[-1]
    if name not in activations:
        raise ValueError(f"its dense layer has the unknown activation {name}")
    path = folder / "model.safetensors"
    if path.exists():
        weights = load_file(path)
    else:
        weights = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    bias = weights.get("linear.bias", torch.zeros(len(weights["linear.weight"])))
    return weights["linear.weight"], bias, activations[name]


def _read_limit(folder: Path) -> int:
    """The longest input in pieces; what is longer is cut, as the encoder was trained."""
    path = folder / "sentence_bert_config.json"
    settings = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return int(settings.get("max_seq_length") or 512)
