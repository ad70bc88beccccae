"""`prism metaeval references`: how robust are metrics to machine-translated references?"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.cli.judged import JudgedOptions
from prism_mt.cli.output import PlotOptions, TableOptions, write_tables
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.collect import open_metrics, reference_for
from prism_mt.evaluation.machine_references import StudiedMetric, StudyOptions, study_references
from prism_mt.evaluation.readers.families import read_families
from prism_mt.evaluation.scoring import score_texts
from prism_mt.metrics.runtime import Runtime
from prism_mt.report.plots import plot_studies
from prism_mt.report.references import studies_table, study_table


@dataclass(frozen=True, kw_only=True)
class ReferenceOptions(Config):
    """Options of `prism metaeval references`."""

    judgments: list[Path] = option("MQM judgments with texts", positional=True, metavar="JUDGMENTS")
    families: Path | None = option(
        "lines of SYSTEM and FAMILY, tab-separated (default: names that differ only in a trailing number)",
        None,
        metavar="FILE",
    )


def run(
    options: ReferenceOptions,
    study: StudyOptions,
    judged: JudgedOptions,
    output: TableOptions,
    plots: PlotOptions,
    engine: EngineConfig,
    metric_options: dict[str, Any],
) -> None:
    """Print a table per language pair, then all pairs side by side."""
    families = read_families(options.families) if options.families else {}
    if judged.humans:
        raise PrismError("machine-translated references are for machine translation only: omit --humans")
    plots.check()
    protocol, runtime, metrics = judged.rules, Runtime(engine), judged.computed(metric_options)
    studies = []
    for item in judged.load(options.judgments, judged.scores, runtime, (), protocol):
        judgments = replace(item.judgments, families=families or item.judgments.families)
        studied = [StudiedMetric(scores) for scores in item.metrics]
        needed = any("ref" in metric.needs for metric in metrics)
        reference = reference_for(judgments, needed, judged.reference, protocol)
        for scorer in open_metrics(metrics, judgments, runtime):
            studied.append(StudiedMetric(score_texts(scorer, judgments, reference, only_judged=True), scorer))
        if not studied:
            raise PrismError(f"{judgments.pair}: name a metric with --metric or --scores")
        studies.append(study_references(judgments, studied, study, reference))
    tables = [study_table(study) for study in studies]
    write_tables([*tables, studies_table(studies)] if len(studies) > 1 else tables, output)
    plots.draw(partial(plot_studies, studies))


REFERENCES = Command(
    "references",
    "metrics with machine-translated instead of human references",
    (ReferenceOptions, StudyOptions, JudgedOptions, TableOptions, PlotOptions, EngineConfig),
    run,
    "Metrics from --scores have no scores under other references: only their standard results are shown.",
    metrics=True,
)
