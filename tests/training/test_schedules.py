import pytest

from prism_mt.training.config import Schedule
from prism_mt.training.schedules import learning_rate

ROOT = Schedule("inverse-sqrt", warmup=100)
LINEAR = Schedule("linear", warmup=100, final=0.1)
COSINE = Schedule("cosine", warmup=100)
CONSTANT = Schedule("constant", warmup=0)
LATE = Schedule("constant", warmup=10, decay=0.6)
BOTH = Schedule("inverse-sqrt", warmup=100, decay=0.5, final=0.2)


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [
        (ROOT, 1, 0.02),
        (ROOT, 50, 1.0),
        (ROOT, 100, 2.0),
        (ROOT, 400, 1.0),
        (ROOT, 10_000, 0.2),
        (LINEAR, 100, 2.0),
        (LINEAR, 550, 1.1),
        (LINEAR, 1000, 0.2),
        (LINEAR, 1200, 0.2),
        (COSINE, 550, 1.0),
        (COSINE, 325, 1 + 2**-0.5),
        (COSINE, 1000, 0.0),
        (CONSTANT, 1, 2.0),
        (CONSTANT, 999, 2.0),
        (LATE, 400, 2.0),
        (LATE, 700, 1.0),
        (LATE, 1000, 0.0),
        (BOTH, 400, 1.0),
        (BOTH, 900, 2 / 3 * (0.2 + 0.8 * 0.2)),
    ],
)
def test_rate_of_a_thousand_steps(schedule: Schedule, step: int, expected: float) -> None:
    assert learning_rate(schedule, peak=2.0, step=step, steps=1000) == pytest.approx(expected, abs=1e-12)
