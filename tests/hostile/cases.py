"""One hostile case: a damaged file is given to its reader, or to the command that reads it."""

import contextlib
import io
import logging
import os
import random
import re
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hostile.readers import READERS, Reader, hostile, targets
from prism_mt._core.errors import PrismError
from prism_mt.cli.main import main

Verdict = Literal["fine", "traceback", "hang", "raw control character", "wrong exit code", "memory", "crash"]
_EVERY = 8
"""Of so many cases one goes through the command."""
_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SECONDS = 10.0
"""Of processor time: a busy machine is not a hang."""


@dataclass(frozen=True)
class Case:
    """What was tried, and how it ended; a case is repeated by its reader and its seed."""

    reader: str
    seed: int
    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0


@dataclass
class Bench:
    """Samples of the readers in a folder, made when they are first needed and mended after every case."""

    folder: Path
    _samples: dict[str, Path] = field(default_factory=dict)

    def prepare(self, name: str) -> tuple[Reader, Path]:
        """Make the sample of a reader."""
        reader = next(reader for reader in READERS if reader.name == name)
        return reader, self._sample(reader)

    def run(self, name: str, seed: int) -> Case:
        """Try one case."""
        reader, sample = self.prepare(name)
        chance = random.Random(f"{name} {seed}")
        target = chance.choice(targets(reader, sample))
        whole = target.read_bytes()
        target.write_bytes(hostile(reader, target, whole, chance))
        start = time.process_time()
        try:
            by_command = bool(reader.command) and seed % _EVERY == 0
            verdict, detail = _command(reader, sample) if by_command else _read(reader, sample)
        finally:
            target.write_bytes(whole)
        seconds = time.process_time() - start
        if verdict == "fine" and seconds > _SECONDS:
            verdict, detail = "hang", f"{seconds:.0f} s"
        return Case(name, seed, verdict, f"{target.name}: {detail}" if detail else "", seconds)

    def _sample(self, reader: Reader) -> Path:
        if reader.name not in self._samples:
            place = self.folder / str(READERS.index(reader))
            place.mkdir(parents=True, exist_ok=True)
            with _quiet():
                self._samples[reader.name] = reader.make(place)
        return self._samples[reader.name]


def _read(reader: Reader, sample: Path) -> tuple[Verdict, str]:
    try:
        with _quiet():
            reader.read(sample)
    except PrismError as error:
        return ("traceback", "no words") if not str(error) else ("fine", "")
    except MemoryError:
        return "memory", "MemoryError"
    except Exception:
        return "traceback", traceback.format_exc()[-700:]
    return "fine", ""


def _command(reader: Reader, sample: Path) -> tuple[Verdict, str]:
    """The whole command, in this process; its words must be clean, and its code 0 or 2."""
    words = [str(sample) if word == "{}" else word for word in reader.command]
    output, errors = io.StringIO(), io.StringIO()
    before = Path.cwd()
    try:
        os.chdir(sample.parent)
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors), _logged_to(errors):
            code = main(words)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except Exception:
        return "traceback", traceback.format_exc()[-700:]
    finally:
        os.chdir(before)
    if code not in (0, 2):
        return "wrong exit code", f"{code}: {errors.getvalue()[-300:]}"
    if raw := _RAW.search(output.getvalue() + errors.getvalue()):
        return "raw control character", f"{raw[0]!r} in {' '.join(words)}"
    if "Traceback (most recent" in errors.getvalue():
        return "traceback", errors.getvalue()[-700:]
    return "fine", ""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        _logged_to(io.StringIO()),
    ):
        yield


@contextlib.contextmanager
def _logged_to(stream: io.StringIO) -> Iterator[None]:
    """Log records go where the command would write them, and nowhere else."""
    root = logging.getLogger()
    before, root.handlers = root.handlers, []
    handler = logging.StreamHandler(stream)
    from prism_mt._core.terminal import PrintableFormatter

    handler.setFormatter(PrintableFormatter())
    root.addHandler(handler)
    try:
        yield
    finally:
        root.handlers = before
