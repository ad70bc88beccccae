"""Systems compared: the verdict in words, tables, and a page to send to a colleague."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.buckets import Buckets, by_length, by_name
from prism_mt.evaluation.compare import Comparison, Significance, Test, agreements, compare_systems
from prism_mt.metrics.scores import Scores
from prism_mt.report.compare import agreement_table, buckets_table, pairs_table, ranking_table, verdict
from prism_mt.report.page import Page, render_page
from prism_mt.report.table import Format, Table, render_all


@dataclass(frozen=True, eq=False)
class SystemComparison:
    """Systems by one or more metrics: intervals, tests of every pair, ranks, segments won and lost."""

    scores: Scores
    comparisons: tuple[Comparison, ...]
    significance: Significance
    baseline: str
    buckets: tuple[Buckets, ...] = ()

    @property
    def verdicts(self) -> list[str]:
        """Say in a sentence per metric which systems are better."""
        return [verdict(comparison) for comparison in self.comparisons]

    def tables(self) -> list[Table]:
        """Return rankings, p-values of every pair, agreement between metrics, and parts of the test set."""
        place = self._baseline_place
        metrics = [comparison.metric for comparison in self.comparisons]
        found = [ranking_table(comparison, place, self.significance) for comparison in self.comparisons]
        if len(metrics[0].systems) > 2:
            found += [pairs_table(comparison) for comparison in self.comparisons]
        if len(metrics) > 1:
            found.append(agreement_table(agreements(metrics)))
        return found + [buckets_table(one, buckets) for buckets in self.buckets for one in metrics]

    def to_text(self, format: Format = "text", width: int | None = None) -> str:
        """Render the tables, as text behind the verdicts."""
        head = "\n".join(self.verdicts) + "\n\n" if format == "text" else ""
        return head + render_all(self.tables(), format, width)

    def to_html(self, path: str | Path | None = None, command: str = "") -> str:
        """Return the page, and write it where a path is given; it needs the texts behind the scores."""
        from prism_mt._core.files import write_atomically

        text = self.scores.text
        if text is None:
            raise PrismError("the page shows texts, and these scores have none: score them again")
        parts = list(self.buckets)
        if text.references and not any(one.title.startswith("reference length") for one in parts):
            parts.insert(0, by_length(text.references[0]))
        language = self.scores.languages.target or None
        page = Page(text, self.comparisons, self.significance, self._baseline_place, parts, language, command)
        content = render_page(page)
        if path is not None:
            with write_atomically(Path(path)) as handle:
                handle.write(content)
        return content

    def to_dict(self) -> dict[str, Any]:
        """Return plain values under programmers' keys."""
        return {
            "test": self.significance.test,
            "draws": self.significance.count,
            "seed": self.significance.seed,
            "baseline": self.baseline,
            "metrics": [_comparison_dict(one, self._baseline_place) for one in self.comparisons],
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

    `baseline` is the system that others are compared with (default: the first). `groups` name the document or domain
    of every segment; each is scored, too.
    """
    if not len(scores):
        raise PrismError("there are no scores to compare")
    systems = scores.systems
    for metric in scores.values():
        if metric.systems != systems:
            missing = set(systems) - set(metric.systems)
            raise PrismError(f"{metric.metric} has no scores of {', '.join(sorted(missing))}")
    if baseline is not None and baseline not in systems:
        raise PrismError(f"no system {baseline!r} to compare with; there are {', '.join(systems)}")
    significance = Significance(test, draws, seed)
    parts = list(buckets)
    if groups is not None:
        count = next(iter(scores.values())).segments.shape[1]
        if len(groups) != count:
            raise PrismError(f"groups has {len(groups):,} names, but there are {count:,} segments")
        parts.append(by_name("group", list(groups)))
    found = tuple(compare_systems(metric, significance) for metric in scores.values())
    return SystemComparison(scores, found, significance, baseline or systems[0], tuple(parts))


def _comparison_dict(comparison: Comparison, baseline: int) -> dict[str, Any]:
    metric = comparison.metric
    return {
        "metric": metric.metric,
        "signature": metric.signature,
        "lower_is_better": metric.lower_is_better,
        "verdict": verdict(comparison),
        "systems": [
            {
                "system": metric.systems[place],
                "rank": comparison.ranks[place],
                "score": float(metric.system_scores[place]),
                "ci_low": comparison.intervals[place].low,
                "ci_high": comparison.intervals[place].high,
                "p_value": None if place == baseline else float(comparison.p[place, baseline]),
                "wins": int(comparison.wins[place, baseline]),
                "losses": int(comparison.wins[baseline, place]),
                "ties": comparison.ties(place, baseline),
            }
            for place in comparison.order
        ],
        "p_values": comparison.p.tolist(),
    }
