"""Mixed precision."""

import contextlib
from typing import Any, Literal

import torch

Precision = Literal["float32", "bfloat16", "float16"]


def choose_precision(wanted: Literal["auto", "float32", "bfloat16", "float16"], device: torch.device) -> Precision:
    """Resolve `auto` for a device."""
    if wanted != "auto":
        return wanted
    return "float16" if device.type == "cuda" else "float32"


def autocast(precision: Precision, device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Run matrix multiplications in this precision inside the context."""
    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(device.type, getattr(torch, precision))
