"""Inline SVG plots, as wide as the page allows and in its colors and fonts; all text is escaped.

Positions are percentages, so that lines move closer together on a phone while text keeps its size.
"""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from prism_mt.evaluation.buckets import Buckets
from prism_mt.evaluation.compare import Comparison
from prism_mt.report.ticks import label, ticks

_ROW = 28
_HEIGHT = 200
"""Of plots with a vertical axis, in pixels."""
_MOST_BINS = 40
_EDGE = 0.06
"""Share of the width that stays free at both ends, for half a label of the axis."""
_MOST_LANES = 24
COLORS = 10
"""Colors of systems in the style sheet."""


def intervals(comparison: Comparison, digits: int) -> Markup:
    """Every system's score as a dot on its 95 % interval, from best to worst."""
    names = comparison.metric.systems
    axis = Axis(min(one.low for one in comparison.intervals), max(one.high for one in comparison.intervals))
    rows = []
    for place in comparison.order:
        own, score = comparison.intervals[place], float(comparison.metric.system_scores[place])
        told = f"{names[place]}: {score:.{digits}f}, 95 % from {own.low:.{digits}f} to {own.high:.{digits}f}"
        middle = _ROW / 2
        whisker = _tag("line", x1=axis(own.low), x2=axis(own.high), y1=middle, y2=middle, class_="whisker")
        dot = _tag("circle", _tag("title", told), cx=axis(score), cy=middle, r=5, class_="dot")
        rows.append((names[place], [whisker, dot], f"{score:.{digits}f}".replace("-", "−")))
    return _lanes(rows, axis, f"{comparison.metric.metric}: scores with 95 % intervals")


def distributions(comparison: Comparison) -> Markup:
    """How segment scores are spread, one outline per system with a line at its median."""
    scores = comparison.metric
    low, high = (float(value) for value in np.quantile(scores.segments, [0.005, 0.995]))
    if low == high:
        low, high = low - 0.5, high + 0.5
    bins = min(max(8, round(2 * scores.segments.shape[1] ** 0.5)), _MOST_BINS)
    axis, bounds = Axis(low, high), np.linspace(low, high, bins + 1)
    counts = [np.histogram(np.clip(row, low, high), bounds)[0] for row in scores.segments]
    tallest = max(int(count.max()) for count in counts) or 1
    rows = []
    for place in comparison.order:
        points = [(axis.share(low), float(_ROW))]
        for left, right, count in zip(bounds[:-1], bounds[1:], counts[place].tolist(), strict=True):
            y = _ROW - (_ROW - 2) * count / tallest
            points += [(axis.share(float(left)), y), (axis.share(float(right)), y)]
        points.append((axis.share(high), float(_ROW)))
        median = float(np.clip(np.median(scores.segments[place]), low, high))
        line = _tag("line", x1=axis(median), x2=axis(median), y1=4, y2=_ROW, class_="median")
        rows.append((scores.systems[place], [_stretched("polygon", points, _ROW, "shape"), line], ""))
    return _lanes(rows, axis, f"{scores.metric}: distribution of segment scores")


def groups(comparison: Comparison, buckets: Buckets, digits: int) -> Markup:
    """Parts that have no order, such as documents: the largest of them, with a dot per system."""
    metric = comparison.metric
    chosen = sorted(buckets.parts, key=lambda part: -len(part.segments))[:_MOST_LANES]
    scores = [metric.on(part.segments).tolist() for part in chosen]
    axis = Axis(min(map(min, scores)), max(map(max, scores)))
    rows = []
    for part, own in zip(chosen, scores, strict=True):
        dots = [
            _tag(
                "circle",
                _tag("title", f"{name}: {value:.{digits}f}"),
                cx=axis(value),
                cy=_ROW / 2,
                r=5,
                class_=f"c{system % COLORS}",
            )
            for system, (name, value) in enumerate(zip(metric.systems, own, strict=True))
        ]
        rows.append((part.label, dots, ""))
    return legend(metric.systems) + _lanes(rows, axis, f"{metric.metric} by {buckets.title}")


def profile(names: Sequence[str], values: Sequence[Sequence[float]], labels: Sequence[str], title: str) -> Markup:
    """A line per system over parts that have an order; `values` has a row per part."""
    array = np.array(values)
    scale = Axis(float(array.min()), float(array.max()))
    places = [(index + 0.5) / len(labels) for index in range(len(labels))]
    marks = ticks(scale.low, scale.high, 5)
    lines = [
        _tag("line", x1="0%", x2="100%", y1=_y(scale, mark), y2=_y(scale, mark), class_="grid") for mark in marks
    ]
    axis = [
        _tag("text", text, x="100%", y=_y(scale, mark) + 4, class_="tick", text_anchor="end")
        for mark, text in zip(marks, label(marks), strict=True)
    ]
    for system, name in enumerate(names):
        kind = f"c{system % COLORS}"
        points = [(place, _y(scale, float(row[system]))) for place, row in zip(places, array, strict=True)]
        lines.append(_stretched("polyline", points, _HEIGHT, f"curve {kind}"))
        lines += [
            _tag("circle", _tag("title", f"{name}, {part}"), cx=_percent(x), cy=y, r=4, class_=kind)
            for (x, y), part in zip(points, labels, strict=True)
        ]
    bottom = Markup("").join(_tag("span", part) for part in labels)
    return legend(names) + _tag(
        "div",
        _tag("svg", Markup("").join(axis), class_="scale", height=_HEIGHT)
        + _tag("svg", Markup("").join(lines), class_="lines", width="100%", height=_HEIGHT)
        + _tag("div", bottom, class_="parts"),
        class_="profile",
        role="img",
        aria_label=title,
    )


def legend(names: Sequence[str]) -> Markup:
    """The color of every system."""
    keys = [
        _tag("span", _tag("i", "", class_=f"key c{place % COLORS}") + _tag("span", name), class_="system")
        for place, name in enumerate(names)
    ]
    return _tag("div", Markup("").join(keys), class_="legend")


class Axis:
    """Places numbers from left to right; the first and last round number are near the ends."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def share(self, value: float) -> float:
        """Position of a number, as a share of the width."""
        inside = 0.5 if self.high == self.low else (value - self.low) / (self.high - self.low)
        return _EDGE + (1 - 2 * _EDGE) * inside

    def __call__(self, value: float) -> str:
        """The same as SVG writes it."""
        return _percent(self.share(value))


def _lanes(rows: Sequence[tuple[str, Sequence[Markup], str]], axis: Axis, title: str) -> Markup:
    """A row per name: what belongs to it over the lines of the axis, whose numbers are in the last row."""
    marks = ticks(axis.low, axis.high)
    grid = [_tag("line", x1=axis(mark), x2=axis(mark), y1=0, y2=_ROW, class_="grid") for mark in marks]
    parts = []
    for name, drawn, value in rows:
        parts += [
            _tag("div", name, class_="who", title=name),
            _tag("svg", Markup("").join([*grid, *drawn]), width="100%", height=_ROW),
            _tag("div", value, class_="value"),
        ]
    numbers = [
        _tag("text", text, x=axis(mark), y=14, class_="tick", text_anchor="middle")
        for mark, text in zip(marks, label(marks), strict=True)
    ]
    bottom = _tag("svg", Markup("").join(numbers), width="100%", height=20)
    content = Markup("").join([*parts, _tag("div"), bottom, _tag("div")])
    return _tag("div", content, class_="lanes", role="img", aria_label=title)


def _stretched(name: str, points: Sequence[tuple[float, float]], height: int, kind: str) -> Markup:
    """A shape whose horizontal positions are shares of the width, which SVG supports only for whole pictures."""
    written = " ".join(f"{100 * x:.2f},{y:.1f}" for x, y in points)
    shape = _tag(name, points=written, class_=kind, vector_effect="non-scaling-stroke")
    return Markup(
        '<svg viewBox="0 0 100 {0}" preserveAspectRatio="none" width="100%" height="{0}">{1}</svg>'
    ).format(height, shape)


def _y(scale: Axis, value: float) -> float:
    return _HEIGHT * (1 - scale.share(value))


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _tag(name: str, content: str | Markup = "", **attributes: str | float) -> Markup:
    """An element; `class_` and `text_anchor` become SVG attributes, and everything but Markup is escaped."""
    written = Markup("").join(
        Markup(' {}="{}"').format(
            key.rstrip("_").replace("_", "-"), f"{value:.1f}" if isinstance(value, float) else value
        )
        for key, value in attributes.items()
    )
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), written, content)
