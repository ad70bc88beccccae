"""Networks trained on judgments of outputs in English, as by Mathur et al. 2019: their data, a teacher, raters, speed.

    python benchmarks/learned_metrics.py prepare FOLDER     judgments of WMT15 and WMT16, a configuration per network
                                                            (--encoder e5 --layer 9: over one layer of another encoder)
    python benchmarks/learned_metrics.py teach FOLDER       scores of a linear teacher, for networks to imitate first
    prism metric train FOLDER/esim.toml                     and so on, for those that are wanted
    prism metaeval wmt17_da_seg.tsv.xz --protocol wmt17-seg --metric bertr FOLDER/esim --encoder minilm
    prism reproduce mathur2019/segments-to --data DATA --rows 'BERTR=bertr[encoder=e5]' 'TrainS ESIM=FOLDER/esim'
    python benchmarks/learned_metrics.py figure1 FOLDER     Pearson over training size, for 1, 2 and 3 raters an output
    python benchmarks/learned_metrics.py speed              10,000 pairs with ESIM over MiniLM beside bert_score
    python benchmarks/learned_metrics.py speed-bertscore    the same with BERTScore

The paper's TrainL has 125,000 single judgments; in its place, `-large` adds the direct assessments of WMT20 zh-en,
nearly all of them by one annotator.

`-taught` learns to imitate a teacher before it learns from people: a linear combination of how well each layer's pieces
are matched (recall and precision), fitted to WMT16. The teacher can score any pair, so there is more to learn from;
`-after` goes on from there with the judgments of WMT16, in smaller steps.
"""

import argparse
import csv
import itertools
import json
import lzma
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import prism_mt
from prism_mt import EngineConfig, Runtime, make_metric
from prism_mt._core.progress import track
from prism_mt.encoders.base import PieceEncoder
from prism_mt.encoders.cached import StoredEncoder
from prism_mt.encoders.factory import ALL_LAYERS, minilm_folder, open_piece_encoder
from prism_mt.evaluation.judgments import is_human
from prism_mt.metrics.base import Languages, Segment
from prism_mt.metrics.learned import MetricSpec, write_metric
from prism_mt.metrics.learned_network import KINDS, network_shapes
from prism_mt.report.table import Column, Table, number, render
from prism_mt.stats.correlation import pearson
from prism_mt.training.config import Limits
from prism_mt.training.regression.config import MetricConfig
from prism_mt.training.regression.judgments import JudgedOutput, read_judged_outputs

_MQM = "wmt20_mqm_zh-en.jsonl.xz"
LONGEST = 30


def rows(path: Path) -> Iterator[dict[str, str]]:
    """The judgments of a file."""
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as handle:
        yield from csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)


def prepare(data: Path, folder: Path, encoder: str, layer: int | None) -> None:
    """WMT16 to train on, WMT15 to stop early, as in the paper's TrainS; `-large` adds single ratings of WMT20.

    `-all` adds English-Russian, for metrics of all languages.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = list(rows(data / "judgments" / "wmt15-16_da_seg.tsv.xz"))
    for year, suffix in itertools.product(("2015", "2016"), ("", "-all")):
        lines = [
            f"{row['ref']}\t{row['hyp']}\t{row['da_z']}\n"
            for row in found
            if row["set"].endswith(year) and (suffix or row["lp"].endswith("-en"))
        ]
        name = f"wmt{year}{suffix}.tsv"
        (folder / name).write_text("ref\thyp\tscore\n" + "".join(lines), encoding="utf-8")
        print(f"{folder}/{name}: {len(lines):,} judgments")
    assessed = assessments(data / "judgments")
    (folder / "da2020.tsv").write_text("ref\thyp\tscore\n" + "".join(assessed), encoding="utf-8")
    print(f"{folder}/da2020.tsv: {len(assessed):,} judgments")
    for kind in KINDS:
        after = f'start = "{kind}-taught"\noptimizer.learning_rate = 1e-4\nlimits.epochs = 4\n'
        for name, train, more in (
            (kind, ["wmt2016"], ""),
            (f"{kind}-all", ["wmt2016-all"], ""),
            (f"{kind}-large", ["wmt2016", "da2020"], ""),
            (f"{kind}-taught", ["taught"], "limits.epochs = 3\n"),
            (f"{kind}-after", ["wmt2016"], after),
        ):
            settings: dict[str, object] = {
                "train": [f"{one}.tsv" for one in train],
                "dev": ["wmt2015-all.tsv" if name.endswith("-all") else "wmt2015.tsv"],
                "output": name,
                "kind": kind,
                "encoder": encoder,
            }
            if layer is not None:
                settings["layer"] = layer
            text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
            (folder / f"{name}.toml").write_text(text + more, encoding="utf-8")


def all_layers(encoder: str) -> PieceEncoder:
    """An encoder with all of its layers."""
    return open_piece_encoder(encoder, "en", lambda: Runtime().model("mini"), config=ALL_LAYERS)


def teach(folder: Path, name: str) -> None:
    """Fit the teacher to WMT16, and let it score those outputs and the shorter ones of WMT20, of which it saw none."""
    encoder = StoredEncoder(all_layers(name), "all")
    known, new = (list(read_judged_outputs(folder / name)) for name in ("wmt2016.tsv", "da2020.tsv"))
    new = [row for row in new if len(row.other.split()) <= 22 and len(row.hypothesis.split()) <= 30]
    human = np.array([row.score for row in known])
    matched = matches(encoder, known)
    mean, spread = matched.mean(0), matched.std(0)
    inputs = (matched - mean) / spread
    ridge = inputs.T @ inputs + 10 * np.eye(inputs.shape[1])
    weights = np.linalg.solve(ridge, inputs.T @ (human - human.mean()))
    weights *= human.std() / (inputs @ weights).std()  # as spread as people's scores
    scores = np.concatenate([inputs, (matches(encoder, new) - mean) / spread]) @ weights
    with (folder / "taught.tsv").open("w", encoding="utf-8") as handle:
        handle.write("ref\thyp\tscore\n")
        for row, score in zip([*known, *new], scores, strict=True):
            handle.write(f"{row.other}\t{row.hypothesis}\t{score}\n")
    print(f"{folder}/taught.tsv: {len(scores):,} scores of the teacher")


def matches(encoder: StoredEncoder, judged: Sequence[JudgedOutput]) -> NDArray[np.float64]:
    """For each layer the mean best cosine of the reference's pieces, then of the output's: a row for each output."""
    found = []
    for row in track(iter(judged), "matching pieces", len(judged)):
        sides = [
            vectors / np.linalg.norm(vectors, axis=2, keepdims=True)
            for vectors in encoder.encode([row.other, row.hypothesis])
        ]
        cosines = sides[0] @ sides[1].transpose(0, 2, 1)
        found.append(np.concatenate([cosines.max(2).mean(1), cosines.max(1).mean(1)]))
    return np.array(found, dtype=np.float64)


class Rated(NamedTuple):
    """An output with its reference and the scores of its raters, each of whom has mean 0 and deviation 1."""

    segment: int
    reference: str
    hypothesis: str
    scores: tuple[float, ...]


def rated_outputs(path: Path) -> list[Rated]:
    """The outputs of all systems in a file of MQM ratings."""
    found: list[tuple[int, str, str, dict[str, float]]] = []
    by_rater: dict[str, list[float]] = {}
    with lzma.open(path, "rt", encoding="utf-8") as handle:
        for number, record in enumerate(map(json.loads, handle)):
            for system, raters in record["mqm"].items():
                if not is_human(system):
                    scores = {rater: float(rating["score"]) for rater, rating in raters.items()}
                    found.append((number, record["sys"]["Human-A.0"], record["sys"][system], scores))
                    for rater, score in scores.items():
                        by_rater.setdefault(rater, []).append(score)
    scale = {rater: (float(np.mean(values)), float(np.std(values))) for rater, values in by_rater.items()}
    return [
        Rated(
            number, ref, hyp, tuple((score - scale[rater][0]) / scale[rater][1] for rater, score in scores.items())
        )
        for number, ref, hyp, scores in found
    ]


def assessments(folder: Path) -> list[str]:
    """The direct assessments of WMT20 zh-en, a line each. Long references are left out: they cost most of the time."""
    with lzma.open(folder / _MQM, "rt", encoding="utf-8") as handle:
        segments = {f"{record['doc']}::{record['doc_seg']}": record["sys"] for record in map(json.loads, handle)}
    return [
        f"{reference}\t{segments[row['docseg']][row['system']]}\t{row['z']}\n"
        for row in rows(folder / "wmt20_da_seg.tsv.xz")
        if row["lp"] == "zh-en" and not is_human(row["system"])
        if len((reference := segments[row["docseg"]]["Human-A.0"]).split()) <= LONGEST
    ]


def figure1(options: argparse.Namespace, folder: Path) -> None:
    """The paper's figure 1: are ratings better spent on more outputs, or on several raters of the same?

    A tenth of the segments is for early stopping and a fifth to test on, each output with the mean of its raters.
    """
    rng = np.random.default_rng(1)
    outputs = [one for one in rated_outputs(options.data / "judgments" / _MQM) if len(one.scores) >= 3]
    segments = rng.permutation(sorted({one.segment for one in outputs}))[: options.segments]
    parts = np.split(segments, [len(segments) // 10, 3 * len(segments) // 10])
    dev, test, train = ([one for one in outputs if one.segment in set(part.tolist())] for part in parts)
    train = [train[place] for place in rng.permutation(len(train))]
    folder.mkdir(parents=True, exist_ok=True)
    write_rated(folder / "dev.tsv", dev, 3, rng)
    human = np.array([np.mean(one.scores) for one in test])
    points: list[tuple[int, int, float]] = []
    for size in sorted({min(size, len(train)) for size in options.sizes}):
        for raters in (1, 2, 3):
            name = folder / f"{options.kind}-{size}x{raters}"
            write_rated(name.with_suffix(".tsv"), train[:size], raters, np.random.default_rng(size))
            config = MetricConfig(
                train=(name.with_suffix(".tsv"),),
                dev=(folder / "dev.tsv",),
                output=name,
                kind=options.kind,
                limits=Limits(epochs=options.epochs, patience=4),
            )
            prism_mt.train_metric(config)
            [scores] = prism_mt.score(
                [one.hypothesis for one in test],
                ref=[one.reference for one in test],
                lang="en",
                metrics=str(name),
            ).values()
            points.append((size, raters, pearson(human, scores.segments[0])))
            write_points(folder / "figure1", points, len(test))


def write_rated(path: Path, outputs: Sequence[Rated], raters: int, rng: np.random.Generator) -> None:
    """Judgments to train on, each the mean of so many of the output's raters, drawn at random."""
    with path.open("w", encoding="utf-8") as handle:
        handle.write("ref\thyp\tscore\n")
        for one in outputs:
            score = float(np.mean(rng.permutation(one.scores)[:raters]))
            handle.write(f"{one.reference}\t{one.hypothesis}\t{score}\n")


def write_points(path: Path, points: Sequence[tuple[int, int, float]], tested: int) -> None:
    """A table and two forms of the picture; written after every run, so that one can look on."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [f"{size}\t{raters}\t{size * raters}\t{found:.4f}\n" for size, raters, found in points]
    path.with_suffix(".tsv").write_text("outputs\traters\tratings\tpearson\n" + "".join(rows), encoding="utf-8")
    figure, axes = pyplot.subplots(figsize=(5, 3.5), layout="constrained")
    for raters in (1, 2, 3):
        line = [(size * raters, found) for size, count, found in points if count == raters]
        label = "1 rater" if raters == 1 else f"mean of {raters}"
        axes.plot([ratings for ratings, _ in line], [found for _, found in line], "o-", label=label)
    axes.set(xscale="log", xlabel="ratings", ylabel=f"Pearson on {tested:,} outputs of WMT20 zh-en")
    axes.legend(title="score of an output")
    for suffix in (".png", ".svg"):
        figure.savefig(path.with_suffix(suffix), dpi=150)
    pyplot.close(figure)


def bertscore_speed(options: argparse.Namespace) -> Table:
    """BERTScore beside bert_score over the same MiniLM: the same pairs, no vectors known before."""
    import torch
    from bert_score import BERTScorer

    pairs = [(one.hypothesis, one.reference) for one in rated_outputs(options.data / "judgments" / _MQM)]
    pairs = pairs[: options.pairs]
    segments = [Segment(hypothesis, (reference,)) for hypothesis, reference in pairs]
    peer = BERTScorer(model_type=str(minilm_folder()), num_layers=6, batch_size=64, device="cpu")
    seconds: dict[str, float] = {}
    peer.score(["warm"], ["up"])
    start = time.perf_counter()
    peer.score([one for one, _ in pairs], [other for _, other in pairs])
    seconds["bert_score"] = time.perf_counter() - start
    for precision in ("float32", "auto"):
        with tempfile.TemporaryDirectory() as place:
            os.environ["PRISM_CACHE"] = place
            metric = make_metric("bertscore", {"encoder": "minilm"})
            ours = metric.open(Runtime(EngineConfig(precision=precision)), Languages("en"))
            list(ours.score(segments[:1]))
            start = time.perf_counter()
            list(ours.score(segments))
            seconds[f"prism bertscore {precision}"] = time.perf_counter() - start
    rows = tuple((name, len(pairs) / took, seconds["bert_score"] / took) for name, took in seconds.items())
    caption = f"{len(pairs):,} pairs over MiniLM, {torch.get_num_threads()} threads"
    return Table((Column("what"), number("pairs per second", 1), number("times bert_score", 2)), rows, caption)


def speed(options: argparse.Namespace) -> Table:
    """A trained network over MiniLM beside bert_score's P, R and F1 over it: the same pairs, nothing known before."""
    import torch
    from bert_score import BERTScorer

    pairs = [(one.hypothesis, one.reference) for one in rated_outputs(options.data / "judgments" / _MQM)]
    pairs = pairs[: options.pairs]
    with tempfile.TemporaryDirectory() as place:
        os.environ["PRISM_CACHE"] = place
        encoder = all_layers("minilm")
        sizes = encoder.layers, encoder.width, 300
        # How fast a network is does not depend on what it has learned.
        spec = MetricSpec(options.kind, "minilm", encoder.digest, "en", *sizes, pieces=100)
        shapes = network_shapes(options.kind, *sizes)
        write_metric(
            Path(place) / "metric",
            spec,
            {name: np.full(shape, 0.01, np.float32) for name, shape in shapes.items()},
        )
        ours = make_metric(str(Path(place) / "metric")).open(Runtime(), Languages("en"))
        peer = BERTScorer(model_type=str(minilm_folder()), num_layers=6, batch_size=64, device="cpu")
        segments = [Segment(hypothesis, (reference,)) for hypothesis, reference in pairs]
        work: dict[str, Callable[[], object]] = {
            f"prism {options.kind}, first time": lambda: list(ours.score(segments)),
            f"prism {options.kind}, vectors known": lambda: list(ours.score(segments)),
            "bert_score": lambda: peer.score([one for one, _ in pairs], [other for _, other in pairs]),
        }
        seconds = {}
        for name, run in work.items():
            start = time.perf_counter()
            run()
            seconds[name] = time.perf_counter() - start
    rows = tuple((name, len(pairs) / took, seconds["bert_score"] / took) for name, took in seconds.items())
    caption = f"{len(pairs):,} pairs over MiniLM, {torch.get_num_threads()} threads"
    return Table((Column("what"), number("pairs per second", 1), number("times bert_score", 2)), rows, caption)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PRISM_DATA", "../shared/data")))
    parser.add_argument("--kind", choices=KINDS, default="esim", help="figure1, speed: the network")
    sizes = (500, 1000, 2000, 4000, 8000, 16000)
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes, help="figure1: outputs to train on")
    parser.add_argument("--segments", type=int, help="figure1: only so many of the 2,000 segments")
    parser.add_argument("--epochs", type=int, default=20, help="figure1: at most so many")
    parser.add_argument("--encoder", default="minilm", help="prepare, teach: encoder under the networks")
    parser.add_argument("--layer", type=int, help="prepare: layer that the networks read instead of a mix of all")
    parser.add_argument("--pairs", type=int, default=10_000, help="speed: how many")
    parser.add_argument("what", choices=("prepare", "teach", "figure1", "speed", "speed-bertscore"))
    parser.add_argument("folder", nargs="?", type=Path, help="prepare, teach, figure1: where to write")
    options = parser.parse_args()
    if options.what == "speed":
        print(render(speed(options)), end="")
    elif options.what == "speed-bertscore":
        print(render(bertscore_speed(options)), end="")
    elif options.folder is None:
        parser.error(f"{options.what} needs a folder")
    elif options.what == "prepare":
        prepare(options.data, options.folder, options.encoder, options.layer)
    elif options.what == "teach":
        teach(options.folder, options.encoder)
    else:
        figure1(options, options.folder)


if __name__ == "__main__":
    main()
