"""Train the classifier of error spans for a model: one command, a few minutes on a CPU."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt._core.options import Config, option
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.readers import read_all_judgments
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.spans.classifier import CLASSES, FILE, PARTS, SIDES, SpanClassifier, save_classifier
from prism_mt.metrics.spans.features import NAMES, Array
from prism_mt.models.resolve import DEFAULT_MODEL
from prism_mt.training.spans.bitext import sample_pairs
from prism_mt.training.spans.examples import UNKNOWN, Labeled, judged_examples, label, perturbed_examples

_LOG = logging.getLogger("prism_mt")
_HIDDEN = 32
_STEPS, _BATCH = 500, 2048
_BETA = 2.0
"""Weight of recall relative to precision when thresholds are chosen."""
_HELD_OUT = 8
"""One segment in this many is held out to choose the thresholds."""


@dataclass(frozen=True, kw_only=True)
class SpanTraining(Config):
    """Options of `prism metric spans`."""

    bitext: list[Path] = option(
        "good translations and paraphrases to insert errors into: TSV (language, language, text, text), or JSONL with "
        "a text per language code",
        metavar="FILE",
    )
    judgments: list[Path] = option("outputs with lists of errors (MQM)", [], metavar="FILE")
    model: str = option("the model whose probabilities are read", DEFAULT_MODEL, metavar="M")
    reference: str | None = option("which reference of the judgments, if there are several", None, metavar="NAME")
    pairs: int = option("pairs of texts per language", 40, metavar="N", low=4)
    judged: int = option("judged outputs per file", 400, metavar="N", low=0)
    seed: int = option("random seed for texts and errors", 0, metavar="N", low=0)
    output: Path | None = option(
        "write here instead of into the model's folder", None, flags=("-o",), metavar="FILE"
    )


@dataclass(frozen=True)
class TrainedSpans:
    """What was trained, and on how much."""

    path: Path
    words: int
    f_scores: Mapping[str, float]
    """F1 of marked words of either side, on segments that were held out."""


def train_spans(
    options: SpanTraining, config: EngineConfig | None = None, runtime: Runtime | None = None
) -> TrainedSpans:
    """Train the classifier of a model on synthetic errors and on errors that people counted."""
    runtime = runtime or Runtime(config)
    model = runtime.model(options.model)
    pairs = sample_pairs(options.bitext, model.spec.languages, options.pairs, options.seed)
    examples = perturbed_examples(pairs, options.seed)
    for judgments in read_all_judgments(options.judgments) if options.judgments else []:
        if judgments.texts is None or not judgments.ratings.has_errors:
            raise PrismError(f"{judgments.place} has no texts with lists of errors")
        examples += judged_examples(judgments, options.judged, options.seed, options.reference)
    _LOG.info("%d segments", len(examples))
    labeled = label(examples, options.model, runtime)
    classifier, scores = fit(labeled, options.seed)
    path = options.output or model.folder / FILE
    save_classifier(classifier, path, model)
    return TrainedSpans(path, sum(len(one.labels) for one in labeled), scores)


def fit(labeled: Sequence[Labeled], seed: int) -> tuple[SpanClassifier, dict[str, float]]:
    """Fit both sides; where people only counted errors, the most probable words take their labels in a second round."""
    weights: dict[str, Array] = {}
    thresholds: dict[str, float] = {}
    scores: dict[str, float] = {}
    for side in SIDES:
        own = [one for one in labeled if one.side == side and len(one.labels)]
        first = _fit_side(_known(own), seed)
        counted = [_guess(one, first, side) for one in own if one.example.errors is not None]
        known = _known(own)
        held, used = known[::_HELD_OUT], [one for place, one in enumerate(known) if place % _HELD_OUT]
        fitted = _fit_side([*used, *counted], seed)
        for part in PARTS:
            chosen = [one for one in held if one.example.crosslingual == (part == "source")] or held
            table, labels = _stacked(chosen)
            wrong = 1 - SpanClassifier(_named(fitted, side), {}).probabilities(table, side)[:, 0]
            thresholds[f"{side}.{part}"], scores[f"{side}.{part}"] = _best_threshold(wrong, labels > 0)
        weights |= _named(fitted, side)
    return SpanClassifier(weights, thresholds), scores


def _known(labeled: Sequence[Labeled]) -> list[Labeled]:
    return [one for one in labeled if not (one.labels == UNKNOWN).any()]


def _guess(one: Labeled, weights: Mapping[str, Array], side: str) -> Labeled:
    """Label as many words as people counted errors: those that the first round finds most probable."""
    assert one.example.errors is not None
    count = one.example.errors[0 if side == "wrong" else 1]
    classifier = SpanClassifier(_named(weights, side), {})
    wrong = 1 - classifier.probabilities(one.table, "wrong" if side == "wrong" else "missing")[:, 0]
    labels = np.zeros(len(one.labels), dtype=np.int64)
    if count:
        labels[np.argsort(-wrong)[:count]] = 2 if one.example.severity == "major" else 1
    return Labeled(one.table, labels, side, one.example)


def _named(weights: Mapping[str, Array], side: str) -> dict[str, Array]:
    return {f"{side}.{name}": array for name, array in weights.items()}


def _stacked(labeled: Sequence[Labeled]) -> tuple[Array, NDArray[np.int64]]:
    return np.concatenate([one.table for one in labeled]), np.concatenate([one.labels for one in labeled])


def _fit_side(labeled: Sequence[Labeled], seed: int) -> dict[str, Array]:
    """Cross-entropy, Adam, batches drawn at random."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("training error spans", "train") from None
    table, labels = _stacked(labeled)
    mean, scale = table.mean(axis=0), table.std(axis=0) + 1e-3
    torch.manual_seed(seed)
    inner, outer = torch.nn.Linear(len(NAMES), _HIDDEN), torch.nn.Linear(_HIDDEN, len(CLASSES))
    network = torch.nn.Sequential(inner, torch.nn.ReLU(), outer)
    inputs, targets = torch.tensor((table - mean) / scale), torch.tensor(labels)
    optimizer = torch.optim.AdamW(network.parameters(), lr=5e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, _STEPS)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(_STEPS):
        batch = torch.randint(len(targets), (_BATCH,), generator=generator)
        loss = torch.nn.functional.cross_entropy(network(inputs[batch]), targets[batch])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    arrays = {
        "inner": inner.weight.detach().T,
        "inner_bias": inner.bias.detach(),
        "outer": outer.weight.detach().T,
        "outer_bias": outer.bias.detach(),
    }
    return {"mean": mean, "scale": scale, **{name: array.numpy() for name, array in arrays.items()}}


def _best_threshold(wrong: Array, truth: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the best threshold and its F1; a missed error is worse than a false alarm."""
    order = np.argsort(-wrong)
    hits, marked, errors = np.cumsum(truth[order]), np.arange(1, len(order) + 1), max(1, int(truth.sum()))
    best = int(((1 + _BETA**2) * hits / (marked + _BETA**2 * errors)).argmax())
    return float(wrong[order[best]]), float(2 * hits[best] / (marked[best] + errors))
