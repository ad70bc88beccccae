"""The record of a run: CSV files, TensorBoard on request, and a line on standard error from time to time."""

import csv
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt._core.files import write_atomically

TRAIN_COLUMNS = ("step", "epoch", "loss", "learning_rate", "gradient_norm", "tokens", "tokens_per_second")
VALID_COLUMNS = ("step", "pair", "loss", "tokens")
TRANSLATION_COLUMNS = ("step", "pair", "bleu", "chrf", "segments")


class CsvLog:
    """A CSV file whose rows start with the step; reopened, it forgets the rows after the step it goes on from."""

    def __init__(self, path: Path, columns: tuple[str, ...], after: int) -> None:
        self.path, self.columns = path, columns
        # A kill may have cut the last row.
        rows = [row for row in _read(path) if len(row) == len(columns) and int(row[0]) <= after]
        with write_atomically(path) as handle:
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)

    def add(self, row: Mapping[str, Any]) -> None:
        """Append one row; numbers keep all their digits, so that two runs can be compared exactly."""
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

    def __init__(self, folder: Path, after: int, tokens: int, tensorboard: bool) -> None:
        self._tokens, self._time = tokens, time.monotonic()
        self._train = CsvLog(folder / "train.csv", TRAIN_COLUMNS, after)
        self._valid = CsvLog(folder / "valid.csv", VALID_COLUMNS, after)
        self._translations: CsvLog | None = None
        self._folder, self._after = folder, after
        self._board = _board(folder / "tensorboard", after) if tensorboard else None

    def train(self, row: Mapping[str, Any]) -> None:
        """One row of train.csv; the speed is that since the last row."""
        now = time.monotonic()
        speed = (row["tokens"] - self._tokens) / (now - self._time)
        self._tokens, self._time = row["tokens"], now
        row = {**row, "tokens_per_second": round(speed, 1)}
        self._train.add(row)
        if self._board:
            for name in ("loss", "learning_rate", "gradient_norm", "tokens_per_second"):
                self._board.add_scalar(f"train/{name}", row[name], row["step"])

    def valid(self, step: int, losses: Mapping[str, tuple[float, int]]) -> None:
        """Loss and tokens of each direction, and of all."""
        for pair, (loss, tokens) in losses.items():
            self._valid.add({"step": step, "pair": pair, "loss": loss, "tokens": tokens})
            if self._board:
                self._board.add_scalar(f"valid/{pair}", loss, step)

    def translations(self, step: int, found: Mapping[str, tuple[float, float, int]]) -> None:
        """BLEU and chrF of each direction, in a file that only runs that translate have."""
        if self._translations is None:
            self._translations = CsvLog(self._folder / "translations.csv", TRANSLATION_COLUMNS, self._after)
        for pair, (bleu, chrf, segments) in found.items():
            row = {
                "step": step,
                "pair": pair,
                "bleu": round(bleu, 2),
                "chrf": round(chrf, 2),
                "segments": segments,
            }
            self._translations.add(row)
            if self._board:
                self._board.add_scalar(f"bleu/{pair}", bleu, step)
                self._board.add_scalar(f"chrf/{pair}", chrf, step)

    def close(self) -> None:
        """Finish the files that are still open."""
        if self._board:
            self._board.close()


def _board(folder: Path, after: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtra("a TensorBoard log", "train") from error
    return SummaryWriter(str(folder), purge_step=after + 1)


class ProgressLine:
    """Tells on standard error how training goes, at most every so many seconds."""

    def __init__(self, seconds: float, total: int) -> None:
        self._seconds, self._total = seconds, total
        self._started = self._shown = time.monotonic()
        self._tokens = self._steps = 0

    def update(self, step: int, loss: float, rate: float, tokens: int, epoch: float) -> None:
        """Count one step and its target tokens, and show the line when it is time."""
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
    """`1 h 05 min`, `3 min` or `20 s`."""
    minutes = int(seconds // 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min" if minutes else f"{int(seconds)} s"


def say(message: str) -> None:
    """One line on standard error."""
    print(message, file=sys.stderr, flush=True)
