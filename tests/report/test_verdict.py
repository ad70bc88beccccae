"""The verdict says what the tests have shown, and nothing else."""

import numpy as np
import pytest

from prism_mt.evaluation.compare import Comparison
from prism_mt.metrics.scores import MetricScores
from prism_mt.report.verdict import join, verdict
from prism_mt.stats.resampling import Interval


def compared(names: str, p: dict[str, float], default: float = 0.0001) -> Comparison:
    """Systems from best to worst with p-values of some pairs."""
    count = len(names)
    matrix = np.array([[p.get(a + b, p.get(b + a, default)) if a != b else 1.0 for b in names] for a in names])
    scores = -np.arange(float(count))
    metric = MetricScores("bleu", tuple(names), np.tile(scores[:, None], 2), scores)
    return Comparison(
        metric,
        tuple(range(count)),
        scores,
        tuple(Interval(score - 1, score + 1) for score in scores),
        matrix,
        np.zeros((count, count), dtype=np.int64),
        (1,) * count,
        1.0,
    )


@pytest.mark.parametrize(
    ("names", "p", "wanted"),
    [
        ("CAB", {"CA": 0.104}, "C and A cannot be told apart (p = .104); both are better than B (p < .001)"),
        ("CAB", {"CA": 0.039}, "C is better than A and B (p ≤ .039)"),
        ("CA", {"CA": 0.039}, "C is better than A (p = .039)"),
        ("CA", {"CA": 0.5}, "C and A cannot be told apart (p = .500)"),
        (
            "CADB",
            {"CA": 0.051, "AD": 0.056},
            "C and A cannot be told apart (p = .051); both are better than B (p < .001); "
            "D is worse than C, but cannot be told from A",
        ),
        ("CAD", {"CA": 0.2, "CD": 0.3, "AD": 0.9}, "C, A and D cannot be told apart (p ≥ .200)"),
        ("CAD", {"CA": 0.2, "CD": 0.06, "AD": 0.01}, "A and D cannot be told from C (p ≥ .060)"),
    ],
)
def test_verdict(names: str, p: dict[str, float], wanted: str) -> None:
    assert verdict(compared(names, p)) == f"By bleu: {wanted}."


def test_one_system_has_nothing_to_be_compared_with() -> None:
    assert verdict(compared("A", {})).endswith("no other system to compare it with.")


def test_many_names_are_counted() -> None:
    assert join(list("ABCDEF")) == "A, B, C, D, E and F"
    assert join(list("ABCDEFGH")) == "A, B, C, D, E and 3 others"
