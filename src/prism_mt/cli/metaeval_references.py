"""`prism metaeval references`: do metrics cope with machine-translated references?"""

from dataclasses import dataclass, replace
from pathlib import Path

from prism_mt._core.arguments import Command, option
from prism_mt._core.errors import PrismError
from prism_mt.cli.metaeval_data import (
    MetricOptions,
    OutputOptions,
    check_plot,
    choose_reference,
    computed_metrics,
    load,
    models_of,
    task_of,
    write_tables,
)
from prism_mt.evaluation.machine_references import Studied, StudyLevel, study_references
from prism_mt.evaluation.scoring import score_texts
from prism_mt.report.references import studies_table, study_table


@dataclass(kw_only=True)
class ReferenceOptions(MetricOptions, OutputOptions):
    """Options of `prism metaeval references`."""

    judgments: list[Path] = option("MQM judgments with texts", positional=True, metavar="JUDGMENTS")
    level: StudyLevel = option("judge segments, or pairs of systems", "segments")
    draws: int = option("how often references are drawn", 5, metavar="N")
    seed: int = option("seed of the draws", 1, metavar="N")
    only_scored: list[str] = option(
        "systems that never serve as references, such as relatives of others; 'metricsystem*' is a pattern",
        [],
        metavar="SYSTEM",
    )


def run_references(options: ReferenceOptions) -> None:
    """Print a table per language pair, then all pairs side by side."""
    if options.draws < 1:
        raise PrismError("--draws must be at least 1")
    if options.humans:
        raise PrismError("machine-translated references are for machine translation only: leave out --humans")
    check_plot(options)
    task = task_of(options)
    given = load(options.judgments, options.scores, replace(options, metric=[]), task)
    models = models_of(options)
    studies = []
    for item in given:
        metrics = [Studied(scores) for scores in item.metrics]
        reference = choose_reference(options, item.judgments, task)
        for name, metric in computed_metrics(item.judgments, options, models):
            scores = score_texts(metric, item.judgments, reference, only_judged=True)
            metrics.append(Studied(replace(scores, metric=name), metric))
        if not metrics:
            raise PrismError(f"{item.judgments.pair}: name a metric with --metric or --scores")
        studies.append(
            study_references(
                item.judgments, metrics, options.level, options.draws, options.seed, options.only_scored
            )
        )
    tables = [study_table(study) for study in studies]
    write_tables([*tables, studies_table(studies)] if len(studies) > 1 else tables, options)
    if options.plot:
        from prism_mt.report.plots import plot_studies

        plot_studies(studies, options.plot)


REFERENCES = Command(
    "references",
    "metrics under machine-translated instead of human references",
    ReferenceOptions,
    run_references,
    """Metrics from --scores have no scores under other references: only their standard results are shown.

WMT21 has five systems that were made for the metrics task. The published accuracies over pairs of systems come out
where these do not serve as references: --level systems --only-scored 'metricsystem*'.""",
)
