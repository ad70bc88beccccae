"""Output options of every command that writes tables, plots or n-best lists."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from prism_mt._core.files import write_atomically
from prism_mt._core.options import Config, option
from prism_mt.generate.nbest import ListFormat
from prism_mt.report.table import Format, Table, render_all


def terminal_width() -> int | None:
    """Width of the terminal in columns; None if standard output is a file or a pipe."""
    return os.get_terminal_size().columns if sys.stdout.isatty() else None


@dataclass(frozen=True)
class TableOptions(Config):
    """Output options for tables."""

    format: Format = option("text for people, tsv and json for programs, latex and markdown for papers", "text")
    output: Path | None = option("write here instead of standard output", None, flags=("-o",), metavar="FILE")

    @property
    def width(self) -> int | None:
        """Width of the terminal in columns; None for files and pipes."""
        return terminal_width() if self.output is None else None


@dataclass(frozen=True)
class PlotOptions(Config):
    """Output options for plots."""

    plot: Path | None = option(
        "also draw a figure; the suffix (pdf, svg, eps, png) determines the format", None, metavar="FILE"
    )

    def check(self) -> None:
        """Fail before the work starts if a plot cannot be drawn."""
        if self.plot:
            from prism_mt.report.plots import check_plot_path

            check_plot_path(self.plot)

    def draw(self, plot: Callable[[Path], None]) -> None:
        """Draw the figure if it was asked for, and say that it is there."""
        if self.plot:
            plot(self.plot)
            tell_written(self.plot)


def tell_written(path: Path) -> None:
    """Say that a file is there, where it does not get in the way of the output."""
    print(f"prism: wrote {path}", file=sys.stderr)


@dataclass(frozen=True, kw_only=True)
class ListOptions(Config):
    """Output options for n-best lists."""

    format: ListFormat = option(
        "text: one hypothesis per line; tsv: line, rank, score, hypothesis; jsonl: one object per input", "text"
    )
    output: Path | None = option(
        "write here instead of standard output; unfinished output is in FILE.partial, and the same command resumes it",
        None,
        flags=("-o",),
        metavar="FILE",
    )


@contextmanager
def destination(path: Path | None) -> Iterator[IO[str]]:
    """Open the output file, which appears complete or not at all, or standard output."""
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
    else:
        with write_atomically(path) as handle:
            yield handle


def write_tables(tables: Sequence[Table], options: TableOptions) -> None:
    """Print tables, or write them to a file."""
    write_text(render_all(tables, options.format, options.width), options)


def write_text(text: str, options: TableOptions) -> None:
    """Print text, or write it to a file."""
    with destination(options.output) as handle:
        handle.write(text)
