"""Weights in fewer bits."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from made import make_model
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.storage import pack, unpack


@pytest.fixture
def matrix() -> NDArray[np.float32]:
    return np.random.default_rng(1).normal(size=(6, 64)).astype(np.float32)


def test_int8_is_off_by_half_a_step_at_most(matrix: NDArray[np.float32]) -> None:
    matrix[2] = 0
    stored = pack({"encoder.a.weight": matrix}, "int8")
    assert stored["encoder.a.weight"].dtype == np.int8
    found = unpack(stored)["encoder.a.weight"]
    steps = np.abs(matrix).max(1, keepdims=True) / 127
    assert (np.abs(found - matrix) <= steps / 2 + 1e-7).all()
    assert np.array_equal(found[2], np.zeros(64, dtype=np.float32))


def test_int4_values_by_hand() -> None:
    row = np.zeros((1, 32), dtype=np.float32)
    row[0, 3], row[0, 20], row[0, 31] = -4.0, 3.5, 0.5  # the scale is 4 / 8
    stored = pack({"encoder.a.weight": row}, "int4")
    assert stored["encoder.a.weight.scale"].tolist() == [[0.5]]
    halves = stored["encoder.a.weight"].view(np.uint8)[0]
    assert halves[3] & 15 == 0
    assert halves[4] >> 4 == 15
    assert halves[15] >> 4 == 9
    assert np.array_equal(unpack(stored)["encoder.a.weight"], row)


def test_int4_of_what_was_in_4_bits_loses_nothing(matrix: NDArray[np.float32]) -> None:
    once = unpack(pack({"encoder.a.weight": matrix}, "int4"))
    assert np.array_equal(unpack(pack(once, "int4"))["encoder.a.weight"], once["encoder.a.weight"])
    blocks = np.abs(once["encoder.a.weight"] - matrix).reshape(6, 2, 32)
    steps = np.abs(matrix).reshape(6, 2, 32).max(2, keepdims=True) / 8
    assert (blocks <= steps * 1.001).all()


def test_storage_by_side_and_vectors_stay(matrix: NDArray[np.float32]) -> None:
    weights = {"encoder.a.weight": matrix, "decoder.a.weight": matrix, "encoder.a.bias": matrix[0]}
    stored = pack(weights, {"encoder": "int4", "decoder": "float16"})
    kinds = {name: array.dtype.name for name, array in stored.items()}
    assert kinds == {
        "encoder.a.weight": "uint8",
        "encoder.a.weight.scale": "float16",
        "decoder.a.weight": "float16",
        "encoder.a.bias": "float32",
    }


@pytest.mark.parametrize("storage", ["int8", "int4"])
def test_a_model_directory_in_few_bits(storage: str, tmp_path: Path) -> None:
    model = make_model(encoder_feed_forward=64, decoder_feed_forward=64)
    made = write_model(model, tmp_path / "small", storage)  # type: ignore[arg-type]
    full = write_model(model, tmp_path / "full")
    sizes = [(one.folder / "model.safetensors").stat().st_size for one in (made, full)]
    assert sizes[0] < (0.5 if storage == "int8" else 0.35) * sizes[1]
    found = ModelDirectory(made.folder).weights()
    assert found.keys() == model.weights.keys()
    again = write_model(dataclasses.replace(model, weights=found), tmp_path / "again", storage)  # type: ignore[arg-type]
    name = "encoder.layers.0.feed_forward.inner.weight"
    np.testing.assert_allclose(again.weights()[name], found[name], rtol=1e-6)


def test_odd_widths_need_more_bits(matrix: NDArray[np.float32]) -> None:
    with pytest.raises(PrismError, match=r"a\.weight has 40 columns: 4 bits need a multiple of 32"):
        pack({"encoder.a.weight": matrix[:, :40]}, "int4")


def test_damaged_scales(matrix: NDArray[np.float32]) -> None:
    for storage in ("int8", "int4"):
        stored = pack({"encoder.a.weight": matrix}, storage)
        scales = stored["encoder.a.weight.scale"]
        without = {name: array for name, array in stored.items() if not name.endswith("scale")}
        for broken in (without, stored | {"encoder.a.weight.scale": np.tile(scales, (1, 3))}):
            with pytest.raises(PrismError, match=r"a\.weight has no matching scales"):
                unpack(broken)
        with pytest.raises(PrismError, match="not all finite"):
            unpack(stored | {"encoder.a.weight.scale": np.full_like(scales, np.inf)})


def test_the_longest_prefix_of_a_name_decides(matrix: NDArray[np.float32]) -> None:
    weights = {f"encoder.layers.{layer}.weight": matrix for layer in (1, 2, 12)}
    stored = pack(weights, {"encoder": "int4", "encoder.layers.1": "int8"})
    kinds = [stored[name].dtype.name for name in weights]
    assert kinds == ["int8", "uint8", "uint8"]
