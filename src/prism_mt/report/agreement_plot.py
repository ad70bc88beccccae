"""How metrics agree with people, as one figure: results as bars, and systems as points with their names."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prism_mt.evaluation.judge import Evaluation
from prism_mt.report.metaeval import statistic_title
from prism_mt.report.plots import DARK, LIGHT, plain, pyplot, save_figure
from prism_mt.stats.arrays import Vector
from prism_mt.stats.correlation import kendall_b, pearson

_COLUMNS = 3
_TITLES = {"tau-b": "Kendall's τ-b", "tau-c": "Kendall's τ-c", "tau": "Kendall's τ", "Pearson": "Pearson's r"}
_PLACES = (
    *((4, 0, "left", "center"), (-4, 0, "right", "center"), (0, 4, "center", "bottom"), (0, -4, "center", "top")),
    *((3, 3, "left", "bottom"), (3, -3, "left", "top"), (-3, 3, "right", "bottom"), (-3, -3, "right", "top")),
    *((0, 9, "center", "bottom"), (0, -9, "center", "top"), (-6, 9, "right", "bottom"), (-6, -9, "right", "top")),
)
"""Positions of a label beside its point, the best first: offsets in points, and alignment."""


@dataclass(frozen=True)
class Scatter:
    """System scores of people and of one metric; higher is better in both."""

    metric: str
    systems: Sequence[str]
    human: Vector
    scores: Vector

    def known(self) -> "Scatter":
        """Only the systems that both have scored."""
        there = ~(np.isnan(self.human) | np.isnan(self.scores))
        names = [name for name, known in zip(self.systems, there, strict=True) if known]
        return Scatter(self.metric, names, self.human[there], self.scores[there])


def plot_agreement(found: Sequence[tuple[Evaluation, Sequence[Scatter]]], path: Path) -> None:
    """Draw the test sets one below the other: its results, then a panel per metric where there are system scores."""
    heights = [_bars_height(evaluation) + _scatters_height(scatters) for evaluation, scatters in found]
    figure = pyplot().figure(figsize=(7.2, sum(heights)), layout="constrained")
    boxes = figure.subfigures(len(found), 1, height_ratios=heights, squeeze=False)[:, 0]
    named: list[tuple[Any, Scatter]] = []
    for box, (evaluation, scatters) in zip(boxes, found, strict=True):
        box.suptitle(f"Agreement with human judgments, {plain(evaluation.place)}")
        parts = [_bars_height(evaluation), *([_scatters_height(scatters)] if scatters else [])]
        rows = box.subfigures(len(parts), 1, height_ratios=parts, squeeze=False)[:, 0]
        _draw_bars(rows[0].subplots(), evaluation)
        if scatters:
            named += _draw_scatters(rows[1], [scatter.known() for scatter in scatters])
    figure.draw_without_rendering()  # names are placed where points will be
    for panel, scatter in named:
        _name_points(panel, scatter)
    save_figure(figure, path)


def _bars_height(evaluation: Evaluation) -> float:
    return 0.26 * len(evaluation.results) + 1.2


def _scatters_height(scatters: Sequence[Scatter]) -> float:
    return 2.4 * -(-len(scatters) // _COLUMNS)


def _draw_bars(axes: Any, evaluation: Evaluation) -> None:
    """Every metric's result with its interval; the best and those not significantly worse are darker."""
    results = [result for result in evaluation.results if result.value == result.value][::-1]
    colors = [DARK if evaluation.is_top(result) else LIGHT for result in results]
    below = [result.value - result.interval.low if result.interval else 0.0 for result in results]
    above = [result.interval.high - result.value if result.interval else 0.0 for result in results]
    # Percentile intervals need not contain the value itself; matplotlib takes no negative lengths.
    errors = [[max(0.0, length) for length in lengths] for lengths in (below, above)]
    names, values = [plain(result.metric) for result in results], [result.value for result in results]
    axes.barh(
        names, values, xerr=errors, color=colors, error_kw={"ecolor": "#444444", "elinewidth": 0.9, "capsize": 2}
    )
    ends = [max(result.value, result.interval.high if result.interval else 0.0, 0.0) for result in results]
    for place, (end, value) in enumerate(zip(ends, values, strict=True)):
        axes.annotate(
            f"{value:.3f}".replace("-", "−"),
            (end, place),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    axes.margins(x=0.12)
    title = statistic_title(evaluation.protocol)
    axes.set_xlabel(_TITLES.get(title, title))


def _draw_scatters(box: Any, scatters: Sequence[Scatter]) -> Iterator[tuple[Any, Scatter]]:
    rows = -(-len(scatters) // _COLUMNS)
    panels = box.subplots(rows, min(len(scatters), _COLUMNS), squeeze=False, sharey=True)
    for panel in panels.flat[len(scatters) :]:
        panel.set_visible(False)
    for panel in panels[:, 0]:
        panel.set_ylabel("human score")
    for panel, scatter in zip(panels.flat, scatters, strict=False):
        panel.scatter(scatter.scores, scatter.human, s=12, color=DARK)
        panel.set_xlabel(plain(scatter.metric))
        panel.margins(0.2, 0.16)
        yield panel, scatter


def _name_points(panel: Any, scatter: Scatter) -> None:
    """Label each point where the label covers nothing; the names of the others stand below the panel."""
    renderer = panel.figure.canvas.get_renderer()
    inside = panel.get_window_extent(renderer)
    dots = [panel.transData.transform(point) for point in zip(scatter.scores, scatter.human, strict=True)]
    taken = [_around(dot, 3.0) for dot in dots]
    taken.append(_note_correlation(panel, scatter, taken))
    unlabeled = []
    for name, x, y in zip(scatter.systems, scatter.scores, scatter.human, strict=True):
        for dx, dy, side, edge in _PLACES:
            text = panel.annotate(
                plain(name), (x, y), (dx, dy), textcoords="offset points", ha=side, va=edge, fontsize=5.5
            )
            text.set_in_layout(False)
            box = text.get_window_extent(renderer)
            within = inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1
            if within and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()
        else:
            if np.isfinite([x, y]).all():
                unlabeled.append(plain(name))
    if unlabeled:
        note = panel.get_xlabel() + "\n" + textwrap.fill(f"no room for: {', '.join(unlabeled)}", 60)
        panel.set_xlabel(note, fontsize=6)


def _note_correlation(panel: Any, scatter: Scatter, taken: Sequence[Any]) -> Any:
    """Write r and tau into the emptiest corner, and return the space that they take."""
    r, tau = (measure(scatter.scores, scatter.human) for measure in (pearson, kendall_b))
    notes: list[tuple[int, int, Any, Any]] = []
    for side, x in (("left", 0.03), ("right", 0.97)):
        for edge, y in (("top", 0.97), ("bottom", 0.03)):
            told = f"r = {r:.2f}\nτ = {tau:.2f}".replace("-", "−")
            note = panel.text(x, y, told, transform=panel.transAxes, ha=side, va=edge, fontsize=7)
            box = note.get_window_extent(panel.figure.canvas.get_renderer())
            notes.append((sum(bool(box.overlaps(other)) for other in taken), len(notes), note, box))
    best, *others = sorted(notes, key=lambda one: one[:2])
    for _, _, note, _ in others:
        note.remove()
    return best[3]


def _around(point: Any, radius: float) -> Any:
    from matplotlib.transforms import Bbox

    return Bbox.from_extents(point[0] - radius, point[1] - radius, point[0] + radius, point[1] + radius)
