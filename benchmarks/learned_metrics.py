"""Embedding and learned metrics on WMT17 segments into English, beside Mathur et al. 2019.

    python benchmarks/learned_metrics.py prepare FOLDER     judgments of WMT15 and WMT16, a configuration per network
    prism metric train FOLDER/esim.toml                     and so on, for those that are wanted
    python benchmarks/learned_metrics.py table [FOLDER/esim …] [--model M]

Pearson with the judgments of each pair's 560 outputs, and their mean. A star: significantly better than BERTr over
MiniLM (Williams, p < 0.05). With `--model`, also BERTr over that translation model's own encoder. The paper's numbers
have BERT-base (110M parameters, 12 layers) as encoder; ours have MiniLM (22M, 6 layers), because its weights can be
installed with pip and used offline. The paper's TrainL had 125,000 single judgments that were never released; in its
place, `-large` adds each rater's score of WMT20 zh-en (MQM).
"""

import argparse
import csv
import json
import lzma
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_mt.encoders.catalogue import open_piece_encoder
from prism_mt.encoders.store import StoredEncoder
from prism_mt.metaeval.correlation import pearson
from prism_mt.metaeval.judgments import is_human
from prism_mt.metaeval.williams import williams_test
from prism_mt.metrics.base import Metric, Segment
from prism_mt.metrics.catalogue import ModelInUse, Setting, make_metric
from prism_mt.metrics.recall import MatchMetric
from prism_mt.metrics.regression_network import KINDS
from prism_mt.progress import track
from prism_mt.report.table import Column, Table, number, to_text

PAIRS = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")
PAPER = {
    "paper: BLEU": (0.435, 0.432, 0.571, 0.393, 0.484, 0.538, 0.512),
    "paper: BERTr": (0.655, 0.650, 0.777, 0.671, 0.680, 0.702, 0.687),
    "paper: BiLSTM, TrainS": (0.517, 0.556, 0.735, 0.672, 0.606, 0.619, 0.565),
    "paper: BiLSTM + attention, TrainS": (0.611, 0.603, 0.763, 0.740, 0.655, 0.695, 0.694),
    "paper: ESIM, TrainS": (0.534, 0.546, 0.757, 0.704, 0.621, 0.632, 0.629),
    "paper: BiLSTM, TrainL": (0.628, 0.621, 0.774, 0.732, 0.689, 0.682, 0.655),
    "paper: BiLSTM + attention, TrainL": (0.704, 0.710, 0.818, 0.777, 0.744, 0.753, 0.737),
    "paper: ESIM, TrainL": (0.692, 0.706, 0.829, 0.764, 0.726, 0.776, 0.732),
}


def rows(path: Path) -> Iterator[dict[str, str]]:
    """The judgments into English of a file."""
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as handle:
        for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["lp"].endswith("-en"):
                yield row


def prepare(data: Path, folder: Path) -> None:
    """WMT16 to train on, WMT15 to stop early, as in the paper's TrainS; `-large` adds single ratings of WMT20."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list(rows(data / "judgments" / "wmt15-16_da_seg.tsv.xz"))
    for year in ("2015", "2016"):
        lines = [f"{row['ref']}\t{row['hyp']}\t{row['da_z']}\n" for row in found if row["set"].endswith(year)]
        (folder / f"wmt{year}.tsv").write_text("ref\thyp\tscore\n" + "".join(lines), encoding="utf-8")
        print(f"{folder}/wmt{year}.tsv: {len(lines):,} judgments")
    ratings = single_ratings(data / "judgments" / "wmt20_mqm_zh-en.jsonl.xz")
    (folder / "mqm2020.tsv").write_text("ref\thyp\tscore\n" + "".join(ratings), encoding="utf-8")
    print(f"{folder}/mqm2020.tsv: {len(ratings):,} ratings")
    for kind in KINDS:
        for name, train in ((kind, ["wmt2016.tsv"]), (f"{kind}-large", ["wmt2016.tsv", "mqm2020.tsv"])):
            text = f'train = {json.dumps(train)}\ndev = ["wmt2015.tsv"]\noutput = "{name}"\nkind = "{kind}"\n'
            (folder / f"{name}.toml").write_text(text, encoding="utf-8")


def single_ratings(path: Path) -> list[str]:
    """Every rater's score of every system's output, each rater brought to mean 0 and deviation 1."""
    found: list[tuple[str, str, str, float]] = []
    with lzma.open(path, "rt", encoding="utf-8") as handle:
        for record in map(json.loads, handle):
            for system, raters in record["mqm"].items():
                if not is_human(system):
                    texts = record["sys"]["Human-A.0"], record["sys"][system]
                    found += [(rater, *texts, float(rating["score"])) for rater, rating in raters.items()]
    scores: dict[str, list[float]] = {}
    for rater, _, _, score in found:
        scores.setdefault(rater, []).append(score)
    scale = {rater: (np.mean(values), np.std(values)) for rater, values in scores.items()}
    return [f"{ref}\t{hyp}\t{(score - scale[rater][0]) / scale[rater][1]}\n" for rater, ref, hyp, score in found]


def metrics(trained: Sequence[str], model: str | None) -> dict[str, Metric]:
    """All that are compared, BERTr over MiniLM first of those with vectors."""
    setting = Setting("en", model=ModelInUse(model or "mini"), encoder="minilm")
    minilm = StoredEncoder(open_piece_encoder("minilm", "en", lambda: setting.model.directory), "all")
    found: dict[str, Metric] = {name: make_metric(name, setting) for name in ("bleu", "chrf")}
    # All layers are kept, so that the trained metrics find these vectors too.
    found["BERTr (minilm)"] = MatchMetric("bertr", minilm, "recall")
    if model:
        found[f"BERTr ({model})"] = make_metric("bertr", Setting("en", model=setting.model))
    return found | {folder: make_metric(folder, setting) for folder in trained}


def table(data: Path, trained: Sequence[str], model: str | None) -> Table:
    """Pearson of each metric on each pair, then the paper's."""
    judged: dict[str, list[dict[str, str]]] = {pair: [] for pair in PAIRS}
    for row in rows(data / "judgments" / "wmt17_da_seg.tsv.xz"):
        judged[row["lp"]].append(row)
    human = {pair: np.array([float(row["da_z"]) for row in found]) for pair, found in judged.items()}
    scores: dict[str, dict[str, NDArray[np.float64]]] = {}
    for name, metric in metrics(trained, model).items():
        scores[name] = {}
        for pair, found in judged.items():
            segments = (Segment(row["hyp"], (row["ref"],), row["src"]) for row in found)
            results = track(metric.score(segments), f"{name} {pair}", len(found))
            scores[name][pair] = np.array([one.score for one in results])
    lines: list[tuple[str | float, ...]] = []
    better = set()
    for place, (name, by_pair) in enumerate(scores.items()):
        correlations = [pearson(human[pair], by_pair[pair]) for pair in PAIRS]
        lines.append((name, *correlations, float(np.mean(correlations))))
        for column, pair in enumerate(PAIRS, start=1):
            if williams_test(human[pair], by_pair[pair], scores["BERTr (minilm)"][pair]).p < 0.05:
                better.add((place, column))
    lines += [(name, *values, float(np.mean(values))) for name, values in PAPER.items()]
    columns = (Column("metric"), *(number(pair) for pair in PAIRS), number("mean"))
    return Table(columns, tuple(lines), bold=frozenset(better), notes=("*: better than BERTr (minilm), p < 0.05",))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PRISM_DATA", "../shared/data")))
    parser.add_argument("--model", help="also BERTr over this translation model's encoder")
    parser.add_argument("what", choices=("prepare", "table"))
    parser.add_argument("folders", nargs="*", help="prepare: where to write; table: trained metrics")
    options = parser.parse_args()
    if options.what == "prepare":
        if len(options.folders) != 1:
            parser.error("prepare needs one folder")
        prepare(options.data, Path(options.folders[0]))
    else:
        print(to_text(table(options.data, options.folders, options.model)), end="")


if __name__ == "__main__":
    main()
