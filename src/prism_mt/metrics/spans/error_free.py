"""The probability that a person would mark no error in a segment: logistic regression on features of its words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt.metrics.base import Part
from prism_mt.metrics.spans.features import Array
from prism_mt.models.directory import ModelDirectory

FILE = "error_free.json"
WIDTH = 14
"""Numbers that describe a segment."""


@dataclass(frozen=True, eq=False)
class ErrorFree:
    """A calibrated classifier of segments."""

    mean: Array
    scale: Array
    weights: Array
    bias: float

    def probability(self, summary: Array) -> float:
        """Return the probability that a person marks no error."""
        logit = float((summary - self.mean) / self.scale @ self.weights) + self.bias
        return float(1 / (1 + np.exp(-np.clip(logit, -30, 30))))


def save_error_free(judges: Mapping[Part, ErrorFree], path: Path, model: ModelDirectory) -> None:
    """Write the classifiers of one model."""
    content: dict[str, Any] = {
        "model": model.digest,
        **{
            part: {
                "mean": judge.mean.tolist(),
                "scale": judge.scale.tolist(),
                "weights": judge.weights.tolist(),
                "bias": judge.bias,
            }
            for part, judge in judges.items()
        },
    }
    with write_atomically(path) as handle:
        handle.write(json.dumps(content, indent=1) + "\n")


def load_error_free(model: ModelDirectory, part: Part) -> ErrorFree:
    """Read the classifier in a model's folder for outputs with references, or with sources."""
    path = model.folder / FILE
    name = model.spec.name or str(model.folder)
    command = f"calibrate it with `prism metric error-free --model {name}`"
    if not path.is_file():
        raise PrismError(f"the model {name} has no calibration of error-free segments: {command}")
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        digest, found = content["model"], content[part]
        arrays = [np.array(found[key], dtype=np.float32) for key in ("mean", "scale", "weights")]
        judge = ErrorFree(arrays[0], arrays[1], arrays[2], float(found["bias"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise PrismError(f"{path} is damaged or lacks {part}s: {command}") from error
    if digest != model.digest:
        raise PrismError(f"{path} belongs to another model than {name}: {command}")
    if any(array.shape != (WIDTH,) or not np.isfinite(array).all() for array in arrays):
        raise PrismError(f"{path} was made by another version of prism: {command}")
    return judge
