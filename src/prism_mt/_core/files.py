"""Output files that appear complete or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from prism_mt._core.errors import PrismError


@contextmanager
def write_atomically(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open `path` for writing; the file appears under its name only if the block ends without an exception.

    Until then the content is in `<name>.<process>.partial` beside it, which is removed if the block fails. A symbolic
    link keeps pointing at its target, and a device or pipe is written to directly.
    """
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    if path.is_dir():
        raise PrismError(f"cannot write {path}: it is a folder")
    if path.exists() and not path.is_file():
        with _sentences(path), open(path, mode, encoding=encoding, newline=newline) as handle:
            yield handle
        return
    target = path.resolve() if path.is_symlink() else path
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    with _sentences(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(partial, mode, encoding=encoding, newline=newline) as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(partial, target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PrismError(f"cannot write {path}: {error.strerror}") from error
