"""What every step kept and dropped per language pair: a table on the terminal and a TSV file."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prism_mt._core.files import write_atomically
from prism_mt.corpus.rows import Reject
from prism_mt.corpus.store import Counts, add_counts

if TYPE_CHECKING:
    from rich.table import Table

_MOST_PAIRS = 40
_FILE_WIDTH = 200


class Report:
    """Counts summed over stages, in the order in which the steps ran."""

    def __init__(self) -> None:
        self.counts: Counts = {}
        self.rejects = 0

    def add(self, counts: Counts) -> None:
        """Add the counts of one stage."""
        add_counts(self.counts, counts)

    def write_tsv(self, path: Path) -> None:
        """Write one line per step and pair: rows before, kept, dropped, and after with repetitions."""
        with write_atomically(path) as handle:
            handle.write("step\tpair\tbefore\tkept\tdropped\tafter\n")
            for step, pairs in self.counts.items():
                for pair, (before, kept, after) in sorted(pairs.items()):
                    handle.write(f"{step}\t{pair}\t{before}\t{kept}\t{max(0, before - kept)}\t{after}\n")

    def write_rejects(self, path: Path, rejects: Iterable[Reject]) -> None:
        """Write one line per rejected source line: file, line and reason."""
        with write_atomically(path) as handle:
            handle.write("file\tline\treason\n")
            for reject in rejects:
                self.rejects += 1
                handle.write(f"{reject.file}\t{reject.line}\t{reject.reason}\n")

    def totals(self) -> list[tuple[str, int, int, int]]:
        """Step, rows before, kept and after, summed over all pairs."""
        return [
            (step, *(sum(numbers[place] for numbers in pairs.values()) for place in range(3)))  # type: ignore[misc]
            for step, pairs in self.counts.items()
        ]

    def show(self) -> None:
        """Print the totals of each step, and what each step dropped per pair."""
        from rich.console import Console
        from rich.table import Table

        # A file or a pipe has no width of its own.
        console = Console() if sys.stdout.isatty() else Console(width=_FILE_WIDTH)
        totals = Table(title="Rows by step")
        for column in ("step", "before", "kept", "dropped", "dropped %", "after"):
            totals.add_column(column, justify="left" if column == "step" else "right")
        for step, before, kept, after in self.totals():
            dropped = max(0, before - kept)
            share = f"{100 * dropped / before:.1f}" if before else ""
            totals.add_row(step, f"{before:,}", f"{kept:,}", f"{dropped:,}", share, f"{after:,}")
        console.print(totals)
        console.print(self._pair_table(Table(title="Rows dropped by each step, per language pair")))
        if self.rejects:
            console.print(f"{self.rejects:,} lines were rejected; they are listed in rejects.tsv")

    def _pair_table(self, table: "Table") -> "Table":
        # A step that dropped nothing needs no column.
        filters = [step for step, before, kept, _ in self.totals() if before > kept and step != "languages"]
        for column in ("pair", "read", *filters, "validation", "training"):
            table.add_column(column, justify="left" if column == "pair" else "right")
        read = self.counts.get("read", {})
        pairs = sorted(read, key=lambda pair: -read[pair][2])
        for name, members in _rows_of_table(pairs):
            dropped = [sum(max(0, b - k) for b, k, _ in self._of(step, members)) for step in filters]
            ends = [sum(after for *_, after in self._of(step, members)) for step in ("validation", "training")]
            start = sum(after for *_, after in self._of("read", members))
            table.add_row(name, *(f"{number:,}" for number in (start, *dropped, *ends)))
        return table

    def _of(self, step: str, pairs: Sequence[str]) -> list[list[int]]:
        found = self.counts.get(step, {})
        return [found[pair] for pair in pairs if pair in found]


def _rows_of_table(pairs: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """The largest pairs individually, the many small ones combined."""
    rows: list[tuple[str, Sequence[str]]] = [(pair, [pair]) for pair in pairs[:_MOST_PAIRS]]
    if len(pairs) > _MOST_PAIRS:
        rows.append((f"{len(pairs) - _MOST_PAIRS} others", pairs[_MOST_PAIRS:]))
    return rows
