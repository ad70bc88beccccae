"""System comparisons: the verdict in words, tables, and a self-contained page."""

import datetime
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.buckets import Buckets, by_length, by_name
from prism_mt.evaluation.compare import SIGNIFICANT, Comparison, Significance, Test, agreements, compare_systems
from prism_mt.metrics.scores import MetricScores, Scores
from prism_mt.report.comparison import (
    agreement_table,
    buckets_table,
    pairs_table,
    parts_table,
    ranking_table,
    wide_table,
)
from prism_mt.report.page import Heading, Page, render_page
from prism_mt.report.table import Format, Table, render_all
from prism_mt.report.text_table import wrap_sentence
from prism_mt.report.verdict import verdict


@dataclass(frozen=True, eq=False)
class SystemComparison:
    """Systems by one or more metrics: intervals, tests of every pair, ranks, segment wins and losses."""

    scores: Scores
    comparisons: tuple[Comparison, ...]
    significance: Significance
    baseline: str
    buckets: tuple[Buckets, ...] = ()

    @property
    def verdicts(self) -> list[str]:
        """Say in one sentence per metric which systems are better."""
        return [verdict(comparison) for comparison in self.comparisons]

    def tables(self, wide: bool = False) -> list[Table]:
        """Return rankings, score components, p-values of every pair, agreement of metrics, and parts of the test set.

        With `wide`, the rankings are one table with a row per system and all metrics side by side.
        """
        place = self._baseline_place
        metrics = [comparison.metric for comparison in self.comparisons]
        if wide:
            found = [wide_table(self.comparisons, place, self.significance)]
        else:
            found = [ranking_table(comparison, place, self.significance) for comparison in self.comparisons]
        found += [parts_table(comparison) for comparison in self.comparisons if comparison.metric.parts]
        if len(metrics[0].systems) > 2:
            found += [pairs_table(comparison) for comparison in self.comparisons]
        if len(metrics) > 1:
            found.append(agreement_table(agreements(metrics)))
        return found + [buckets_table(one, buckets) for buckets in self.buckets for one in self.comparisons]

    def to_text(self, format: Format = "text", width: int | None = None, wide: bool = False) -> str:
        """Render the tables, as text after the verdicts; JSON is `to_dict`."""
        if format == "json":
            return json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n"
        head = "\n".join(wrap_sentence(one, width) for one in self.verdicts) + "\n\n"
        return (head if format == "text" else "") + render_all(self.tables(wide), format, width)

    def to_html(
        self, path: str | Path | None = None, *, title: str = "", test_set: str = "", command: str = ""
    ) -> str:
        """Return the page, and write it where a path is given; it needs the texts behind the scores.

        `test_set` and `command` tell its readers where the numbers come from.
        """
        from prism_mt._core.files import write_atomically

        text = self.scores.text
        if text is None:
            raise PrismError("the page shows texts, but these scores have none: score them again")
        parts = list(self.buckets)
        if text.references and not any(one.title.startswith("reference length") for one in parts):
            parts.insert(0, by_length(text.references[0]))
        page = Page(
            text,
            self.comparisons,
            self.significance,
            self._baseline_place,
            parts,
            self.scores.languages,
            command,
            Heading(title, test_set, datetime.date.today()),
        )
        content = render_page(page)
        if path is not None:
            with write_atomically(Path(path)) as handle:
                handle.write(content)
        return content

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "systems": list(self.comparisons[0].metric.systems),
            "segments": self.comparisons[0].metric.segments.shape[1],
            "test": self.significance.test,
            "draws": self.significance.count,
            "seed": self.significance.seed,
            "alpha": SIGNIFICANT,
            "baseline": self.baseline,
            "metrics": [self._metric_dict(one) for one in self.comparisons],
            "agreement": [
                {
                    "metrics": [one.first, one.second],
                    "kendall_tau_b_outputs": _plain(one.segments),
                    "pearson_r_systems": _plain(one.systems),
                }
                for one in agreements([comparison.metric for comparison in self.comparisons])
            ],
        }

    def _metric_dict(self, comparison: Comparison) -> dict[str, Any]:
        metric = comparison.metric
        return {
            "metric": metric.metric,
            "signature": metric.signature,
            "lower_is_better": metric.lower_is_better,
            "verdict": verdict(comparison),
            "noticeable_difference": _plain(comparison.noticeable),
            "systems": [_system_dict(comparison, place, self._baseline_place) for place in comparison.order],
            "p_values": {
                name: dict(zip(metric.systems, row, strict=True))
                for name, row in zip(metric.systems, comparison.p.tolist(), strict=True)
            },
            "buckets": [_buckets_dict(metric, one) for one in self.buckets],
        }

    @property
    def _baseline_place(self) -> int:
        return self.comparisons[0].metric.systems.index(self.baseline)

    def __repr__(self) -> str:
        return self.to_text().rstrip("\n")


def compare(
    scores: Scores,
    *,
    test: Test = "bootstrap",
    draws: int | None = None,
    seed: int = 12345,
    baseline: str | None = None,
    groups: Sequence[str] | None = None,
    buckets: Sequence[Buckets] = (),
) -> SystemComparison:
    """Compare the systems of some scores: which is better, and could it be chance?

    `baseline` is the system to compare others with (default: the first). `groups` names the document or domain of every
    segment; each is scored, too.
    """
    if not len(scores):
        raise PrismError("there are no scores to compare")
    systems = scores.systems
    for metric in scores.values():
        if metric.systems != systems:
            missing = set(systems) - set(metric.systems)
            raise PrismError(f"{metric.metric} has no scores of {', '.join(sorted(missing))}")
    if baseline is not None and baseline not in systems:
        raise PrismError(f"no system {baseline!r} to compare with; known: {', '.join(systems)}")
    significance = Significance(test, draws, seed)
    parts = list(buckets)
    if groups is not None:
        count = next(iter(scores.values())).segments.shape[1]
        if len(groups) != count:
            raise PrismError(f"groups has {len(groups):,} names, but there are {count:,} segments")
        parts.append(by_name("group", list(groups)))
    found = tuple(compare_systems(metric, significance) for metric in scores.values())
    return SystemComparison(scores, found, significance, baseline or systems[0], tuple(parts))


def _system_dict(comparison: Comparison, place: int, baseline: int) -> dict[str, Any]:
    metric = comparison.metric
    scores = metric.system_scores
    found = {
        "system": metric.systems[place],
        "rank": comparison.ranks[place],
        "score": float(scores[place]),
        "ci_low": comparison.intervals[place].low,
        "ci_high": comparison.intervals[place].high,
        "difference": None if place == baseline else float(scores[place] - scores[baseline]),
        "p_value": None if place == baseline else float(comparison.p[place, baseline]),
        "wins": int(comparison.wins[place, baseline]),
        "losses": int(comparison.wins[baseline, place]),
        "ties": comparison.ties(place, baseline),
    }
    return found | ({"parts": dict(metric.parts[place])} if metric.parts else {})


def _buckets_dict(metric: MetricScores, buckets: Buckets) -> dict[str, Any]:
    return {
        "by": buckets.title,
        "parts": [
            {
                "label": part.label,
                "segments": len(part.segments),
                "scores": dict(zip(metric.systems, metric.on(part.segments).tolist(), strict=True)),
            }
            for part in buckets.parts
        ],
    }


def _plain(value: float) -> float | None:
    """Replace NaN, which JSON lacks."""
    return None if math.isnan(value) else value
