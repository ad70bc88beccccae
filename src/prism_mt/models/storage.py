"""Storage of weights: as floats, or in 8 or 4 bits with scales beside them.

    int8   one scale per row: value = stored × scale
    int4   one float16 scale per block of 32 values of a row: value = (stored - 8) × scale. A byte holds two values of
           its block, number i in the lower half and number i + 16 in the upper one.

The type of a stored array says which it is; its scales have the name of the weight with `.scale` behind it. Vectors and
position tables are small and stay float32.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError

Storage = Literal["float32", "float16", "int8", "int4"]
_SCALE = ".scale"
_BLOCK = 32
_ZERO = 8
"""The 4-bit value of 0."""


def pack(
    weights: Mapping[str, NDArray[np.float32]], storage: Storage | Mapping[str, Storage]
) -> dict[str, NDArray[np.generic]]:
    """Arrays as written; a mapping gives the storage by the first parts of a weight's name, the longest that fit.

    So `{"encoder": "int4", "encoder.layers.8": "int8"}` treats one layer of the encoder differently.
    """
    packed: dict[str, NDArray[np.generic]] = {}
    for name, array in weights.items():
        kind = storage if isinstance(storage, str) else _kind_of(name, storage)
        if not np.isfinite(array).all():
            raise PrismError(f"the weight {name} is not a number")
        packed |= _pack(name, array, kind)
    return packed


def _kind_of(name: str, storage: Mapping[str, Storage]) -> Storage:
    parts = name.split(".")
    prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next(storage[prefix] for prefix in prefixes if prefix in storage)


def _pack(name: str, array: NDArray[np.float32], kind: Storage) -> dict[str, NDArray[np.generic]]:
    if kind in ("float32", "float16"):
        with np.errstate(over="ignore"):  # what is too large is found below
            stored = np.asarray(array, kind, order="C")
        if not np.isfinite(stored).all():
            raise PrismError(f"the weight {name} is too large for {kind}")
        return {name: stored}
    if array.ndim != 2 or "positions" in name:
        return {name: np.asarray(array, np.float32, order="C")}
    values, scales = _to_int8(array) if kind == "int8" else _to_int4(name, array)
    if not np.isfinite(scales).all():
        raise PrismError(f"the weight {name} is too large for {kind}")
    return {name: values, name + _SCALE: scales}


def _to_int8(array: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    scales = np.abs(array).max(1, keepdims=True).astype(np.float32) / np.float32(127)
    steps = np.where(scales == 0, np.float32(1), scales)
    return np.rint(array / steps).astype(np.int8), scales


def _to_int4(name: str, array: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    """The value furthest from 0 determines the scale and its sign and becomes -8, so no step is lost to symmetry."""
    rows, columns = array.shape
    if columns % _BLOCK:
        raise PrismError(f"the weight {name} has {columns} columns: 4 bits need a multiple of {_BLOCK}")
    blocks = array.reshape(rows, columns // _BLOCK, _BLOCK)
    furthest = np.take_along_axis(blocks, np.abs(blocks).argmax(2)[:, :, None], 2)
    with np.errstate(over="ignore"):
        scales = (furthest / np.float32(-_ZERO)).astype(np.float16)
    steps = np.where(scales == 0, np.float32(1), scales.astype(np.float32))
    values = np.clip(np.rint(blocks / steps) + _ZERO, 0, 15).astype(np.uint8)
    halves = values[:, :, : _BLOCK // 2] | values[:, :, _BLOCK // 2 :] << 4
    return halves.reshape(rows, columns // 2), scales[:, :, 0]


def unpack(stored: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.float32]]:
    """The weights in float32; missing, mismatched or non-finite scales are an error."""
    weights: dict[str, NDArray[np.float32]] = {}
    for name, array in stored.items():
        if name.endswith(_SCALE) and name.removesuffix(_SCALE) in stored:
            continue
        if array.dtype not in (np.int8, np.uint8):
            weights[name] = array.astype(np.float32, copy=False)
            continue
        found = stored.get(name + _SCALE)
        if found is None or array.ndim != 2 or found.ndim != 2 or len(found) != len(array):
            raise PrismError(f"the weight {name} has no matching scales")
        scales = found.astype(np.float32)
        if not np.isfinite(scales).all():
            raise PrismError(f"the scales of {name} are not all finite")
        weights[name] = (
            _from_int8(name, array, scales) if array.dtype == np.int8 else _from_int4(name, array, scales)
        )
    return weights


def _from_int8(name: str, values: NDArray[np.generic], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    if scales.shape[1] != 1:
        raise PrismError(f"the weight {name} has no matching scales")
    return values.astype(np.float32) * scales


def _from_int4(name: str, halves: NDArray[np.generic], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    rows, size = halves.shape
    if size != scales.shape[1] * _BLOCK // 2:
        raise PrismError(f"the weight {name} has no matching scales")
    packed = halves.view(np.uint8).reshape(rows, -1, _BLOCK // 2)
    values = np.empty((rows, packed.shape[1], _BLOCK), dtype=np.float32)
    values[:, :, : _BLOCK // 2] = packed & 15
    values[:, :, _BLOCK // 2 :] = packed >> 4
    values -= _ZERO
    values *= scales[:, :, None]
    return values.reshape(rows, 2 * size)
