"""A small network that turns the features of a word into the probabilities of a minor and a major error."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.metrics.spans.features import NAMES, Array
from prism_mt.models.directory import ModelDirectory

FILE = "spans.safetensors"
SIDES: tuple[Literal["wrong", "missing"], ...] = ("wrong", "missing")
PARTS: tuple[Literal["reference", "source"], ...] = ("reference", "source")
CLASSES = ("none", "minor", "major")
_FORMAT = 2
_LARGEST = 1 << 20
"""A file of more than 1 MB is not one of ours."""


@dataclass(frozen=True, eq=False)
class SpanClassifier:
    """One hidden layer for the words of outputs (`wrong`), another for references and sources (`missing`)."""

    weights: Mapping[str, Array]
    thresholds: Mapping[str, float]
    """Of `wrong.reference` and so on: the probability of an error from which a word is marked."""

    def probabilities(self, table: Array, side: Literal["wrong", "missing"]) -> Array:
        """Return words × (none, minor, major)."""
        own = {name.split(".", 1)[1]: array for name, array in self.weights.items() if name.startswith(side)}
        hidden = np.maximum((table - own["mean"]) / own["scale"] @ own["inner"] + own["inner_bias"], 0.0)
        logits = hidden @ own["outer"] + own["outer_bias"]
        logits -= logits.max(axis=1, keepdims=True)
        exponents = np.exp(logits)
        found: Array = exponents / exponents.sum(axis=1, keepdims=True)
        return found


def save_classifier(classifier: SpanClassifier, path: Path, model: ModelDirectory) -> None:
    """Write the weights with the digest of the model whose probabilities they were trained on."""
    from safetensors.numpy import save_file

    metadata = {
        "prism_spans": str(_FORMAT),
        "model": model.digest,
        "features": ",".join(NAMES),
        "thresholds": json.dumps(dict(classifier.thresholds)),
    }
    try:
        save_file({name: np.ascontiguousarray(a) for name, a in classifier.weights.items()}, path, metadata)
        path.chmod(0o644)  # safetensors writes files that only their owner may read
    except OSError as error:
        raise PrismError(f"cannot write {path}: {error.strerror}") from error


def has_classifier(model: ModelDirectory) -> bool:
    """Whether a model's folder has span weights that belong to it."""
    try:
        load_classifier(model)
    except PrismError:
        return False
    return True


def load_classifier(model: ModelDirectory) -> SpanClassifier:
    """Read the span weights in a model's folder; weights of another model are not used."""
    path = model.folder / FILE
    name = model.spec.name or str(model.folder)
    command = f"train them with `prism metric spans --model {name}`"
    if not path.is_file():
        raise PrismError(f"the model {name} has no weights for error spans: {command}")
    if path.stat().st_size > _LARGEST:
        raise PrismError(f"{path} is too large for the weights of error spans: {command}")
    tensors, metadata = _read(path)
    if metadata.get("model") != model.digest:
        raise PrismError(f"{path} belongs to another model than {name}: {command}")
    if metadata.get("prism_spans") != str(_FORMAT) or metadata.get("features") != ",".join(NAMES):
        raise PrismError(f"{path} was made by another version of prism: {command}")
    _check(tensors, path)
    try:
        found = json.loads(metadata["thresholds"])
        thresholds = {f"{side}.{part}": float(found[f"{side}.{part}"]) for side in SIDES for part in PARTS}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PrismError(f"{path} is damaged: it has no thresholds") from error
    return SpanClassifier(tensors, thresholds)


def _read(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    try:
        opened: Any = safe_open(path, framework="np")
        with opened as file:
            return {key: file.get_tensor(key) for key in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise PrismError(f"{path} is damaged: {error}") from error


def _check(tensors: Mapping[str, NDArray[np.float32]], path: Path) -> None:
    for side in SIDES:
        hidden = tensors[f"{side}.inner"].shape[1] if f"{side}.inner" in tensors else 0
        shapes = {
            "mean": (len(NAMES),),
            "scale": (len(NAMES),),
            "inner": (len(NAMES), hidden),
            "inner_bias": (hidden,),
            "outer": (hidden, len(CLASSES)),
            "outer_bias": (len(CLASSES),),
        }
        for name, shape in shapes.items():
            array = tensors.get(f"{side}.{name}")
            if array is None or array.shape != shape or not np.isfinite(array).all():
                raise PrismError(f"{path} is damaged: {side}.{name} is missing or does not fit")
