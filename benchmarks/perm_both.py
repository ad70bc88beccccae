"""PERM-BOTH with 1,000 draws on 13 systems × 1,000 segments: our test beside mt-metrics-eval or a plain loop.

    python benchmarks/perm_both.py [--draws 1000] [--peer-draws 50]

The peer is mt-metrics-eval (google-research/mt-metrics-eval; the package of this name on PyPI is another one) where
it is installed, otherwise a loop that does what it does: swap, compute both correlations with scipy, compare. Peers
are timed on fewer draws and scaled. Human scores look like MQM: few levels, most of them 0.
"""

import argparse
import importlib
import time
from collections.abc import Callable

import numpy as np
from scipy import stats as scipy_stats

from prism_mt.report.table import Column, Table, number, render
from prism_mt.stats.accuracy import segment_accuracy
from prism_mt.stats.arrays import Matrix, Statistic, Vector
from prism_mt.stats.correlation import Correlation, kendall_b, pearson
from prism_mt.stats.permutation import permutation_test
from prism_mt.stats.ties import acc_t23

SYSTEMS, SEGMENTS = 13, 1000


def make_scores(decimals: int, seed: int = 0) -> tuple[Matrix, Matrix, Matrix]:
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(SYSTEMS, SEGMENTS)) + rng.normal(size=SEGMENTS)
    human = -np.maximum(0, np.round(3 - 2 * quality))
    better = np.round(quality + 1.5 * rng.normal(size=quality.shape), decimals)
    worse = np.round(quality + 1.52 * rng.normal(size=quality.shape), decimals)
    return human, better, worse


def loop(statistic: Callable[[Vector, Vector], float], over_segments: bool = False) -> Callable[..., float]:
    """What mt-metrics-eval does, with the number of draws as its last argument."""

    def mean(human: Matrix, scores: Matrix) -> float:
        if not over_segments:
            return statistic(human.ravel(), scores.ravel())
        values = np.array([statistic(h, m) for h, m in zip(human.T, scores.T, strict=True)])
        return float(np.nanmean(values))

    def test(human: Matrix, a: Matrix, b: Matrix, draws: int) -> float:
        rng = np.random.default_rng(1)
        a, b = scipy_stats.zscore(a, axis=None), scipy_stats.zscore(b, axis=None)
        observed = mean(human, a) - mean(human, b)
        large = 0
        for _ in range(draws):
            keep = rng.random(a.shape) < 0.5
            large += mean(human, np.where(keep, a, b)) - mean(human, np.where(keep, b, a)) >= observed
        return large / draws

    return test


def mt_metrics_eval(human: Matrix, a: Matrix, b: Matrix, draws: int) -> float:
    stats = importlib.import_module("mt_metrics_eval.stats")
    gold = human.ravel().tolist()
    first, second = (stats.Correlation(SYSTEMS, gold, scores.ravel().tolist()) for scores in (b, a))
    return float(stats.PermutationSigDiff(first, second, scipy_stats.kendalltau, k=draws)[0])


def has_mt_metrics_eval() -> bool:
    try:
        return hasattr(importlib.import_module("mt_metrics_eval.stats"), "PermutationSigDiff")
    except ImportError:
        return False


def timed(run: Callable[[], float]) -> tuple[float, float]:
    start = time.perf_counter()
    result = run()
    return result, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--peer-draws", type=int, default=50)
    options = parser.parse_args()
    tau_peer = mt_metrics_eval if has_mt_metrics_eval() else loop(kendall_b)
    cases: list[tuple[str, Statistic, Callable[..., float] | None, int]] = [
        ("tau-b pooled, no ties", Correlation("kendall-b"), tau_peer, 9),
        ("tau-b pooled, many ties", Correlation("kendall-b"), tau_peer, 1),
        ("Pearson pooled", Correlation("pearson"), loop(pearson), 9),
        ("tau-b in segments", Correlation("kendall-b", "segments"), loop(kendall_b, over_segments=True), 9),
        ("accuracy in segments", segment_accuracy, None, 9),
        ("acc-t23", acc_t23, None, 9),
    ]
    rows = []
    for name, statistic, peer, decimals in cases:
        human, a, b = make_scores(decimals)
        rng = np.random.default_rng(1)
        # Those without a shortcut are timed on fewer draws, too.
        draws = options.draws if statistic == Correlation("kendall-b") else min(options.draws, 100)
        ours, seconds = timed(
            lambda s=statistic, h=human, a=a, b=b, r=rng, d=draws: permutation_test(s, h, a, b, r, d).p  # type: ignore[misc]
        )
        seconds *= options.draws / draws
        theirs, peer_seconds = float("nan"), float("nan")
        if peer:
            few = options.peer_draws if "segments" not in name else max(1, options.peer_draws // 25)
            theirs, peer_seconds = timed(lambda p=peer, h=human, a=a, b=b, d=few: p(h, a, b, d))  # type: ignore[misc]
            peer_seconds *= options.draws / few
        rows.append((name, seconds, peer_seconds, peer_seconds / seconds, ours, theirs))
    columns = (
        Column("statistic"),
        *(number(title, 2) for title in ("ours s", "peer s", "peer/ours")),
        *(number(title) for title in ("p ours", "p peer")),
    )
    peer_name = "mt-metrics-eval" if has_mt_metrics_eval() else "a loop over scipy's kendalltau"
    caption = f"PERM-BOTH, {SYSTEMS} × {SEGMENTS}, seconds for {options.draws} draws; peer: {peer_name}"
    print(render(Table(columns, tuple(rows), caption)), end="")


if __name__ == "__main__":
    main()
