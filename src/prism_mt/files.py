"""Output files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from prism_mt.errors import PrismError


@contextmanager
def write_atomically(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open `path` for writing; it gets its name only when the block ends without an exception.

    Until then the text is in `<name>.<process>.partial` beside it, which is removed when the block fails.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open(partial, mode, encoding=encoding, newline=newline)  # noqa: SIM115
    except OSError as error:
        raise PrismError(f"cannot write {path}: {error.strerror}") from error
    try:
        with handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise PrismError(f"cannot write {path}: {error.strerror}") from error
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
