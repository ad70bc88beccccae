"""Output files that appear complete or not at all, and digests of files."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from prism_mt._core.errors import PrismError


def path_of(text: str) -> Path:
    """Make a path, with `~` for a home folder."""
    if "\0" in text:
        raise PrismError(f"{text!r} is not a file name: it has a null character")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise PrismError(f"{text!r} refers to a user that does not exist") from error


def path_exists(path: Path) -> bool:
    """Whether something is there; no name is too long or too odd to ask."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


@contextmanager
def write_atomically(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open `path` for writing; it gets its name only when the block ends without an exception.

    Until then the text is in `<name>.<process>.partial` beside it, which is removed when the block fails. A link keeps
    pointing at its file, and a device or pipe is written to as it is.
    """
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    if path.is_dir():
        raise PrismError(f"cannot write {path}: it is a folder")
    if path_exists(path) and not path.is_file():
        with _sentences(path), open(path, mode, encoding=encoding, newline=newline) as handle:
            yield handle
        return
    target = path.resolve() if path.is_symlink() else path
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    with _sentences(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)  # left by a process that was killed, or put there to be followed
        try:
            with open(partial, mode.replace("w", "x"), encoding=encoding, newline=newline) as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(partial, target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content in hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PrismError(f"cannot write {path}: {error.strerror}") from error
