"""Locks on files and directories that only one process at a time may write to."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from prism_mt._core.errors import PrismError

_NAME = ".lock"


def lock_file(handle: IO[bytes], busy: str) -> None:
    """Lock an open file until it is closed; if another process holds it, fail at once with the sentence `busy`.

    The system releases the locks of a process that dies. On systems without such locks nothing is locked.
    """
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PrismError(busy) from error


@contextlib.contextmanager
def lock_folder(folder: Path, what: str) -> Iterator[None]:
    """Hold a lock on a directory, creating it if necessary; a leftover `.lock` file is harmless."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = open(folder / _NAME, "wb")  # noqa: SIM115
    except OSError as error:
        raise PrismError(f"cannot write {folder / _NAME}: {error.strerror}") from error
    with handle:
        lock_file(handle, f"another process is {what} in {folder}: wait for it, or choose another output")
        yield
