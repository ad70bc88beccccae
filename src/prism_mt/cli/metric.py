"""`prism metric`: metrics learned from human judgments."""

from dataclasses import dataclass

from prism_mt._core.arguments import Command, Group
from prism_mt._core.options import option_of
from prism_mt.cli.running import EPILOG, RunOptions, report
from prism_mt.engines.factory import EngineConfig
from prism_mt.training import api
from prism_mt.training.spans.error_free import ErrorFreeTraining, calibrate
from prism_mt.training.spans.train import SpanTraining, train_spans


@dataclass(frozen=True, kw_only=True)
class MetricTrainOptions(RunOptions):
    """Options of `prism metric train`."""

    offline: bool = option_of(EngineConfig, "offline")


def train(options: MetricTrainOptions) -> int:
    """Train until the correlation on the development data stops improving."""
    result = api.train_metric(options.config, offline=options.offline, **options.arguments)
    if result.best is not None:
        print(f"Best dev Pearson {result.best:.4f} after {result.steps:,} steps.")
    return report(options, result, "metric")


def spans(options: SpanTraining, engine: EngineConfig) -> None:
    """Train the weights of error spans."""
    found = train_spans(options, engine)
    shares = ", ".join(f"{side} {score:.2f}" for side, score in found.f_scores.items())
    print(f"{found.words:,} words; F1 of marked words on held-out segments: {shares}.")
    print(f"The weights are in {found.path}; `prism score --spans --model {options.model}` uses them.")


def error_free(options: ErrorFreeTraining, engine: EngineConfig) -> None:
    """Calibrate the probability of no error."""
    path = calibrate(options, engine)
    print(f"The calibration is in {path}; `prism score --error-free --model {options.model}` uses it.")


COMMAND = Group(
    "metric",
    "Metrics learned from human judgments.",
    (
        Command(
            "train",
            "Train a metric (bilstm, bilstm-attention or esim) on human judgments.",
            (MetricTrainOptions,),
            train,
            epilog=f"""The files are tab-separated, with a header line that includes ref, hyp and score:
  train = ["wmt16.tsv"]
  dev = ["wmt15.tsv"]
  output = "esim-minilm"
  kind = "esim"
  encoder = "minilm"
  language = "en"
With side = "src" and an encoder for both languages, outputs are compared with the column src instead.
{EPILOG.format(command="metric train")}""",
        ),
        Command(
            "spans",
            "Train the weights with which a model finds error spans, on synthetic errors and on MQM.",
            (SpanTraining, EngineConfig),
            spans,
            epilog="""example:
  prism metric spans --model mini --bitext news.tsv paraphrases.tsv --judgments mqm_en-de.jsonl
""",
        ),
        Command(
            "error-free",
            "Calibrate the probability that a person would mark no error, after `prism metric spans`.",
            (ErrorFreeTraining, EngineConfig),
            error_free,
            epilog="""example:
  prism metric error-free wmt20_mqm_en-de.jsonl wmt20_mqm_zh-en.jsonl --reference Human-A.0
""",
        ),
    ),
)
