"""Calibrate the probability that a person would mark no error in a segment."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option, option_of
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.error_free import RatedSegments, rated_segments, summaries
from prism_mt.evaluation.readers import read_all_judgments
from prism_mt.metrics.base import Metric, Part
from prism_mt.metrics.prism import PrismRef, PrismSrc
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.spans.error_free import FILE, ErrorFree, save_error_free
from prism_mt.metrics.spans.features import Array
from prism_mt.training.spans.train import SpanTraining

_PENALTY = 1e-3


@dataclass(frozen=True, kw_only=True)
class ErrorFreeTraining(Config):
    """Options of `prism metric error-free`."""

    judgments: list[Path] = option("outputs with lists of errors (MQM)", positional=True, metavar="JUDGMENTS")
    model: str = option_of(SpanTraining, "model")
    reference: str | None = option_of(SpanTraining, "reference")
    outputs: int = option("judged outputs per file", 1200, metavar="N", low=50)
    seed: int = option("random seed", 0, metavar="N", low=0)
    output: Path | None = option_of(SpanTraining, "output")


def calibrate(
    options: ErrorFreeTraining, config: EngineConfig | None = None, runtime: Runtime | None = None
) -> Path:
    """Fit a logistic regression for outputs with references, and one for outputs with sources."""
    runtime = runtime or Runtime(config)
    model = runtime.model(options.model)
    rated: list[RatedSegments] = []
    for judgments in read_all_judgments(options.judgments):
        whole = rated_segments(judgments, options.reference)
        places = list(range(len(whole.segments)))
        random.Random(options.seed).shuffle(places)
        rated.append(whole.take(sorted(places[: options.outputs])))
    judges: dict[Part, ErrorFree] = {}
    metrics: dict[Part, Metric] = {
        "reference": PrismRef(model=options.model, overlong="truncate"),
        "source": PrismSrc(model=options.model, direction="both", overlong="truncate"),
    }
    for part, metric in metrics.items():
        tables = [summaries(one, metric, runtime) for one in rated]
        shares = [one.share for one in rated]
        judges[part] = fit_logistic(np.concatenate(tables), np.concatenate(shares))
    path = options.output or model.folder / FILE
    save_error_free(judges, path, model)
    return path


def fit_logistic(table: Array, share: NDArray[np.float64]) -> ErrorFree:
    """Fit by cross-entropy; `share` is the part of the raters who marked no error."""
    from scipy.optimize import minimize

    if share.min() == share.max():
        raise PrismError("either all outputs have errors or none has: there is nothing to learn")
    mean, scale = table.mean(axis=0), table.std(axis=0) + 1e-3
    inputs = np.concatenate([(table - mean) / scale, np.ones((len(table), 1))], axis=1).astype(np.float64)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = inputs @ weights
        probability = 1 / (1 + np.exp(-logits))
        value = np.mean(np.logaddexp(0, logits) - share * logits) + _PENALTY * weights[:-1] @ weights[:-1]
        slope = inputs.T @ (probability - share) / len(share)
        slope[:-1] += 2 * _PENALTY * weights[:-1]
        return float(value), slope

    found: Sequence[float] = minimize(loss, np.zeros(inputs.shape[1]), jac=True, method="L-BFGS-B").x
    weights = np.array(found[:-1], dtype=np.float32)
    return ErrorFree(mean, scale.astype(np.float32), weights, float(found[-1]))
