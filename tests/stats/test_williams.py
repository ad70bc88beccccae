import math

import numpy as np
import pytest

from prism_mt.stats.williams import williams, williams_test

NAN = math.nan


def test_williams_golden() -> None:
    result = williams(0.9, 0.8, 0.7, 20)
    assert f"{result.t:.5f}" == "1.37233"
    assert f"{result.p:.6f}" == "0.093898"


@pytest.mark.parametrize(
    ("arguments", "t", "p"),
    [
        ((0.9, 0.8, 0.7, 3), NAN, NAN),
        ((NAN, 0.8, 0.7, 20), NAN, NAN),
        ((0.8, 0.8, 1.0, 20), 0.0, 0.5),
        ((0.0, 0.0, 1.0, 20), 0.0, 0.5),
        ((0.9, 0.8, 1.0, 20), None, None),
        ((1.0, -1.0, -1.0, 20), 0.0, 0.5),
    ],
    ids=["n too small", "undefined", "same metric", "same useless metric", "impossible", "opposite metrics"],
)
def test_williams_guards(arguments: tuple[float, float, float, int], t: float | None, p: float | None) -> None:
    result = williams(*arguments)
    if t is None or p is None:
        assert 0 <= result.p <= 0.5
    else:
        assert (result.t, result.p) == pytest.approx((t, p), nan_ok=True)


def test_williams_is_antisymmetric_and_uses_common_cells() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=30)
    a, b = human + rng.normal(size=30), human + 2 * rng.normal(size=30)
    a[3] = NAN
    forward, backward = williams_test(human, a, b), williams_test(human, b, a)
    assert forward.p == pytest.approx(1 - backward.p)
    kept = np.arange(30) != 3
    assert forward == williams_test(human[kept], a[kept], b[kept])
