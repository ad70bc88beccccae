"""Explain a score: the pieces of a text with their log-probabilities."""

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from prism_mt._core.errors import PrismError
from prism_mt._core.terminal import printable
from prism_mt.engines.factory import EngineConfig
from prism_mt.metrics.base import ErrorSpan, Metric, TokenTrace
from prism_mt.metrics.registry import make_metric
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.score import score
from prism_mt.metrics.spans.classifier import has_classifier
from prism_mt.report.errors import describe_span

if TYPE_CHECKING:
    from rich.text import Text

# The log-probability with the strongest color.
_STRONGEST = -8.0


@dataclass(frozen=True)
class Explanation:
    """The score of one output and the forced decodings behind it."""

    score: float
    signature: str
    traces: tuple[TokenTrace, ...]
    spans: tuple[ErrorSpan, ...] = ()
    """Errors, where the model has weights to find them."""

    def write(self, handle: TextIO, width: int | None = None) -> None:
        """Write each forced decoding as two lines, pieces above their log-probabilities, colored on a terminal."""
        from rich.console import Console

        console = Console(file=handle, width=width, highlight=False, soft_wrap=True)
        console.print(f"{self.score:.4f}  {printable(self.signature)}", markup=False)
        for trace in self.traces:
            scored, _, given = trace.direction.partition("|")
            mean = sum(trace.scores) / len(trace.scores)
            console.print(f"\n{scored} given {given}: {mean:.4f}", markup=False)
            for line in _lines(trace, console.width):
                console.print(line)
            piece, worst = lowest(trace)
            console.print(f"least probable: {printable(piece)} {worst:.2f}", markup=False)
        if self.spans:
            console.print("\nerrors:", markup=False)
        for span in self.spans:
            console.print(f"  {describe_span(span)}", markup=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "score": self.score,
            "signature": self.signature,
            "directions": [
                {"direction": trace.direction, "pieces": list(trace.pieces), "scores": list(trace.scores)}
                for trace in self.traces
            ],
            "spans": [span.to_dict() for span in self.spans],
        }

    def __repr__(self) -> str:
        text = io.StringIO()
        self.write(text, 100)
        return text.getvalue().rstrip("\n")


def explain(
    hypothesis: str,
    *,
    ref: str | None = None,
    src: str | None = None,
    lang: str,
    src_lang: str = "",
    metric: str | Metric | None = None,
    config: EngineConfig | None = None,
    runtime: Runtime | None = None,
) -> Explanation:
    """Show which pieces of a translation determine its score, given its reference or its source."""
    if (ref is None) == (src is None):
        raise PrismError("pass either `ref=` or `src=`")
    chosen = make_metric(metric or ("prism-ref" if ref is not None else "prism-src"))
    if not chosen.has_tokens:
        raise PrismError(f"{chosen.label} has no pieces to show: choose prism-ref or prism-src")
    runtime = runtime or Runtime(config)
    found = score(
        [hypothesis],
        ref=None if ref is None else [ref],
        src=None if src is None else [src],
        lang=lang,
        src_lang=src_lang,
        metrics=[chosen],
        tokens=True,
        spans=chosen.has_both_directions and all(has_classifier(runtime.model(name)) for name in chosen.models),
        runtime=runtime,
    ).item()
    assert found.tokens is not None
    return Explanation(found.score, found.signature, found.tokens[0], found.spans[0] if found.spans else ())


def lowest(trace: TokenTrace) -> tuple[str, float]:
    """The least probable piece and its log-probability."""
    place = min(range(len(trace.scores)), key=trace.scores.__getitem__)
    return trace.pieces[place], trace.scores[place]


def strength(score: float) -> float:
    """Color intensity for a log-probability, from 0 (certain) to 1."""
    return min(max(score / _STRONGEST, 0.0), 1.0)


def _lines(trace: TokenTrace, width: int) -> list["Text"]:
    """Lines of columns that fit the width, in pairs."""
    from rich.cells import cell_len
    from rich.style import Style
    from rich.text import Text

    rows: list[Text] = []
    used = width
    for piece, own in zip(trace.pieces, trace.scores, strict=True):
        shown, value = printable(piece), f"{own:.2f}"
        column = max(cell_len(shown), len(value))
        if used + column > width:
            rows += [Text(), Text()]
            used = 0
        style = Style()
        if strength(own) > 0.05:
            faded = round(235 * (1 - strength(own)))
            style = Style.parse(f"black on rgb(255,{faded},{faded})")
        rows[-2].append(shown, style).append(" " * (column - cell_len(shown) + 1))
        rows[-1].append(value.ljust(column + 1))
        used += column + 1
    for row in rows:
        row.rstrip()
    return rows
