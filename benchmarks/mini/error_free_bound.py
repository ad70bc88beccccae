"""Print how well published metrics can tell error-free outputs at best: calibrated on the outputs they are judged on.

The same score calibrated on other outputs, as `prism score --error-free` has to be, gains less.
"""

import argparse
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

_SETS = {
    "wmt21.news_en-de": "wmt21_mqm_news_en-de",
    "wmt21.news_zh-en": "wmt21_mqm_news_zh-en",
}


def _read(path: Path) -> Any:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def gain(scores: list[float], free: list[bool]) -> float:
    """How far the Brier score is below that of the base rate, as a share of it, with the best monotone calibration."""
    order = np.argsort(scores, kind="stable")
    truth = np.array(free, dtype=np.float64)[order]
    rate = truth.mean()
    return float(1 - np.mean((isotonic_regression(truth).x - truth) ** 2) / (rate * (1 - rate)))


def main() -> None:
    """Print a line per test set and metric."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the judgments")
    data: Path = parser.parse_args().data
    for published, judged in _SETS.items():
        segments = _read(data / f"{judged}.jsonl.xz")
        [predictions] = _read(data / f"prismft_predictions_{published}.json.xz")
        for metric, systems in predictions["seg"].items():
            scores, free = [], []
            for one in segments:
                for system, raters in (one["mqm"] or {}).items():
                    if system in systems and not system.startswith("ref"):
                        scores += [systems[system][one["seg_id"] - 1]] * len(raters)
                        free += [not rating["errors"] for rating in raters.values()]
            print(
                f"{judged}\t{metric}\t{len(free)} ratings\tBrier {100 * gain(scores, free):.1f} % below the base rate"
            )


if __name__ == "__main__":
    main()
