"""parBLEU and parchrF++ on the WMT19 metrics task, into English: do paraphrases of the references help?

    python benchmarks/parbleu.py [--model mini] [--data DIR] [--pairs de-en …] [--counts 0 1 5 25] [--segments N]
    python benchmarks/parbleu.py --methods beam diverse sample --counts 5
    python benchmarks/parbleu.py --pairs lt-en --beams 100 --counts 25 100
    python benchmarks/parbleu.py --trained FOLDER --pairs lt-en
    python benchmarks/parbleu.py --human

System-level Pearson with the direct assessments for every number of paraphrases, and for lt-en the daRR tau of segment
scores; `1, no original` has the first paraphrase instead of the reference. Paraphrases are kept in the user's cache, so
a killed run goes on. `--trained`: parESIM and its like, with folders that `prism metric train` wrote. `--human`: BLEU
with one to six references on the 500 segments that people have paraphrased.
"""

import argparse
import csv
import json
import lzma
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from prism_mt._core.progress import track
from prism_mt.engines.factory import EngineConfig
from prism_mt.generate.generator import Generator
from prism_mt.generate.options import SearchConfig
from prism_mt.metrics.base import Metric, Segment
from prism_mt.metrics.paraphrased import (
    GeneratedParaphrases,
    ParaphrasedMetric,
    ParaphraseOptions,
    bleu,
    chrf_plus_plus,
)
from prism_mt.metrics.registry import Setting, make_metric
from prism_mt.models.resolve import open_model
from prism_mt.report.table import Column, Table, number, to_text
from prism_mt.stats.correlation import pearson

PAIRS = ("de-en", "fi-en", "gu-en", "kk-en", "lt-en", "ru-en", "zh-en")
_CHUNK = 200
METHODS = ("diverse", "beam", "sample")


@dataclass
class Task:
    """One language pair: references, outputs and what people said."""

    references: list[str]
    outputs: dict[str, list[str]]
    human: dict[str, float]
    better: list[tuple[int, str, str]]
    """Segment, better and worse system, where there are such judgments."""


def search(method: str, beams: int) -> SearchConfig:
    """Lists of as many paraphrases as there are beams; diverse ones come from ten groups."""
    if method == "diverse":
        return SearchConfig(method="diverse", n=beams, beam=beams, groups=10)
    if method == "beam":
        return SearchConfig(n=beams, beam=beams)
    return SearchConfig(method="sample", n=beams)


def open_text(path: Path) -> IO[str]:
    return lzma.open(path, "rt", encoding="utf-8", newline="")


def read(data: Path, pair: str, segments: int | None) -> Task:
    folder = data / "judgments"
    with open_text(folder / "wmt19_metrics_task.jsonl.xz") as handle:
        rows = [row for line in handle if (row := json.loads(line))["lp"] == pair][:segments]
    with open_text(folder / "wmt19_da_sys.tsv.xz") as handle:
        table = csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
        human = {row["system"]: float(row["da_z"]) for row in table if row["lp"] == pair}
    places = {row["sid"]: place for place, row in enumerate(rows)}
    with open_text(folder / "wmt19_darr_gu-kk-lt.tsv.xz") as handle:
        table = csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
        judged = [(int(row["sid"]), row["better"], row["worse"]) for row in table if row["lp"] == pair]
    better = [(places[sid], a, b) for sid, a, b in judged if sid in places]
    systems = [system for system in rows[0]["sys"] if system in human]
    outputs = {system: [row["sys"][system] for row in rows] for system in systems}
    return Task([row["ref"] for row in rows], outputs, human, better)


def segments(task: Task) -> Iterator[Segment]:
    for place, reference in enumerate(task.references):
        for texts in task.outputs.values():
            yield Segment(texts[place], (reference,), None, place + 1)


def judge(metric: Metric, task: Task, title: str) -> tuple[float, float]:
    """System-level Pearson, and daRR tau or NaN."""
    systems = list(task.outputs)
    scores: dict[str, list[float]] = defaultdict(list)
    totals: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    count = len(task.references) * len(systems)
    for index, result in enumerate(track(metric.score(segments(task)), title, count)):
        system = systems[index % len(systems)]
        scores[system].append(result.score)
        statistics = np.asarray(result.statistics, dtype=np.float64)
        totals[system] = totals[system] + statistics if system in totals else statistics
    system_scores = np.array([metric.aggregate(totals[system].tolist()) for system in systems])
    human = np.array([task.human[system] for system in systems])
    known = [(place, a, b) for place, a, b in task.better if a in scores and b in scores]
    agree = sum(scores[a][place] > scores[b][place] for place, a, b in known)
    tau = (2 * agree - len(known)) / len(known) if known else float("nan")
    return pearson(human, system_scores), tau


def plain_metrics(trained: Sequence[str]) -> dict[str, Metric]:
    """What is computed with more references: trained metrics, or the two of the paper."""
    if trained:
        return {f"par:{folder}": make_metric(folder, Setting("en")) for folder in trained}
    return {"parbleu": bleu("en"), "parchrf++": chrf_plus_plus()}


def prepare(paraphrases: GeneratedParaphrases, tasks: dict[str, Task], method: str) -> None:
    """Paraphrase all references, many of similar length together; they stay in the cache."""
    for pair, task in tasks.items():
        all_ = [Segment("", (reference,), None, place) for place, reference in enumerate(task.references, start=1)]
        starts = range(0, len(all_), _CHUNK)
        for start in track(iter(starts), f"{pair} paraphrases by {method}, {_CHUNK} each", len(starts)):
            paraphrases.of(all_[start : start + _CHUNK], 1)


def generated(
    model: str,
    data: Path,
    pairs: Sequence[str],
    methods: Sequence[str],
    beams: int,
    counts: Sequence[int],
    limit: int | None,
    trained: Sequence[str],
) -> Table:
    directory = open_model(model)
    plain = plain_metrics(trained)
    wanted = [(f"{count}", ParaphraseOptions(count)) for count in counts]
    if any(counts):
        wanted.append(("1, no original", ParaphraseOptions(1, replace=True)))
    rows: list[tuple[str | float, ...]] = []
    tasks = {pair: read(data, pair, limit) for pair in pairs}
    for method in methods:
        paraphrases = GeneratedParaphrases(Generator(directory, EngineConfig(), search(method, beams)), "en")
        if any(counts):
            prepare(paraphrases, tasks, method)
        for title, options in wanted:
            source = paraphrases if options.number else None
            for name, metric in plain.items():
                joined = ParaphrasedMetric(name, metric, options, source)
                judged = [judge(joined, task, f"{name} {pair} {title}") for pair, task in tasks.items()]
                tau = dict(zip(pairs, (tau for _, tau in judged), strict=True)).get("lt-en", float("nan"))
                rows.append((name, method, title, *(r for r, _ in judged), tau))
                print(*rows[-1], flush=True)
    columns = [Column("metric"), Column("method"), Column("paraphrases"), *(number(pair, 3) for pair in pairs)]
    return Table((*columns, number("lt-en tau", 3)), tuple(rows))


def human(data: Path) -> Table:
    task = read(data, "de-en", None)
    with open_text(data / "judgments" / "wmt19_de-en_human_paraphrases_500.tsv.xz") as handle:
        header, *lines = (line.rstrip("\n").split("\t") for line in handle)
    texts = {line[0]: line[1:] for line in lines}
    places = [place for place, reference in enumerate(task.references) if reference in texts]
    rows = []
    for count in range(len(header)):
        metric = bleu("en")
        scores = []
        for outputs in task.outputs.values():
            found = metric.score(
                Segment(outputs[place], (reference, *texts[reference][:count]))
                for place in places
                if (reference := task.references[place])
            )
            scores.append(metric.aggregate(np.sum([one.statistics for one in found], axis=0).tolist()))
        wanted = np.array([task.human[system] for system in task.outputs])
        rows.append((count + 1, len(places), pearson(wanted, np.array(scores))))
    return Table((number("references", 0), number("segments", 0), number("Pearson", 3)), tuple(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PRISM_DATA", "../shared/data")))
    parser.add_argument("--pairs", nargs="+", default=PAIRS, choices=PAIRS)
    parser.add_argument("--methods", nargs="+", default=["diverse"], choices=METHODS)
    parser.add_argument("--beams", type=int, default=30, help="paraphrases in a list (default: %(default)s)")
    parser.add_argument("--counts", nargs="+", type=int, default=[0, 1, 5, 25])
    parser.add_argument("--segments", type=int, help="only the first so many of each pair")
    parser.add_argument(
        "--trained", nargs="+", default=[], metavar="FOLDER", help="metrics of `prism metric train`"
    )
    parser.add_argument("--human", action="store_true")
    options = parser.parse_args()
    if options.human:
        table = human(options.data)
    else:
        table = generated(
            options.model,
            options.data,
            options.pairs,
            options.methods,
            options.beams,
            options.counts,
            options.segments,
            options.trained,
        )
    print(to_text(table), end="")


if __name__ == "__main__":
    main()
