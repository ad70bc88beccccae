"""Byte streams that can be read more than once: files, compressed files, pipes and standard input."""

import gzip
import io
import lzma
import os
import shutil
import stat
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from prism_mt._core.errors import PrismError

_DECOMPRESSORS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".xz": lzma.LZMAFile,
}
_BUFFER = 1 << 16

_stdin_taken = False


@dataclass(frozen=True)
class Stream:
    """A source of bytes; several readers may be at different positions at the same time."""

    name: str
    open_raw: Callable[[], IO[bytes]]
    suffix: str = ""

    @property
    def compressed(self) -> bool:
        """Whether the file suffix indicates compression."""
        return self.suffix in _DECOMPRESSORS

    def lines(self) -> Iterator[bytes]:
        """Yield decompressed lines with their line feeds; nothing but a line feed ends a line."""
        try:
            with self.open_raw() as raw:
                if self.compressed:
                    yield from io.BufferedReader(_DECOMPRESSORS[self.suffix](raw), _BUFFER)
                else:
                    yield from raw
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise PrismError(f"{self.name} is damaged or cut off: {error}") from error
        except OSError as error:
            raise PrismError(f"cannot read {self.name}: {error.strerror or error}") from error


def open_stream(spec: str | Path) -> Stream:
    """Open a file by its path, or standard input for `-`.

    Input that can be read only once (standard input, a named pipe, `<(command)`) is copied to a temporary file.
    """
    if str(spec) == "-":
        return _standard_input()
    path = Path(spec)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise PrismError(f"{path} is a folder: name a file in it")
        if stat.S_ISREG(mode):
            path.open("rb").close()
            return Stream(str(path), lambda: path.open("rb"), path.suffix.lower())
        with path.open("rb") as pipe:
            _refuse_endless(pipe, str(path))
            return Stream(str(path), _spool(pipe), path.suffix.lower())
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise PrismError(f"{str(path)!r} is not a file name: {error}") from error


def _standard_input() -> Stream:
    global _stdin_taken
    if _stdin_taken:
        raise PrismError("standard input (-) can be used only once: give the other texts as files")
    if sys.stdin is None:
        raise PrismError("there is no standard input: give the text as a file")
    _stdin_taken = True
    try:
        _refuse_endless(sys.stdin.buffer, "standard input")
        return Stream("standard input", _spool(sys.stdin.buffer))
    except OSError as error:
        raise PrismError(f"cannot read standard input: {error.strerror or error}") from error


def _refuse_endless(handle: IO[bytes], name: str) -> None:
    """Devices such as /dev/zero never end; terminals and pipes do, and so does /dev/null."""
    try:
        state = os.fstat(handle.fileno())
    except (OSError, ValueError):  # not a file of the system
        return
    null = Path(os.devnull).stat()
    if stat.S_ISCHR(state.st_mode) and not handle.isatty() and state.st_rdev != null.st_rdev:
        raise PrismError(f"{name} is a device, not a text")


def _spool(handle: IO[bytes]) -> Callable[[], IO[bytes]]:
    """Copy everything to an unnamed temporary file; the result opens a reader for it."""
    copy = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
    shutil.copyfileobj(handle, copy, _BUFFER)
    lock = threading.Lock()
    return lambda: io.BufferedReader(_SharedReader(copy, lock), _BUFFER)


class _SharedReader(io.RawIOBase):
    """One of several readers of an unnamed file, which has a single position: each reader keeps its own."""

    def __init__(self, file: Any, lock: threading.Lock) -> None:
        self._file = file
        self._lock = lock
        self._place = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._lock:
            self._file.seek(self._place)
            size = int(self._file.readinto(buffer))
        self._place += size
        return size
