"""`prism metaeval references`: do metrics cope with machine-translated references?"""

from dataclasses import dataclass, replace
from pathlib import Path

from prism_mt._core.arguments import Command, option
from prism_mt._core.errors import PrismError
from prism_mt.cli.metaeval_data import (
    MetricOptions,
    OutputOptions,
    check_plot,
    computed_metrics,
    load,
    models_of,
    protocol_of,
    reference_of,
    write_tables,
)
from prism_mt.evaluation.machine_references import (
    Draw,
    ErrorFree,
    StudiedMetric,
    StudyLevel,
    StudyOptions,
    study_references,
)
from prism_mt.evaluation.readers.families import read_families
from prism_mt.evaluation.scoring import score_texts
from prism_mt.report.references import studies_table, study_table


@dataclass(kw_only=True)
class ReferenceOptions(MetricOptions, OutputOptions):
    """Options of `prism metaeval references`."""

    judgments: list[Path] = option("MQM judgments with texts", positional=True, metavar="JUDGMENTS")
    level: StudyLevel = option("judge segments, or pairs of systems", "segments")
    draw: Draw = option("one text by its MD5, as in the paper, or any candidate at random", "md5")
    draws: int = option("random: how often references are drawn", 5, metavar="N")
    seed: int = option("random: seed of the draws", 1, metavar="N")
    error_free: ErrorFree = option("outputs without marked errors, or with a score that is not below 0", "errors")
    families: Path | None = option(
        "lines of SYSTEM and FAMILY, tab-separated (default: names that differ in a trailing number)",
        None,
        metavar="FILE",
    )


def run_references(options: ReferenceOptions) -> None:
    """Print a table per language pair, then all pairs side by side."""
    study = StudyOptions(options.level, options.draw, options.draws, options.seed, options.error_free)
    families = read_families(options.families) if options.families else {}
    if options.humans:
        raise PrismError("machine-translated references are for machine translation only: leave out --humans")
    check_plot(options)
    protocol = protocol_of(options)
    given = load(options.judgments, options.scores, replace(options, metric=[]), protocol)
    models = models_of(options)
    studies = []
    for item in given:
        judgments = replace(item.judgments, families=families)
        metrics = [StudiedMetric(scores) for scores in item.metrics]
        computed = computed_metrics(judgments, options, models)
        reference = reference_of(options, judgments, protocol, needed=bool(computed))
        for metric in computed:
            metrics.append(StudiedMetric(score_texts(metric, judgments, reference, only_judged=True), metric))
        if not metrics:
            raise PrismError(f"{item.judgments.pair}: name a metric with --metric or --scores")
        studies.append(study_references(judgments, metrics, study, reference))
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
    "Metrics from --scores have no scores under other references: only their standard results are shown.",
)
