import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mt.stats.kendall_swaps import net_concordance


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_net_concordance_equals_the_double_loop(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 5, size).astype(np.float64)
    own, other = rng.integers(0, 9, (2, size))
    expected = [
        sum(np.sign(human[i] - human[j]) * np.sign(own[i] - other[j]) for j in range(size)) for i in range(size)
    ]
    np.testing.assert_array_equal(net_concordance(human, own, other), expected)
