"""What a checkpoint may say about its architecture."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_mt.models.fairseq.options import Options


def doubled(times: int) -> list[Any]:
    """A list whose text would have 2 ** times parts."""
    value: list[Any] = ["x"]
    for _ in range(times):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (6, 6),
        ("relu", "relu"),
        (False, False),
        (None, None),
        ([], None),
        ({}, None),
        ([1, 2], "[1, 2]"),
        (np.zeros(3), "array([0., 0., 0.])"),
    ],
)
def test_values_are_plain(value: Any, found: Any) -> None:
    assert Options({"args": {"encoder_layers": value}}, Path("x")).get("encoder_layers") == found


def test_a_hostile_value_has_a_short_text() -> None:
    text = Options({"args": {"encoder_layers": doubled(60)}}, Path("x")).get("encoder_layers")
    assert "..." in text
    assert len(text) < 1000
