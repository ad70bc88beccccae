"""Mixed precision."""

import pytest
import torch

from prism_mt.training.precision import Precision, autocast, choose_precision


def test_auto_is_half_precision_on_a_gpu_only() -> None:
    assert choose_precision("auto", torch.device("cuda", 0)) == "float16"
    assert choose_precision("auto", torch.device("cpu")) == "float32"
    assert choose_precision("bfloat16", torch.device("cpu")) == "bfloat16"


@pytest.mark.parametrize(
    ("precision", "dtype"), [("float32", torch.float32), ("bfloat16", torch.bfloat16), ("float16", torch.float16)]
)
def test_products_are_in_this_precision(precision: Precision, dtype: torch.dtype) -> None:
    with autocast(precision, torch.device("cpu")):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype
