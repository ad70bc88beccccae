"""Prism: score machine translation with a multilingual translation model, and judge metrics against humans."""

import importlib
import types
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from prism_mt._core.errors import PrismError
    from prism_mt.api import LoadedModel, Prism, load_model
    from prism_mt.corpus.filter import filter
    from prism_mt.corpus.pipeline import prepare_corpus
    from prism_mt.engines.factory import EngineConfig
    from prism_mt.evaluation.readers import read_judgments
    from prism_mt.evaluation.rerank import rerank
    from prism_mt.generate.texts import paraphrase, translate
    from prism_mt.metrics.adapters import EvaluateMetric, MbrMetric
    from prism_mt.metrics.base import ErrorSpan, Metric, Scorer, SegmentScore
    from prism_mt.metrics.bertscore import Bertr, BertScore
    from prism_mt.metrics.combined import Combined
    from prism_mt.metrics.learned import Learned
    from prism_mt.metrics.lm import LanguageModelMetric
    from prism_mt.metrics.paraphrased import ParBleu, ParChrf
    from prism_mt.metrics.prism import PrismDual, PrismRef, PrismSrc
    from prism_mt.metrics.registry import list_metrics, make_metric, register
    from prism_mt.metrics.runtime import Runtime
    from prism_mt.metrics.sacrebleu import Bleu, Chrf, ChrfPlusPlus, Ter
    from prism_mt.metrics.score import score
    from prism_mt.metrics.scores import MetricScores, Scores, SystemScores
    from prism_mt.metrics.sentence import Laser
    from prism_mt.report.challenge import challenge
    from prism_mt.report.explain import explain
    from prism_mt.report.judging import judge
    from prism_mt.report.reproduce import Reproduction, reproduce
    from prism_mt.report.systems import compare
    from prism_mt.training.api import finetune, train, train_metric

# Where each public name lives: it is imported on first use, so that `import prism_mt` stays light.
_HOMES = {
    "PrismError": "_core.errors",
    **dict.fromkeys(("LoadedModel", "Prism", "load_model"), "api"),
    "filter": "corpus.filter",
    "prepare_corpus": "corpus.pipeline",
    "EngineConfig": "engines.factory",
    "read_judgments": "evaluation.readers",
    "rerank": "evaluation.rerank",
    **dict.fromkeys(("paraphrase", "translate"), "generate.texts"),
    **dict.fromkeys(("ErrorSpan", "Metric", "Scorer", "SegmentScore"), "metrics.base"),
    **dict.fromkeys(("EvaluateMetric", "MbrMetric"), "metrics.adapters"),
    **dict.fromkeys(("Bertr", "BertScore"), "metrics.bertscore"),
    "Combined": "metrics.combined",
    "Learned": "metrics.learned",
    "LanguageModelMetric": "metrics.lm",
    **dict.fromkeys(("ParBleu", "ParChrf"), "metrics.paraphrased"),
    **dict.fromkeys(("PrismDual", "PrismRef", "PrismSrc"), "metrics.prism"),
    **dict.fromkeys(("list_metrics", "make_metric", "register"), "metrics.registry"),
    "Runtime": "metrics.runtime",
    **dict.fromkeys(("Bleu", "Chrf", "ChrfPlusPlus", "Ter"), "metrics.sacrebleu"),
    "score": "metrics.score",
    **dict.fromkeys(("MetricScores", "Scores", "SystemScores"), "metrics.scores"),
    "Laser": "metrics.sentence",
    "challenge": "report.challenge",
    "explain": "report.explain",
    "judge": "report.judging",
    **dict.fromkeys(("Reproduction", "reproduce"), "report.reproduce"),
    "compare": "report.systems",
    **dict.fromkeys(("finetune", "train", "train_metric"), "training.api"),
}
__all__ = [  # noqa: PLE0604, RUF100
    "BertScore",
    "Bertr",
    "Bleu",
    "Chrf",
    "ChrfPlusPlus",
    "Combined",
    "EngineConfig",
    "ErrorSpan",
    "EvaluateMetric",
    "LanguageModelMetric",
    "Laser",
    "Learned",
    "LoadedModel",
    "MbrMetric",
    "Metric",
    "MetricScores",
    "ParBleu",
    "ParChrf",
    "Prism",
    "PrismDual",
    "PrismError",
    "PrismRef",
    "PrismSrc",
    "Reproduction",
    "Runtime",
    "Scorer",
    "Scores",
    "SegmentScore",
    "SystemScores",
    "Ter",
    "challenge",
    "compare",
    "explain",
    "filter",
    "finetune",
    "judge",
    "list_metrics",
    "load_model",
    "make_metric",
    "paraphrase",
    "prepare_corpus",
    "read_judgments",
    "register",
    "reproduce",
    "rerank",
    "score",
    "train",
    "train_metric",
    "translate",
]  # fmt: skip


if not TYPE_CHECKING:  # so that type checkers find misspelled names

    def __getattr__(name: str) -> Any:
        """Import a public name on first use; functions check the names and types of their arguments."""
        if name in _HOMES:
            found = getattr(importlib.import_module(f"prism_mt.{_HOMES[name]}"), name)
            if isinstance(found, types.FunctionType):
                from prism_mt._core.options import public

                found = public(found)
            return globals().setdefault(name, found)
        raise AttributeError(f"module 'prism_mt' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__version__"])
