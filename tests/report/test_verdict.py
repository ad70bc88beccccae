"""The verdict says what the tests have shown, and nothing else."""

import re
from itertools import combinations

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
        ("CA", {"CA": 0.039}, "C is better than A (p = .039)"),
        ("CA", {"CA": 0.5}, "C and A cannot be told apart (p = .500)"),
        ("CAD", {"CA": 0.2, "CD": 0.3, "AD": 0.9}, "C, A and D cannot be told apart (p ≥ .200)"),
        (
            "CAB",
            {"CA": 0.039},
            "from best to worst, each system is better than all after it (p ≤ .039): C, A, B",
        ),
        (
            "CAB",
            {"AB": 0.3},
            "C is better than A and B (p < .001), which cannot be told apart (p = .300)",
        ),
        (
            "CADB",
            {"CA": 0.2, "DB": 0.3},
            "C and A cannot be told apart (p = .200); both are better than D and B (p < .001), "
            "which cannot be told apart (p = .300)",
        ),
        (
            "CADBE",
            {"CA": 0.2, "BE": 0.3},
            "from best to worst, each group is better than all after it (p < .001): C and A; D; B and E. "
            "Systems of one group cannot be told apart (p ≥ .200)",
        ),
        (
            "CADB",
            {"CA": 0.051, "AD": 0.056},
            "C is better than D and B (p < .001); A and D are better than B (p < .001); "
            "no other two systems can be told apart (p ≥ .051)",
        ),
        (
            "CAD",
            {"CA": 0.2, "CD": 0.06, "AD": 0.01},
            "A is better than D (p = .010); no other two systems can be told apart (p ≥ .060)",
        ),
        (
            "ABCDEFG",
            {"AB": 0.1, "BC": 0.2, "FG": 0.3},
            "from best to worst: A, B, C, D, E, F, G. A is better than C and all after it (p < .001); "
            "B and C are better than D and all after it (p < .001); D is better than E and all after it (p < .001); "
            "E is better than F and G (p < .001); no other two systems can be told apart (p ≥ .100)",
        ),
    ],
)
def test_verdict(names: str, p: dict[str, float], wanted: str) -> None:
    assert verdict(compared(names, p)) == f"By bleu: {wanted}."


def told(sentence: str, names: str) -> set[str]:
    """Read the significant pairs back from a verdict."""
    text = re.sub(r" \(p [^)]*\)", "", sentence.removeprefix("By bleu: ").removesuffix("."))
    if match := re.fullmatch(
        r"from best to worst, each \w+ is better than all after it: (.*?)(\. Systems .*)?", text
    ):
        groups = [re.findall(r"\b[A-Z]\b", group) for group in re.split("; " if match[2] else ", ", match[1])]
        return {a + b for first, second in combinations(groups, 2) for a in first for b in second}
    found, level = set(), ""
    for clause in re.split(r"; |\. ", text):
        left, verb, right = clause.partition(" better than ")
        better = re.findall(r"\b[A-Z]\b", left) if verb else []
        if left.startswith(("both", "all of them")):
            better = re.findall(r"\b[A-Z]\b", level)
        worse = re.findall(r"\b[A-Z]\b", right)
        if "all after it" in right:
            worse += list(names[names.index(worse[-1]) + 1 :])
        found |= {a + b for a in better for b in worse}
        level = clause
    return found


def test_every_significant_pair_is_told_and_no_other() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        names = "ABCDEFGHIJ"[: rng.integers(2, 11)]
        tied = rng.random() ** 2
        pairs = {a + b: float(rng.choice([0.01, 0.5], p=[1 - tied, tied])) for a, b in combinations(names, 2)}
        sentence = verdict(compared(names, pairs))
        assert told(sentence, names) == {pair for pair, p in pairs.items() if p < 0.05}, sentence


@pytest.mark.parametrize("count", [3, 8, 26])
def test_chain_and_tie_of_any_length(count: int) -> None:
    names = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count]
    chain, tie = verdict(compared(names, {})), verdict(compared(names, {}, default=0.4))
    assert chain.endswith(f"each system is better than all after it (p < .001): {', '.join(names)}.")
    assert tie == f"By bleu: {', '.join(names[:-1])} and {names[-1]} cannot be told apart (p ≥ .400)."


def test_one_system_has_nothing_to_be_compared_with() -> None:
    assert verdict(compared("A", {})).endswith("no other system to compare it with.")


def test_many_names_are_counted() -> None:
    assert join(list("ABCDEF")) == "A, B, C, D, E and F"
    assert join(list("ABCDEFGH")) == "A, B, C, D, E and 3 others"
