"""Logs of a run: CSV files, TensorBoard on request, and occasional progress lines on standard error."""

import csv
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt._core.files import write_atomically
from prism_mt._core.terminal import printable

_FIGURES = ("learning_rate", "gradient_norm", "tokens", "tokens_per_second")


class CsvLog:
    """A CSV file whose rows start with the step; when reopened, rows after the resumed step are dropped."""

    def __init__(self, path: Path, columns: tuple[str, ...], after: int) -> None:
        self.path, self.columns = path, columns
        # A kill may have truncated the last row.
        rows = [row for row in _read(path) if len(row) == len(columns) and int(row[0]) <= after]
        with write_atomically(path) as handle:
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)

    def add(self, row: Mapping[str, Any]) -> None:
        """Append one row; numbers keep all digits, so that two runs can be compared exactly."""
        try:
            with open(self.path, "a", encoding="utf-8", newline="") as handle:
                csv.writer(handle, lineterminator="\n").writerow([row[column] for column in self.columns])
        except OSError as error:
            raise PrismError(f"cannot write {self.path}: {error.strerror}") from error


def _read(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as handle:
        return [row for row in csv.reader(handle) if row and row[0].isdigit()]


class Recorder:
    """Writes training and validation figures to all logs of a run."""

    def __init__(
        self,
        folder: Path,
        after: int,
        tokens: int,
        terms: Sequence[str],
        tables: Mapping[str, tuple[str, ...]],
        tensorboard: bool,
    ) -> None:
        """Rows after step `after` are dropped (-1: all rows); `tables` maps file names to columns."""
        self._tokens, self._time = tokens, time.monotonic()
        # A single term is the loss.
        columns = ("step", "epoch", "loss", *(terms if len(terms) > 1 else ()), *_FIGURES)
        self._train = CsvLog(folder / "train.csv", columns, after)
        self._tables = {
            name: CsvLog(folder / f"{name}.csv", ("step", *own), after) for name, own in tables.items()
        }
        self._board = _board(folder / "tensorboard", after) if tensorboard else None

    def train(self, row: Mapping[str, Any]) -> None:
        """Add a row to train.csv; the speed is measured since the last row."""
        now = time.monotonic()
        speed = (row["tokens"] - self._tokens) / (now - self._time)
        self._tokens, self._time = row["tokens"], now
        row = {**row, "tokens_per_second": round(speed, 1)}
        self._train.add(row)
        if self._board:
            for name in self._train.columns:
                if name not in ("step", "epoch", "tokens"):
                    self._board.add_scalar(f"train/{name}", row[name], row["step"])

    def validation(self, step: int, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Add the rows of one validation, by file name."""
        for table, rows in tables.items():
            log = self._tables[table]
            _, key, *figures = log.columns
            for row in rows:
                log.add({"step": step, **row})
                for name in figures:
                    if self._board:
                        self._board.add_scalar(f"{table}/{name}/{row[key]}", row[name], step)

    def close(self) -> None:
        """Close all open files."""
        if self._board:
            self._board.close()


def _board(folder: Path, after: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtra("a TensorBoard log", "train") from error
    return SummaryWriter(str(folder), purge_step=after + 1)


class ProgressLine:
    """Reports training progress on standard error, at most once per interval."""

    def __init__(self, seconds: float, total: int) -> None:
        self._seconds, self._total = seconds, total
        self._started = self._shown = time.monotonic()
        self._tokens = self._steps = 0

    def update(self, step: int, loss: float, rate: float, tokens: int, epoch: float) -> None:
        """Count one step and its target tokens, and print the line when it is due."""
        self._tokens += tokens
        self._steps += 1
        now = time.monotonic()
        if now - self._shown < self._seconds:
            return
        speed = self._tokens / (now - self._shown)
        of = f"/{self._total:,}" if self._total else ""
        line = f"step {step:,}{of}  epoch {epoch:.2f}  loss {loss:.3f}  lr {rate:.2e}  {speed:,.0f} tokens/s"
        if self._total:
            left = (self._total - step) * (now - self._started) / self._steps
            line += f"  {duration(left)} left"
        print(line, file=sys.stderr, flush=True)
        self._shown, self._tokens = now, 0


def duration(seconds: float) -> str:
    """Format a duration as `1 h 05 min`, `3 min` or `20 s`."""
    minutes = int(seconds // 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min" if minutes else f"{int(seconds)} s"


def say(message: str) -> None:
    """One line on standard error."""
    print(printable(message), file=sys.stderr, flush=True)
