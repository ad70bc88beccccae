"""How good is a model as a metric? The quality table of the model card, made by one command.

    python benchmarks/mini/quality.py [--model mini] [--data DIR] [--segments N] [--tests mqm perturbations]

mqm: agreement with MQM judgments (WMT20 and WMT21 news; never trained on), two ways: Kendall tau-b ×100 pooled over
all outputs, which also rewards knowing which segments are hard, and the share of pairs of outputs of one segment, told
apart by people, that the metric orders alike (a metric tie is wrong). BLEU and chrF of the same segments stand beside.

perturbations: FLORES references with a word dropped, a number or name changed, or two words swapped must score below
the untouched ones, given the reference (Prism-ref) and given the same sentence in another language (Prism-src).
"""

import argparse
import json
import lzma
import os
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from perturb import PERTURBATIONS

from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.judgments import Judgments, Texts
from prism_mt.evaluation.readers import Request, read_judgments
from prism_mt.evaluation.scoring import score_texts
from prism_mt.metrics.base import Metric, Segment
from prism_mt.metrics.prism import PrismOptions
from prism_mt.metrics.registry import ModelInUse, Setting, make_metric
from prism_mt.report.table import Column, Table, number, render
from prism_mt.stats.accuracy import segment_accuracy
from prism_mt.stats.correlation import kendall_b

SETS = {
    "wmt21 news en-de": ("wmt21_mqm_news_en-de", "ref-C"),
    "wmt21 news zh-en": ("wmt21_mqm_news_zh-en", "ref-B"),
    "wmt21 news en-ru": ("wmt21_mqm_news_en-ru", "ref-A"),
    "wmt20 en-de": ("wmt20_mqm_en-de", "Human-A.0"),
    "wmt20 zh-en": ("wmt20_mqm_zh-en", "Human-A.0"),
}


def subset(judgments: Judgments, limit: int | None, seed: int = 0) -> Judgments:
    """The judged segments, or a random choice of so many of them."""
    judged = np.flatnonzero(judgments.judged().any(axis=0))
    if limit is not None and limit < len(judged):
        judged = np.sort(np.random.default_rng(seed).choice(judged, limit, replace=False))
    texts = judgments.texts
    assert texts is not None

    def pick(column: tuple[str | None, ...]) -> tuple[str | None, ...]:
        return tuple(column[index] for index in judged)

    chosen = Texts(
        pick(texts.sources),
        {name: pick(column) for name, column in texts.references.items()},
        {name: pick(column) for name, column in texts.outputs.items()},
    )
    names = tuple(judgments.segments[index] for index in judged)
    return replace(judgments, segments=names, scores=judgments.scores[:, judged], texts=chosen, preferences=None)


def mqm(model: ModelInUse, data: Path, names: list[str], metrics: list[str], limit: int | None) -> Table:
    rows: list[tuple[str | float, ...]] = []
    for title in names:
        file, reference = SETS[title]
        pair = file.split("_")[-1]
        [judgments] = read_judgments(data / "judgments" / f"{file}.jsonl.xz", Request(pair=pair))
        judgments = subset(judgments.without_humans(), limit)
        source, target = pair.split("-")
        for name in metrics:
            metric = make_metric(name, Setting(target, source, model, PrismOptions(long="window")))
            scores = score_texts(metric, judgments, reference, only_judged=True).align(judgments)
            tau = 100 * kendall_b(judgments.scores.ravel(), scores.ravel())
            accuracy = 100 * segment_accuracy(judgments.scores, scores)
            rows.append((title, name, int(np.isfinite(judgments.scores).sum()), tau, accuracy))
            print(rows[-1], file=sys.stderr)
    columns = (Column("test set"), Column("metric"), Column("outputs", align="right"))
    return Table((*columns, number("tau-b ×100", 1), number("within-segment accuracy %", 1)), tuple(rows))


def flores(data: Path) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    with lzma.open(data / "heldout" / "flores200_devtest.jsonl.xz", "rt", encoding="utf-8") as handle:
        for line in handle:
            for language, text in json.loads(line).items():
                texts.setdefault(language, []).append(text)
    return texts


def cases(texts: dict[str, list[str]], language: str, limit: int | None) -> Iterator[tuple[str, str, str, str]]:
    """(kind, original, perturbed, source) of every sentence to which a perturbation applies."""
    generator = random.Random(f"perturb {language}")
    sources = texts["de" if language == "en" else "en"]
    for index, text in enumerate(texts[language][:limit]):
        for kind, perturb in PERTURBATIONS.items():
            changed = perturb(text, language, generator)
            if changed is not None:
                yield kind, text, changed, sources[index]


def perturbations(model: ModelInUse, data: Path, limit: int | None) -> Table:
    texts = flores(data)
    rows: list[tuple[str | float, ...]] = []
    for language in sorted(model.directory.spec.languages):
        found = list(cases(texts, language, limit))
        source = "de" if language == "en" else "en"
        wins: dict[str, list[float]] = {}
        for side in ("ref", "src"):
            metric = make_metric(f"prism-{side}", Setting(language, source, model))
            scores = iter(score_cases(metric, found))
            for kind, *_ in found:
                original, changed = next(scores), next(scores)
                wins.setdefault(f"{side} {kind}", []).append(float(changed < original))
                wins.setdefault(f"{side} all", []).append(float(changed < original))
        kinds = ("all", *PERTURBATIONS)
        rows.append(
            (language, *(100 * float(np.mean(wins[f"{side} {k}"])) for side in ("ref", "src") for k in kinds))
        )
        print(rows[-1], file=sys.stderr)
    columns = [number(f"{side}: {kind}", 1) for side in ("ref", "src") for kind in ("all", *PERTURBATIONS)]
    return Table((Column("language"), *columns), tuple(rows))


def score_cases(metric: Metric, found: list[tuple[str, str, str, str]]) -> list[float]:
    segments = (
        Segment(text, (original,), source)
        for _, original, changed, source in found
        for text in (original, changed)
    )
    return [result.score for result in metric.score(segments)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini")
    default = os.environ.get("PRISM_DATA", Path(__file__).parents[3] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with judgments/ and heldout/")
    parser.add_argument("--segments", type=int, help="so many segments of each set only")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--metrics", nargs="+", default=["prism-ref", "prism-src", "bleu", "chrf"])
    parser.add_argument("--tests", nargs="+", choices=["mqm", "perturbations"], default=["mqm", "perturbations"])
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--format", choices=["text", "markdown", "tsv", "json"], default="text")
    options = parser.parse_args()
    model = ModelInUse(options.model, EngineConfig(precision=options.precision))
    if "mqm" in options.tests:
        print(render(mqm(model, options.data, options.sets, options.metrics, options.segments), options.format))
    if "perturbations" in options.tests:
        print(render(perturbations(model, options.data, options.segments), options.format))


if __name__ == "__main__":
    main()
