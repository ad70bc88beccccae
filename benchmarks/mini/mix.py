"""Choose the weights of `prism-mix` on the documents of WMT20 that nothing was trained on.

    python benchmarks/mini/mix.py --data DIR [--model DIR] [--esim DIR]

For each pair of weights: accuracy within segments in % and Kendall's tau-b ×100 over all outputs. The single metrics
and chrF stand beside them.
"""

import argparse
import itertools
import sys
from pathlib import Path

import judgments as judged
import numpy as np
from numpy.typing import NDArray

import prism_mt
from prism_mt import EngineConfig, Runtime, make_metric
from prism_mt.evaluation.collect import open_metrics
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.scoring import score_texts
from prism_mt.stats.accuracy import segment_accuracy
from prism_mt.stats.correlation import kendall_b

MATCH = (0.0, 2.5, 5.0, 10.0, 20.0)
LEARNED = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
Scores = NDArray[np.float64]


def held_out_judgments(data: Path) -> dict[str, Judgments]:
    """The judged segments of the documents that `judgments.py` and `groups.py` hold out."""
    found = {}
    for pair, rows, documents in judged.wmt20(data):
        places = [place for place, row in enumerate(rows) if row["doc"] in documents]
        path = data / "judgments" / f"wmt20_mqm_{pair}.jsonl.xz"
        found[pair] = prism_mt.read_judgments(path, pair=pair).without_humans().on_segments(places)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with judgments/")
    parser.add_argument("--model", default="mini")
    parser.add_argument("--esim", default="esim", help="folder of the learned metric")
    parser.add_argument("--precision", default="float32")
    options = parser.parse_args()
    runtime = Runtime(EngineConfig(precision=options.precision))
    named = {"model": options.model, "overlong": "window"}
    metrics = [
        make_metric("prism-ref", named),
        make_metric("bertscore", {**named, "encoder": "model"}),
        make_metric(options.esim, {"overlong": "window"} if options.esim == "esim" else named),
        make_metric("chrf", {}),
    ]
    tables = {}
    for pair, judgments in held_out_judgments(options.data).items():
        scores = [
            score_texts(scorer, judgments, judged.REFERENCE, only_judged=True).higher.segments
            for scorer in open_metrics(metrics, judgments, runtime)
        ]
        tables[pair] = (judgments.scores, scores)
        for metric, values in zip(metrics, scores, strict=True):
            print(f"{pair}\t{metric.name}\t{shown(judgments.scores, values)}", flush=True)
    print("match\tlearned\t" + "\t".join(tables))
    for match, learned in itertools.product(MATCH, LEARNED):
        cells = [
            shown(human, prism + match * cosines + learned * esim)
            for human, (prism, cosines, esim, _) in tables.values()
        ]
        print(f"{match:g}\t{learned:g}\t" + "\t".join(cells))
    sys.stdout.flush()


def shown(human: Scores, scores: Scores) -> str:
    return f"{100 * segment_accuracy(human, scores):.1f} / {100 * kendall_b(human.ravel(), scores.ravel()):.1f}"


if __name__ == "__main__":
    main()
