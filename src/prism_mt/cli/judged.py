"""Options shared by all `prism metaeval` commands: which judgments, and which metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.options import Config, option
from prism_mt.cli.metric_options import metrics_of_models
from prism_mt.evaluation.collect import (
    JudgedMetrics,
    JudgmentQuery,
    add_metrics,
    read_judged,
    read_metric_scores,
)
from prism_mt.evaluation.judge import DEFAULT_PROTOCOL
from prism_mt.evaluation.protocols import PROTOCOLS, SUITES, Protocol, Suite, get_protocols
from prism_mt.metrics.base import Metric
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.resolve import DEFAULT_MODEL


@dataclass(frozen=True)
class JudgedOptions(Config):
    """Which metrics to judge, and on which language pairs."""

    scores: list[Path] = option(
        "metric scores: TSV (metric, lp, system, segment, score), .seg.score and .sys.score files or folders of "
        "them, submissions of the shared tasks, JSON",
        [],
        flags=("-s",),
        metavar="FILE",
    )
    metric: list[str] = option(
        "metrics to compute from the texts, as for `prism score`", [], flags=("-m",), metavar="NAME"
    )
    model: list[str] = option(
        "model for the computed metrics that need one; with several, they are computed with each",
        [DEFAULT_MODEL],
        metavar="M",
    )
    select: list[str] = option("only these metrics of --scores", [], metavar="NAME")
    lower_is_better: list[str] = option("metrics in --scores for which lower is better", [], metavar="NAME")
    texts: Path | None = option("outputs and references for judgments without texts", None, metavar="FILE")
    reference: str | None = option("which reference to use, if there are several", None, metavar="NAME")
    pairs: list[str] = option("only these language pairs, such as en-de", [], metavar="LP")
    human_score: str | None = option("column or kind of human scores (raw, z, mqm, esa)", None, metavar="NAME")
    humans: bool = option("also judge human translations", False)
    protocol: str = option(
        f"rules of a shared task: {', '.join(PROTOCOLS)}; or several with their average: {', '.join(SUITES)}",
        DEFAULT_PROTOCOL,
        metavar="NAME",
    )

    @property
    def rules(self) -> Protocol:
        """The protocol; for a suite its first, which determines what is read and scored."""
        return get_protocols(self.protocol)[0]

    @property
    def suite(self) -> Suite | None:
        """The suite, if several protocols are requested by one name."""
        return SUITES.get(self.protocol)

    def computed(self, metric_options: dict[str, Any]) -> tuple[Metric, ...]:
        """Return the metrics to compute; those that need a model once per model."""
        return metrics_of_models(self.metric, self.model, metric_options)

    def load(
        self,
        paths: Sequence[Path],
        scores: Sequence[Path],
        runtime: Runtime,
        metrics: Sequence[Metric],
        protocol: Protocol,
    ) -> list[JudgedMetrics]:
        """Read judgments and add their metrics."""
        query = JudgmentQuery(self.pairs, self.human_score, self.humans, self.texts)
        judged = read_judged(paths, query, protocol)
        read = read_metric_scores(scores, self.pairs, self.reference, self.lower_is_better)
        return add_metrics(judged, read, metrics, runtime, protocol, reference=self.reference, select=self.select)
