"""Directories that only one process at a time may write to."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from prism_mt._core.errors import PrismError

_NAME = ".lock"


@contextlib.contextmanager
def lock_folder(folder: Path, what: str) -> Iterator[None]:
    """Hold a lock on a directory, creating it if necessary; fail at once if another process holds it.

    The system releases the lock of a process that dies, so a leftover `.lock` file is harmless. On systems without
    such locks nothing is locked.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = open(folder / _NAME, "wb")  # noqa: SIM115
    except OSError as error:
        raise PrismError(f"cannot write {folder / _NAME}: {error.strerror}") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PrismError(
                f"another process is {what} in {folder}: wait for it, or choose another output"
            ) from error
        yield
