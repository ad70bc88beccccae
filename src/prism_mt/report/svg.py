"""Plots as SVG inside a page: colors and fonts are the page's, every text is escaped."""

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from prism_mt.evaluation.buckets import Buckets
from prism_mt.evaluation.compare import Comparison
from prism_mt.metrics.scores import MetricScores, Vector

_WIDTH = 720
_LABELS = 190
"""Room for the names of systems at the left."""
_ROW = 28
_LABEL = 40
"""Room for a label under a plot."""
_BINS = 40


def intervals(comparison: Comparison, digits: int) -> Markup:
    """Every system's score as a dot on its 95 % interval, from best to worst."""
    names = comparison.metric.systems
    low = min(own.low for own in comparison.intervals)
    high = max(own.high for own in comparison.intervals)
    parts = []
    for row, place in enumerate(comparison.order):
        own, y = comparison.intervals[place], _ROW * row + _ROW // 2
        score = float(comparison.metric.system_scores[place])
        left, middle, right = (_scale(value, low, high) for value in (own.low, score, own.high))
        told = f"{names[place]}: {score:.{digits}f}, 95 % from {own.low:.{digits}f} to {own.high:.{digits}f}"
        parts += [
            _name(names[place], y),
            _tag("line", x1=left, x2=right, y1=y, y2=y, class_="whisker"),
            _tag("circle", _tag("title", told), cx=middle, cy=y, r=5, class_="dot"),
        ]
    height = _ROW * len(names)
    parts.append(_axis(low, high, height, digits))
    return _svg(parts, height + 24, f"{comparison.metric.metric}: scores with 95 % intervals")


def distributions(comparison: Comparison, digits: int) -> Markup:
    """How segment scores are spread, one outline per system with a line at its median."""
    scores = comparison.metric
    low, high = (float(value) for value in np.quantile(scores.segments, [0.005, 0.995]))
    if low == high:
        low, high = low - 0.5, high + 0.5
    bounds = np.linspace(low, high, _BINS + 1)
    counts = [np.histogram(np.clip(row, low, high), bounds)[0] for row in scores.segments]
    tallest = max(int(count.max()) for count in counts) or 1
    parts = []
    for row, place in enumerate(comparison.order):
        base = _ROW * (row + 1) + 10
        points = [(_scale(float(bounds[0]), low, high), float(base))]
        for bin_, count in enumerate(counts[place].tolist()):
            y = base - (_ROW + 4) * count / tallest
            points += [
                (_scale(float(bounds[bin_]), low, high), y),
                (_scale(float(bounds[bin_ + 1]), low, high), y),
            ]
        points.append((_scale(float(bounds[-1]), low, high), float(base)))
        middle = _scale(float(np.clip(np.median(scores.segments[place]), low, high)), low, high)
        parts += [
            _name(scores.systems[place], base - 6),
            _tag("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_="shape"),
            _tag("line", x1=middle, x2=middle, y1=base - _ROW + 6, y2=base, class_="median"),
        ]
    height = _ROW * len(scores.systems) + 12
    parts.append(_axis(low, high, height, digits))
    return _svg(parts, height + 24, f"{scores.metric}: distribution of segment scores")


def profile(metric: MetricScores, buckets: Buckets, digits: int) -> Markup:
    """A line per system over the parts of the test set; the name stands at its end."""
    scores = np.array([metric.on(part.segments) for part in buckets.parts])
    low, high = float(scores.min()), float(scores.max())
    height, right = 200, _WIDTH - 150
    step = (right - 60) / max(len(buckets.parts) - 1, 1)
    parts = []
    every = math.ceil(_LABEL / step)  # where there are many parts, there is not room for all labels
    for index, part in enumerate(buckets.parts):
        x = 60 + step * index
        parts.append(_tag("line", x1=x, x2=x, y1=10, y2=height, class_="grid"))
        if index % every:
            continue
        label = _short(part.label, int(step * every / 6.5))
        parts.append(_tag("text", label, x=x, y=height + 16, class_="tick", text_anchor="middle"))
    for value in (low, high):
        y = _height(value, low, high, height)
        parts.append(_tag("text", f"{value:.{digits}f}", x=48, y=y + 4, class_="tick", text_anchor="end"))
    labels = _apart(scores[-1], low, high, height)
    for system, name in enumerate(metric.systems):
        points = [(60 + step * i, _height(float(v), low, high, height)) for i, v in enumerate(scores[:, system])]
        kind = f"c{system % 10}"
        parts.append(
            _tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=f"curve {kind}")
        )
        for (x, y), value in zip(points, scores[:, system].tolist(), strict=True):
            parts.append(
                _tag("circle", _tag("title", f"{name}: {value:.{digits}f}"), cx=x, cy=y, r=3.5, class_=kind)
            )
        parts.append(
            _tag("text", _short(name, 18), x=points[-1][0] + 10, y=labels[system] + 4, class_=f"name {kind}")
        )
    return _svg(parts, height + 24, f"{metric.metric} by {buckets.title}")


def _apart(values: Vector, low: float, high: float, height: int) -> list[float]:
    """Heights of labels, moved down where they would cover one another."""
    wanted = [_height(float(value), low, high, height) for value in values]
    placed = list(wanted)
    last = -20.0
    for place in sorted(range(len(wanted)), key=wanted.__getitem__):
        placed[place] = last = max(wanted[place], last + 14)
    return placed


def _height(value: float, low: float, high: float, height: int) -> float:
    return height / 2 if high == low else 20 + (height - 30) * (high - value) / (high - low)


def _scale(value: float, low: float, high: float) -> float:
    width = _WIDTH - _LABELS - 60  # half a label of the axis stands out at either end
    return _LABELS + 30 + (width / 2 if high == low else width * (value - low) / (high - low))


def _axis(low: float, high: float, y: int, digits: int) -> Markup:
    values = [low] if low == high else [low, (low + high) / 2, high]
    line = _tag("line", x1=_LABELS, x2=_WIDTH, y1=y + 2, y2=y + 2, class_="axis")
    ticks = [
        _tag(
            "text",
            f"{value:.{digits}f}",
            x=_scale(value, low, high),
            y=y + 18,
            class_="tick",
            text_anchor="middle",
        )
        for value in values
    ]
    return Markup("").join([line, *ticks])


def _name(name: str, y: float) -> Markup:
    return _tag("text", _short(name, 24), x=_LABELS - 10, y=y + 4, class_="name", text_anchor="end")


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _svg(parts: Sequence[Markup], height: int, label: str) -> Markup:
    content = Markup("").join(parts)
    return _tag("svg", content, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=label, class_="plot")


def _tag(name: str, content: str | Markup = "", **attributes: str | float) -> Markup:
    """An element; `class_` and `text_anchor` are written as SVG has them, and whatever is not Markup is escaped."""
    written = Markup("").join(
        Markup(' {}="{}"').format(
            key.rstrip("_").replace("_", "-"), f"{value:.1f}" if isinstance(value, float) else value
        )
        for key, value in attributes.items()
    )
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), written, content)
