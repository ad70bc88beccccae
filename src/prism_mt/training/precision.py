"""Mixed precision."""

import contextlib
from typing import Any, Literal

import torch

Precision = Literal["float32", "bfloat16", "float16"]


def choose_precision(wanted: Literal["auto", "float32", "bfloat16", "float16"], device: torch.device) -> Precision:
    """The precision that `auto` stands for on a device, or the one that is asked for."""
    if wanted != "auto":
        return wanted
    return "float16" if device.type == "cuda" else "float32"


def autocast(precision: Precision, device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Inside, matrix products are in this precision."""
    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(device.type, getattr(torch, precision))
