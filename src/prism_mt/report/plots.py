"""Pictures of results; the ending of the file's name (png, pdf, svg) decides the format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.evaluation.bias import Bin
from prism_mt.evaluation.error_free import Bin as ReliabilityBin
from prism_mt.evaluation.judge import Evaluation
from prism_mt.evaluation.machine_references import ReferenceStudy
from prism_mt.evaluation.studies.base import StudyResult
from prism_mt.evaluation.sweep import Sweep
from prism_mt.report.metaeval import statistic_title
from prism_mt.report.table import titles
from prism_mt.stats.arrays import Vector

_ENDINGS = (".png", ".pdf", ".svg")
_COLUMNS = 3


@dataclass(frozen=True)
class Scatter:
    """System scores of people and of one metric."""

    metric: str
    systems: Sequence[str]
    human: Vector
    scores: Vector


def check_plot_path(path: Path) -> None:
    """Fail before the work is done when a picture could not be written after it."""
    if path.suffix not in _ENDINGS:
        raise PrismError(f"{path}: a picture's name must end in {', '.join(_ENDINGS)}")
    _pyplot()


def plot_bars(evaluation: Evaluation, path: Path) -> None:
    """Every metric's result as a bar with its interval; the best and those not significantly worse are darker."""
    results = [result for result in evaluation.results if result.value == result.value][::-1]
    figure, axes = _pyplot().subplots(figsize=(6, 0.3 * len(results) + 1.2))
    colors = ["#1f5f8b" if evaluation.is_top(result) else "#a9c7dc" for result in results]
    below = [result.value - result.interval.low if result.interval else 0.0 for result in results]
    above = [result.interval.high - result.value if result.interval else 0.0 for result in results]
    # Percentile intervals need not contain the value itself; matplotlib takes no negative lengths.
    errors = [[max(0.0, length) for length in lengths] for lengths in (below, above)]
    names = [_plain(result.metric) for result in results]
    axes.barh(names, [result.value for result in results], xerr=errors, color=colors, ecolor="#444444", capsize=2)
    axes.set_xlabel(statistic_title(evaluation.protocol))
    axes.set_title(_plain(evaluation.place))
    _save(figure, path)


def plot_systems(scatters: Sequence[Scatter], title: str, path: Path) -> None:
    """Human against metric scores of systems, one panel per metric."""
    rows = -(-len(scatters) // _COLUMNS)
    width = min(len(scatters), _COLUMNS)
    figure, panels = _pyplot().subplots(
        rows, width, figsize=(4 * width, 3.4 * rows), squeeze=False, sharey=True, layout="constrained"
    )
    for panel in panels.flat[len(scatters) :]:
        panel.set_visible(False)
    for panel in panels[:, 0]:
        panel.set_ylabel("people")
    for panel, scatter in zip(panels.flat, scatters, strict=False):
        panel.scatter(scatter.scores, scatter.human, s=14, color="#1f5f8b")
        for name, x, y in zip(scatter.systems, scatter.scores, scatter.human, strict=True):
            if x == x and y == y:
                panel.annotate(_plain(name), (x, y), fontsize=5, xytext=(2, 2), textcoords="offset points")
        panel.set_xlabel(_plain(scatter.metric))
        panel.margins(x=0.15)
    figure.suptitle(_plain(title))
    _save(figure, path)


def plot_sweep(found: Sweep, path: Path) -> None:
    """Results over the weight of the first of two metrics."""
    if len(found.metrics) != 2:
        raise PrismError("a sweep is plotted for two metrics; look at the table for more")
    figure, axes = _pyplot().subplots(figsize=(5, 3.5))
    weights = [point.weights[0] for point in found.points]
    axes.plot(weights, [point.dev for point in found.points], marker=".", label="development")
    if any(point.test == point.test for point in found.points):
        axes.plot(weights, [point.test for point in found.points], marker=".", label="test")
    axes.axvline(found.best.weights[0], color="#888888", linewidth=0.8)
    axes.set_xlabel(_plain(f"weight of {found.metrics[0]}, the rest {found.metrics[1]}"))
    axes.set_ylabel("result")
    axes.legend()
    _save(figure, path)


def plot_bins(models: Mapping[str, Sequence[Bin]], path: Path) -> None:
    """Mean score over sentence-BLEU, one line per model."""
    figure, axes = _pyplot().subplots(figsize=(5, 3.5))
    for model, bins in models.items():
        axes.plot(
            [(found.low + found.high) / 2 for found in bins], [found.score for found in bins], ".-", label=model
        )
    axes.set_xlabel("sentence BLEU against the reference")
    axes.set_ylabel("mean score")
    axes.legend()
    _save(figure, path)


def plot_studies(studies: Sequence[ReferenceStudy], path: Path) -> None:
    """Every metric under machine-translated references as a dot, its standard result as a ring before it."""
    figure, panels = _pyplot().subplots(
        1, len(studies), figsize=(3.6 * len(studies) + 1, 3), squeeze=False, sharey=True, layout="constrained"
    )
    for panel, study, title in zip(panels.flat, studies, titles(studies), strict=True):
        places = range(len(study.effects))
        standard = [100 * effect.standard for effect in study.effects]
        machine = [100 * effect.machine for effect in study.effects]
        panel.hlines(places, standard, machine, color="#a9c7dc")
        panel.scatter(standard, places, facecolors="none", edgecolors="#1f5f8b", label="standard references")
        panel.scatter(machine, places, color="#1f5f8b", label="machine-translated")
        panel.set_yticks(places, [_plain(effect.metric) for effect in study.effects])
        panel.set_title(_plain(title))
        panel.set_xlabel("tau-b ×100" if study.options.level == "segments" else "accuracy ×100")
    panels[0, 0].invert_yaxis()
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    _save(figure, path)


def plot_reliability(sets: Mapping[str, Sequence[ReliabilityBin]], path: Path) -> None:
    """Predicted probabilities beside what people said; on the diagonal they agree."""
    figure, axes = _pyplot().subplots(figsize=(4.5, 4.2))
    axes.plot([0, 1], [0, 1], color="#888888", linewidth=0.8)
    for name, bins in sets.items():
        axes.plot([b.predicted for b in bins], [b.observed for b in bins], marker="o", label=_plain(name))
    axes.set_xlabel("predicted probability of no error")
    axes.set_ylabel("share of raters who marked none")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.legend(fontsize=7)
    _save(figure, path)


def plot_groups(
    groups: Sequence[str],
    values: Mapping[str, Sequence[float]],
    title: str,
    path: Path,
    chance: float | None = None,
) -> None:
    """Bars of several metrics side by side for every group, with a line at what chance gives."""
    height = 0.8 / max(1, len(values))
    figure, axes = _pyplot().subplots(figsize=(6, 0.3 * len(groups) * max(1, 0.6 * len(values)) + 1.2))
    for index, (name, own) in enumerate(values.items()):
        places = [place + index * height for place in range(len(groups))]
        axes.barh(places, own, height, label=_plain(name))
    middle = height * (len(values) - 1) / 2
    axes.set_yticks([place + middle for place in range(len(groups))], [_plain(group) for group in groups])
    axes.invert_yaxis()
    if chance is not None:
        axes.axvline(chance, color="#888888", linewidth=0.8)
    axes.set_xlabel(title)
    if len(values) > 1:
        axes.legend(fontsize=7)
    _save(figure, path)


def plot_study(result: StudyResult, path: Path) -> None:
    """A figure of a paper as a curve per column; a table as our values over the published ones."""
    figure, axes = _pyplot().subplots(figsize=(5, 4))
    study = result.study
    if study.table.figure:
        for column in study.table.columns:
            points = [(float(cell.row), cell.ours) for cell in result.cells if cell.column == column]
            axes.plot([x for x, _ in points], [y for _, y in points], ".-", label=_plain(column))
        axes.legend()
    else:
        known = [cell for cell in result.cells if cell.ours is not None and cell.published is not None]
        ends = [value for cell in known for value in (cell.ours, cell.published) if value is not None]
        axes.scatter([cell.published for cell in known], [cell.ours for cell in known], s=10, color="#1f5f8b")
        if ends:
            axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color="#888888", linewidth=0.8)
        axes.set_xlabel("published")
        axes.set_ylabel("ours")
    axes.set_title(_plain(study.id))
    _save(figure, path)


def numbered(path: Path, *words: str) -> Path:
    """A path with words before its ending: results.pdf becomes results-en-de-bars.pdf."""
    return path.with_name("-".join([path.stem, *words]) + path.suffix)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtra("a picture", "plots") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    return pyplot


def _plain(text: str) -> str:
    """Text in which matplotlib sees no mathematics."""
    return text.replace("$", r"\$")


def _save(figure: Any, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150, bbox_inches="tight")
    except OSError as error:
        raise PrismError(f"cannot write {path}: {error.strerror}") from error
    finally:
        _pyplot().close(figure)
