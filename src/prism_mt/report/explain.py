"""Why a score is what it is: the pieces of a text, each with its log-probability, for a terminal."""

from typing import TYPE_CHECKING, TextIO

from prism_mt.metrics.base import SegmentScore, TokenTrace

if TYPE_CHECKING:
    from rich.text import Text

# A log-probability at which the colour is at its strongest.
_STRONGEST = -8.0


def write_explanation(result: SegmentScore, signature: str, handle: TextIO, width: int | None = None) -> None:
    """Each forced decoding as two lines, pieces above their log-probabilities, coloured on a terminal."""
    from rich.console import Console

    console = Console(file=handle, width=width, highlight=False, soft_wrap=True)
    console.print(f"{result.score:.4f}  {signature}", markup=False)
    for trace in result.tokens:
        scored, _, given = trace.direction.partition("|")
        mean = sum(trace.scores) / len(trace.scores)
        console.print(f"\n{scored} given {given}: {mean:.4f}", markup=False)
        for line in _lines(trace, console.width):
            console.print(line)
        piece, worst = lowest(trace)
        console.print(f"least probable: {piece} {worst:.2f}", markup=False)


def lowest(trace: TokenTrace) -> tuple[str, float]:
    """The least probable piece and its log-probability."""
    place = min(range(len(trace.scores)), key=trace.scores.__getitem__)
    return trace.pieces[place], trace.scores[place]


def strength(score: float) -> float:
    """How strong the colour of a log-probability is, from 0 (certain) to 1."""
    return min(max(score / _STRONGEST, 0.0), 1.0)


def _lines(trace: TokenTrace, width: int) -> list["Text"]:
    """Pairs of lines of columns that fit the width."""
    from rich.cells import cell_len
    from rich.style import Style
    from rich.text import Text

    rows: list[Text] = []
    used = width
    for piece, score in zip(trace.pieces, trace.scores, strict=True):
        shown, value = _visible(piece), f"{score:.2f}"
        column = max(cell_len(shown), len(value))
        if used + column > width:
            rows += [Text(), Text()]
            used = 0
        style = Style()
        if strength(score) > 0.05:
            faded = round(235 * (1 - strength(score)))
            style = Style.parse(f"black on rgb(255,{faded},{faded})")
        rows[-2].append(shown, style).append(" " * (column - cell_len(shown) + 1))
        rows[-1].append(value.ljust(column + 1))
        used += column + 1
    for row in rows:
        row.rstrip()
    return rows


def _visible(piece: str) -> str:
    """A piece without characters that would move the cursor."""
    return "".join(letter if letter.isprintable() else "�" for letter in piece)
