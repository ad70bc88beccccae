"""Does fine-tuning on human judgments help? The tables of Prism+FT for any model, beside the published ones.

    python benchmarks/finetuning.py [--model mini] [--config finetune-mini] [--data DIR] [--folder runs/finetuning]
                                    [--tables gains ablation references] [--steps N] [--tuned MODEL]

Fine-tunes on the MQM judgments of WMT20 (runs that are finished are not repeated), chooses the model on held-out
WMT20 pairs only, and tests on WMT21. gains: news and TED, tau-b over all outputs and accuracy within segments, each
with PERM-BOTH, and accuracy over pairs of systems. ablation: runs without one term, and one with the published loss,
with the magnitude of scores and the quality of translations. references: machine-translated references.
"""

import argparse
import os
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np

from prism_mt.cli.main import main as prism
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.judgments import Judgments, MetricScores
from prism_mt.evaluation.machine_references import Studied, study_references
from prism_mt.evaluation.protocols import preset
from prism_mt.evaluation.readers import read_judgments
from prism_mt.evaluation.scoring import make_metric, score_texts
from prism_mt.generate.generator import Generator
from prism_mt.generate.options import SearchConfig
from prism_mt.metrics.base import Metric
from prism_mt.metrics.prism import PrismOptions
from prism_mt.metrics.registry import ModelInUse, Setting
from prism_mt.metrics.sacrebleu import bleu, chrf
from prism_mt.report.references import studies_table, study_table
from prism_mt.report.table import Column, Table, number, render, to_text
from prism_mt.stats.accuracy import pairwise_accuracy, segment_accuracy
from prism_mt.stats.correlation import Correlation
from prism_mt.stats.permutation import permutation_test
from prism_mt.training.api import finetune
from prism_mt.training.ranking.config import FinetuneConfig, Ranking, load_finetune_config

SETS = [(domain, pair) for domain in ("news", "ted") for pair in ("en-de", "zh-en", "en-ru")]
PUBLISHED_TAU = {
    ("news", "en-de"): (19.3, 25.3),
    ("news", "en-ru"): (22.4, 23.7),
    ("news", "zh-en"): (28.8, 31.5),
    ("ted", "en-de"): (24.2, 26.9),
    ("ted", "en-ru"): (21.9, 22.3),
    ("ted", "zh-en"): (19.6, 21.9),
}
TABLES = ("gains", "ablation", "references")
# Means of three pairs, news: segment tau, accuracy in segments (not published), over pairs of systems; magnitude,
# BLEU and chrF (not published) of en-de, then of zh-en.
PUBLISHED_ABLATION = {
    "before": (23.5, "", 78.7, 0.47, 25.6, "", 18.7, ""),
    "fine-tuned": (26.8, "", 76.7, 0.37, 23.0, "", 21.0, ""),
    "without cross-entropy": (26.6, "", 74.6, 0.35, 10.2, "", 9.6, ""),
    "without forward ranking": (26.0, "", 79.2, 0.40, 21.9, "", 20.1, ""),
    "without backward ranking": (25.6, "", 77.7, 0.39, 21.1, "", 20.3, ""),
}
TAU = Correlation("kendall-b")


def variants(ranking: Ranking) -> dict[str, Ranking]:
    """The loss of a config, without each of its terms, and as published."""
    return {
        "fine-tuned": ranking,
        "without cross-entropy": replace(ranking, cross_entropy=0.0),
        "without forward ranking": replace(ranking, forward=False),
        "without backward ranking": replace(ranking, backward=False),
        "published loss": Ranking(),
    }


def tune(name: str, options: argparse.Namespace, ablation: bool = False) -> str:
    """Fine-tune one variant unless its model is there, say what it cost, and return the model's folder.

    In the ablation the last model counts: the best one may be that before training.
    """
    kind = ("-humans" if options.humans else "") + ("-ablation" if ablation else "")
    run = f"{Path(options.model).name}-{options.config}-{options.steps or 'all'}{kind}"
    made = options.folder / run / name.replace(" ", "-") / "model"
    if made.exists():
        return str(made)
    pairs = options.folder / ("pairs-humans" if options.humans else "pairs")
    if not (pairs / "valid.jsonl").exists():
        files = [str(options.data / "judgments" / f"wmt20_mqm_{pair}.jsonl.xz") for pair in ("en-de", "zh-en")]
        words = ["--reference", "Human-A.0", *([] if options.humans else ["--no-humans", "--whole-segments"])]
        if prism(["judgments", "pairs", *files, "--folder", str(pairs), *words]):
            raise SystemExit(2)
    with resources.as_file(resources.files("prism_mt") / f"assets/configs/{options.config}.toml") as path:
        config: FinetuneConfig = load_finetune_config(path)
    config = replace(
        config,
        model=options.model,
        train=(pairs / "train.jsonl",),
        valid=(pairs / "valid.jsonl",),
        output=made.parent,
        ranking=variants(config.ranking)[name],
        limits=replace(config.limits, steps=options.steps or config.limits.steps),
    )
    if ablation:
        every = config.limits.steps or config.validation.every
        config = replace(
            config,
            validation=replace(config.validation, every=every),
            checkpoints=replace(config.checkpoints, export="last"),
        )
    started = time.monotonic()
    result = finetune(replace(config, device="cpu"))
    if not result.finished:
        raise SystemExit(f"{name}: stopped; the same command goes on")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name}: {(time.monotonic() - started) / 60:.1f} minutes, peak memory {peak:.1f} GB")
    return str(result.folder)


def judged(options: argparse.Namespace, domain: str, pair: str) -> Judgments:
    [found] = read_judgments(options.data / "judgments" / f"wmt21_mqm_{domain}_{pair}.jsonl.xz")
    return found.without_humans()


def spread(judgments: Judgments, count: int) -> Judgments:
    """The judgments of so many segments from all over the test set."""
    places = np.flatnonzero(~np.isnan(judgments.scores).all(axis=0))
    kept = places[:: -(-len(places) // count)]
    chosen = np.isin(np.arange(judgments.scores.shape[1]), kept)
    return replace(judgments, scores=np.where(chosen, judgments.scores, np.nan), system_scores=None)


def metric_of(name: str, pair: str, model: str) -> Metric:
    source, target = pair.split("-")
    model_in_use = ModelInUse(model)
    return make_metric(name, Setting(target, source, model_in_use, PrismOptions(long="window")))


def scored(judgments: Judgments, model: str, name: str = "prism-ref") -> MetricScores:
    reference = preset("wmt21-mqm").reference(judgments.testset, judgments.pair) or "ref-A"
    return score_texts(metric_of(name, judgments.pair, model), judgments, reference, only_judged=True)


def gains(before: str, after: str, options: argparse.Namespace) -> Table:
    """Every test set before and after, with one-sided p-values of the gains."""
    rows = []
    for domain, pair in SETS:
        judgments = judged(options, domain, pair)
        found = [scored(judgments, model) for model in (before, after)]
        old, new = (metric.align(judgments) for metric in found)
        row: list[str | float] = [f"{domain} {pair}"]
        for statistic in (TAU, segment_accuracy):
            test = permutation_test(statistic, judgments.scores, new, old, np.random.default_rng(1))
            row += [100 * statistic(judgments.scores, old), 100 * statistic(judgments.scores, new), test.p]
        human = judgments.system_means()
        row += [100 * pairwise_accuracy(human, metric.align_systems(judgments)) for metric in found]
        print(*row, file=sys.stderr, flush=True)
        rows.append((*row, *PUBLISHED_TAU[domain, pair]))
    titles = ["tau", "tau+FT", "p", "in segments", "in segments+FT", "p", "systems", "systems+FT"]
    columns = [number(title, 3 if title == "p" else 1) for title in titles]
    published = [number("published tau", 1), number("published tau+FT", 1)]
    return Table((Column("test set"), *columns, *published), tuple(rows), "Before and after fine-tuning, ×100")


def ablation(models: dict[str, str], options: argparse.Namespace) -> Table:
    """Mean results on news, the magnitude of scores, BLEU and chrF as a translator; below each row the published."""
    rows: list[tuple[str | float, ...]] = []
    for name, model in models.items():
        taus, within, systems, magnitudes = [], [], [], []
        for pair in ("en-de", "en-ru", "zh-en"):
            judgments = judged(options, "news", pair)
            if options.segments:
                judgments = spread(judgments, options.segments)
            metric = scored(judgments, model)
            taus.append(TAU(judgments.scores, metric.align(judgments)))
            within.append(segment_accuracy(judgments.scores, metric.align(judgments)))
            systems.append(pairwise_accuracy(judgments.system_means(), metric.align_systems(judgments)))
            magnitudes.append(np.nanmean(np.exp(metric.scores)))
        translated = [value for pair in ("en-de", "zh-en") for value in translation_quality(model, pair, options)]
        means = (100 * np.mean(taus), 100 * np.mean(within), 100 * np.mean(systems), np.mean(magnitudes))
        rows.append((name, *(float(mean) for mean in means), *translated))
        if name in PUBLISHED_ABLATION:
            rows.append(("  published", *PUBLISHED_ABLATION[name]))
    titles = (
        ("tau", 1),
        ("in segments", 1),
        ("systems", 1),
        ("magnitude", 2),
        ("BLEU en-de", 1),
        ("chrF en-de", 1),
        ("BLEU zh-en", 1),
        ("chrF zh-en", 1),
    )
    columns = (Column("model"), *(number(title, digits) for title, digits in titles))
    return Table(columns, tuple(rows), "Ablation, WMT21 news, means of three language pairs")


def translation_quality(model: str, pair: str, options: argparse.Namespace) -> tuple[float, float]:
    """BLEU and chrF on the first sources of WMT21 news."""
    judgments = judged(options, "news", pair)
    texts = judgments.texts
    assert texts is not None
    reference = texts.references[preset("wmt21-mqm").reference(judgments.testset, pair) or "ref-A"]
    chosen = [place for place, text in enumerate(reference) if text and texts.sources[place]][
        : options.translations
    ]
    source, target = pair.split("-")
    generator = Generator(ModelInUse(model).directory, EngineConfig(), SearchConfig())
    route = generator.route(target, source)
    outputs = [found[0].text for found in generator.generate([texts.sources[p] or "" for p in chosen], route)]
    references = [reference[place] or "" for place in chosen]
    return bleu(target).corpus_score(outputs, references), chrf(target).corpus_score(outputs, references)


def reference_tables(before: str, after: str, options: argparse.Namespace) -> Iterator[Table]:
    """BLEU, chrF and the model before and after under machine-translated references."""
    for domain in ("news", "ted"):
        for level in options.levels:
            studies = []
            for pair in ("en-de", "en-ru", "zh-en"):
                judgments = judged(options, domain, pair)
                metrics = []
                for title, name, model in (
                    *(("BLEU", "bleu", before), ("chrF", "chrf", before)),
                    *(("before", "prism-ref", before), ("fine-tuned", "prism-ref", after)),
                ):
                    standard = replace(scored(judgments, model, name), metric=title)
                    metrics.append(Studied(standard, metric_of(name, pair, model)))
                studies.append(
                    study_references(judgments, metrics, level, options.draws, only_scored=options.only_scored)
                )
            yield from (study_table(study) for study in studies)
            yield studies_table(studies)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini")
    default = os.environ.get("PRISM_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with judgments/")
    parser.add_argument("--folder", type=Path, default=Path("runs/finetuning"), help="pairs, runs and models")
    parser.add_argument("--tuned", help="gains and references of this model, such as mini-ft, not of one made now")
    parser.add_argument("--config", default="finetune-mini", help="a name of `prism configs`")
    parser.add_argument("--humans", action="store_true", help="train on ratings of human translations, too")
    parser.add_argument("--steps", type=int, default=0, help="updates of one run; 0 is as many as the config has")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--draws", type=int, default=3, help="draws of machine-translated references")
    parser.add_argument("--only-scored", nargs="*", default=[], help="systems that never serve as references")
    parser.add_argument(
        "--levels",
        nargs="+",
        choices=["segments", "systems"],
        default=["segments", "systems"],
        help="of machine-translated references; with systems every output meets one reference of each other system",
    )
    parser.add_argument("--segments", type=int, default=0, help="of each pair in the ablation; 0 means all")
    parser.add_argument("--translations", type=int, default=200, help="sentences that are translated for BLEU")
    options = parser.parse_args()
    options.data = Path(options.data)
    if "gains" in options.tables:
        print(to_text(gains(options.model, options.tuned or tune("fine-tuned", options), options)))
    if "ablation" in options.tables:
        # All of them have as many updates, also where --tuned had more.
        models = {"before": options.model, **{name: tune(name, options, True) for name in variants(Ranking())}}
        print(to_text(ablation(models, options)))
    if "references" in options.tables:
        for table in reference_tables(options.model, options.tuned or tune("fine-tuned", options), options):
            print(render(table), flush=True)


if __name__ == "__main__":
    main()
