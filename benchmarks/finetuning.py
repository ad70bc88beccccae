"""Which term of the loss does what? The ablation of Prism+FT for any model, beside the published one.

    python benchmarks/finetuning.py [--model mini] [--config finetune-mini] [--data DIR] [--folder runs/finetuning]
                                    [--steps N] [--segments N] [--translations N]

Fine-tunes on the MQM judgments of WMT20 with the config's loss, without each of its terms, and with the published loss
(runs that are finished are not repeated). Tests on WMT21 news: tau-b over all outputs, accuracy within segments and
over pairs of systems, the magnitude of scores, and the quality of translations. Any two models are compared by `prism
metaeval … --model A B`, also under machine-translated references (`prism metaeval references`).
"""

import argparse
import os
import resource
import time
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np

import prism_mt
from prism_mt import Runtime, make_metric
from prism_mt.cli.main import main as prism
from prism_mt.evaluation.collect import open_metrics
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.scoring import score_texts
from prism_mt.report.table import Column, Table, number, render
from prism_mt.stats.accuracy import pairwise_accuracy, segment_accuracy
from prism_mt.stats.correlation import Correlation
from prism_mt.training.ranking.config import FinetuneConfig, Ranking, load_finetune_config

REFERENCES = {"en-de": "ref-C", "en-ru": "ref-A", "zh-en": "ref-B"}
"""The standard ones of WMT21 news."""
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


def tune(name: str, options: argparse.Namespace) -> str:
    """Fine-tune one variant unless its model is there, say what it cost, and return the model's folder.

    The last model counts: the best one may be that before training.
    """
    run = f"{Path(options.model).name}-{options.config}-{options.steps or 'all'}" + "-humans" * options.humans
    made = options.folder / run / name.replace(" ", "-") / "model"
    if made.exists():
        return str(made)
    pairs = options.folder / ("pairs-humans" if options.humans else "pairs")
    if not (pairs / "valid.jsonl").exists():
        files = [str(options.data / "judgments" / f"wmt20_mqm_{pair}.jsonl.xz") for pair in ("en-de", "zh-en")]
        words = ["--reference", "Human-A.0", *([] if options.humans else ["--no-humans"])]
        if prism(["judgments", "pairs", *files, "--folder", str(pairs), *words]):
            raise SystemExit(2)
    with resources.as_file(resources.files("prism_mt") / f"assets/configs/{options.config}.toml") as path:
        config: FinetuneConfig = load_finetune_config(path)
    steps = options.steps or config.limits.steps
    config = replace(
        config,
        model=options.model,
        train=(pairs / "train.jsonl",),
        valid=(pairs / "valid.jsonl",),
        output=made.parent,
        ranking=variants(config.ranking)[name],
        limits=replace(config.limits, steps=steps),
        validation=replace(config.validation, every=steps or config.validation.every),
        checkpoints=replace(config.checkpoints, export="last"),
        device="cpu",
    )
    started = time.monotonic()
    result = prism_mt.finetune(config)
    if not result.finished:
        raise SystemExit(f"{name}: stopped; the same command goes on")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name}: {(time.monotonic() - started) / 60:.1f} minutes, peak memory {peak:.1f} GB")
    return str(result.folder)


def judged(options: argparse.Namespace, pair: str) -> Judgments:
    path = options.data / "judgments" / f"wmt21_mqm_news_{pair}.jsonl.xz"
    return prism_mt.read_judgments(path).without_humans()


def quality(model: str, pair: str, options: argparse.Namespace) -> tuple[float, float, float, float]:
    """tau-b, accuracy within segments and over pairs of systems, and the mean of 2 ** score, the paper's magnitude."""
    judgments = judged(options, pair)
    places = np.flatnonzero(~np.isnan(judgments.scores).all(axis=0))
    if options.segments:  # from all over the test set
        places = places[:: -(-len(places) // options.segments)]
    judgments = judgments.on_segments(places.tolist())
    metric = make_metric("prism-ref", {"model": model, "overlong": "window"})
    [scorer] = open_metrics([metric], judgments, Runtime())
    scores = score_texts(scorer, judgments, REFERENCES[pair], only_judged=True)
    return (
        100 * TAU(judgments.scores, scores.segments),
        100 * segment_accuracy(judgments.scores, scores.segments),
        100 * pairwise_accuracy(judgments.system_means(), scores.system_scores),
        float(np.nanmean(np.exp2(scores.segments))),
    )


def translation_quality(model: str, pair: str, options: argparse.Namespace) -> list[float]:
    """BLEU and chrF on the first sources of WMT21 news."""
    texts = judged(options, pair).texts
    assert texts is not None
    both = zip(texts.sources, texts.references[REFERENCES[pair]], strict=True)
    chosen = [(source, reference) for source, reference in both if source and reference][: options.translations]
    source, target = pair.split("-")
    outputs = prism_mt.translate([one for one, _ in chosen], to=target, src_lang=source, model=model)
    scores = prism_mt.score(outputs, ref=[other for _, other in chosen], lang=target, metrics=["bleu", "chrf"])
    return [float(found.system_scores[0]) for found in scores.values()]


def ablation(models: dict[str, str], options: argparse.Namespace) -> Table:
    """Mean results on news, the magnitude of scores, BLEU and chrF as a translator; below each row the published."""
    rows: list[tuple[str | float, ...]] = []
    for name, model in models.items():
        means = np.mean([quality(model, pair, options) for pair in REFERENCES], axis=0)
        translated = [value for pair in ("en-de", "zh-en") for value in translation_quality(model, pair, options)]
        rows.append((name, *means.tolist(), *translated))
        if name in PUBLISHED_ABLATION:
            rows.append(("  published", *PUBLISHED_ABLATION[name]))
    titles = ("tau", "in segments", "systems", "magnitude", "BLEU en-de", "chrF en-de", "BLEU zh-en", "chrF zh-en")
    columns = (Column("model"), *(number(title, 2 if title == "magnitude" else 1) for title in titles))
    return Table(columns, tuple(rows), "Ablation, WMT21 news, means of three language pairs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mini")
    default = os.environ.get("PRISM_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder with judgments/")
    parser.add_argument("--folder", type=Path, default=Path("runs/finetuning"), help="pairs, runs and models")
    parser.add_argument("--config", default="finetune-mini", help="a name of `prism configs`")
    parser.add_argument("--humans", action="store_true", help="train on ratings of human translations, too")
    parser.add_argument("--steps", type=int, default=0, help="updates of one run; 0 is as many as the config has")
    parser.add_argument("--segments", type=int, default=0, help="of each pair; 0 means all")
    parser.add_argument("--translations", type=int, default=200, help="sentences that are translated for BLEU")
    options = parser.parse_args()
    models = {"before": options.model, **{name: tune(name, options) for name in variants(Ranking())}}
    print(render(ablation(models, options)))


if __name__ == "__main__":
    main()
