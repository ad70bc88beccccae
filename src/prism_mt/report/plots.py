"""Plots of results; the file's suffix (pdf, svg, eps, png) determines the format."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.evaluation.bias import Bin
from prism_mt.evaluation.compare import Comparison
from prism_mt.evaluation.error_free import Bin as ReliabilityBin
from prism_mt.evaluation.machine_references import ReferenceStudy
from prism_mt.evaluation.studies.base import StudyResult
from prism_mt.evaluation.sweep import Sweep
from prism_mt.report.table import titles

_ENDINGS = (".png", ".pdf", ".svg", ".eps")
DARK, LIGHT = "#1f5f8b", "#a9c7dc"
_STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "figure.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "legend.frameon": False,
}


def check_plot_path(path: Path) -> None:
    """Fail before the work starts if a plot could not be written afterwards."""
    if path.suffix not in _ENDINGS:
        raise PrismError(f"{path}: the name of a plot must end in {', '.join(_ENDINGS)}")
    pyplot()


def plot_comparison(comparisons: Sequence[Comparison], path: Path) -> None:
    """Systems from best to worst with their 95 % intervals, one panel per metric."""
    width = min(len(comparisons), 3)
    rows, systems = -(-len(comparisons) // width), len(comparisons[0].order)
    figure, panels = pyplot().subplots(
        rows,
        width,
        figsize=(2.4 * width + 0.6, rows * (0.22 * systems + 1.0)),
        squeeze=False,
        layout="constrained",
    )
    for panel in panels.flat[len(comparisons) :]:
        panel.set_visible(False)
    for panel, one in zip(panels.flat, comparisons, strict=False):
        order = one.order[::-1]
        names = [plain(one.metric.systems[place]) for place in order]
        lows, highs = ([getattr(one.intervals[place], end) for place in order] for end in ("low", "high"))
        panel.hlines(range(systems), lows, highs, color=LIGHT, linewidth=3)
        panel.plot([one.metric.system_scores[place] for place in order], range(systems), "o", color=DARK)
        panel.set_yticks(range(systems), names)
        panel.margins(y=0.5 / systems)
        panel.set_xlabel(plain(one.metric.metric) + (" (lower is better)" if one.metric.lower_is_better else ""))
    figure.suptitle("Systems from best to worst, with 95 % intervals")
    save_figure(figure, path)


def plot_sweep(found: Sweep, path: Path) -> None:
    """Results over the weight of the first of two metrics."""
    if len(found.metrics) != 2:
        raise PrismError("a sweep is plotted for two metrics; look at the table for more")
    figure, axes = pyplot().subplots(figsize=(5, 3.5))
    weights = [point.weights[0] for point in found.points]
    axes.plot(weights, [point.dev for point in found.points], marker=".", label="development")
    if any(point.test == point.test for point in found.points):
        axes.plot(weights, [point.test for point in found.points], marker=".", label="test")
    axes.axvline(found.best.weights[0], color="#888888", linewidth=0.8)
    axes.set_xlabel(plain(f"weight of {found.metrics[0]} (the rest is {found.metrics[1]})"))
    axes.set_ylabel("agreement with human judgments")
    axes.legend()
    save_figure(figure, path)


def plot_bins(models: Mapping[str, Sequence[Bin]], path: Path) -> None:
    """Mean score over sentence-BLEU, one line per model."""
    figure, axes = pyplot().subplots(figsize=(5, 3.5))
    for model, bins in models.items():
        axes.plot(
            [(found.low + found.high) / 2 for found in bins], [found.score for found in bins], ".-", label=model
        )
    axes.set_xlabel("sentence BLEU against the reference")
    axes.set_ylabel("mean score")
    axes.legend()
    save_figure(figure, path)


def plot_studies(studies: Sequence[ReferenceStudy], path: Path) -> None:
    """Every metric under machine-translated references as a dot, its standard result as a ring."""
    figure, panels = pyplot().subplots(
        1, len(studies), figsize=(3.6 * len(studies) + 1, 3), squeeze=False, sharey=True, layout="constrained"
    )
    for panel, study, title in zip(panels.flat, studies, titles(studies), strict=True):
        places = range(len(study.effects))
        standard = [100 * effect.standard for effect in study.effects]
        machine = [100 * effect.machine for effect in study.effects]
        panel.hlines(places, standard, machine, color=LIGHT)
        panel.scatter(standard, places, facecolors="none", edgecolors=DARK, label="standard references")
        panel.scatter(machine, places, color=DARK, label="machine-translated")
        panel.set_yticks(places, [plain(effect.metric) for effect in study.effects])
        panel.set_title(plain(title))
        panel.set_xlabel("tau-b ×100" if study.options.level == "segments" else "accuracy ×100")
    panels[0, 0].invert_yaxis()
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    save_figure(figure, path)


def plot_reliability(sets: Mapping[str, Sequence[ReliabilityBin]], path: Path) -> None:
    """Predicted against observed probabilities; on the diagonal they agree."""
    figure, axes = pyplot().subplots(figsize=(4.5, 4.2))
    axes.plot([0, 1], [0, 1], color="#888888", linewidth=0.8)
    for name, bins in sets.items():
        axes.plot([b.predicted for b in bins], [b.observed for b in bins], marker="o", label=plain(name))
    axes.set_xlabel("predicted probability of no error")
    axes.set_ylabel("share of raters who marked none")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.legend(fontsize=7)
    save_figure(figure, path)


def plot_groups(
    groups: Sequence[str],
    values: Mapping[str, Sequence[float]],
    title: str,
    path: Path,
    chance: float | None = None,
) -> None:
    """Bars of several metrics side by side for every group, with a line at chance level."""
    height = 0.8 / max(1, len(values))
    figure, axes = pyplot().subplots(figsize=(6, 0.3 * len(groups) * max(1, 0.6 * len(values)) + 1.2))
    for index, (name, own) in enumerate(values.items()):
        places = [place + index * height for place in range(len(groups))]
        axes.barh(places, own, height, label=plain(name))
    middle = height * (len(values) - 1) / 2
    axes.set_yticks([place + middle for place in range(len(groups))], [plain(group) for group in groups])
    axes.invert_yaxis()
    if chance is not None:
        axes.axvline(chance, color="#888888", linewidth=0.8)
    axes.set_xlabel(title)
    if len(values) > 1:
        axes.legend(fontsize=7)
    save_figure(figure, path)


def plot_results(results: Sequence[StudyResult], path: Path) -> None:
    """Draw tables and figures of papers, a panel each."""
    rows = -(-len(results) // 2)
    width = min(len(results), 2)
    figure, panels = pyplot().subplots(
        rows, width, figsize=(3.8 * width, 3 * rows), squeeze=False, layout="constrained"
    )
    for panel in panels.flat[len(results) :]:
        panel.set_visible(False)
    for panel, result in zip(panels.flat, results, strict=False):
        _draw_result(panel, result)
    save_figure(figure, path)


def _draw_result(axes: Any, result: StudyResult) -> None:
    """A figure of a paper as a curve per column; a table as our values over the published ones."""
    study = result.study
    if study.table.figure:
        for column in study.table.columns:
            points = [(float(cell.row), cell.ours) for cell in result.cells if cell.column == column]
            axes.plot([x for x, _ in points], [y for _, y in points], ".-", label=plain(column))
        for name, label in zip(("x", "y"), study.table.axes, strict=False):
            axes.set(**{f"{name}label": plain(label)})
        axes.legend()
    else:
        known = [cell for cell in result.cells if cell.ours is not None and cell.published is not None]
        ends = [value for cell in known for value in (cell.ours, cell.published) if value is not None]
        axes.scatter([cell.published for cell in known], [cell.ours for cell in known], s=10, color=DARK)
        if ends:
            axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color="#888888", linewidth=0.8)
        axes.set_xlabel("published")
        axes.set_ylabel("ours")
    axes.set_title(plain(study.id))


def pyplot() -> Any:
    """Import matplotlib without a display, with a style for papers: small type, no frames, embedded fonts."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtra("a picture", "plots") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as module

    module.rcParams.update(_STYLE)
    return module


def plain(text: str) -> str:
    """Escape text so that matplotlib sees no math in it."""
    return text.replace("$", r"\$")


def save_figure(figure: Any, path: Path) -> None:
    """Save a figure and close it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=200, bbox_inches="tight")
    except OSError as error:
        raise PrismError(f"cannot write {path}: {error.strerror}") from error
    finally:
        pyplot().close(figure)
