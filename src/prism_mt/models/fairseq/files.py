"""The four files of the original layout, in a folder or a tar file, and its dictionary format."""

import lzma
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from prism_mt._core.errors import PrismError

CHECKPOINT = "checkpoint.pt"
SENTENCEPIECE = "spm.model"
SOURCE_DICTIONARY = "dict.src.txt"
TARGET_DICTIONARY = "dict.tgt.txt"
FILES = (CHECKPOINT, SENTENCEPIECE, SOURCE_DICTIONARY, TARGET_DICTIONARY)
"""In the order used by the digest."""
TAR_SUFFIXES = (".tar", ".tar.gz", ".tgz")
SPECIAL_PIECES = ("<s>", "<pad>", "</s>", "<unk>")
"""Ids 0 to 3, which no dictionary file lists."""

_BLOCK = 1 << 20
_RATIO, _SLACK = 100, 1 << 26
"""Maximum size of a model relative to its archive, plus a few bytes: weights hardly compress."""
_OVERWRITE = " #fairseq:overwrite"


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A folder with the four files: the path itself, or a temporary one for a tar file."""
    if path.is_dir():
        _require(path, [name for name in FILES if (path / name).is_file()])
        yield path
        return
    # A checkpoint that is still mapped cannot be removed on every system; elsewhere it is freed with the last view.
    with tempfile.TemporaryDirectory(prefix="prism-", ignore_cleanup_errors=True) as made:
        try:
            _unpack(path, Path(made))
            yield Path(made)
        except PrismError as error:
            raise PrismError(str(error).replace(made, str(path))) from error


def _unpack(path: Path, folder: Path) -> None:
    for name, block in blocks(path):
        try:
            with open(folder / name, "ab") as file:
                file.write(block)
        except OSError as error:
            raise PrismError(f"cannot unpack {path} into {folder.parent}: {error.strerror}") from error


def blocks(path: Path) -> Iterator[tuple[str, bytes]]:
    """The content of the four files in order, from a folder or directly from a tar file, with their names."""
    try:
        if path.is_dir():
            _require(path, [name for name in FILES if (path / name).is_file()])
            for name in FILES:
                with open(path / name, "rb") as file:
                    while block := file.read(_BLOCK):
                        yield name, block
            return
        with tarfile.open(path) as tar:
            members = _members(path, tar)
            for name in FILES:
                stream = tar.extractfile(members[name])
                assert stream is not None, "regular files have a stream"
                while block := stream.read(_BLOCK):
                    yield name, block
    except PrismError:
        raise
    # Absurd headers make tarfile fail on the numbers and strings in them.
    except (
        tarfile.TarError,
        EOFError,
        zlib.error,
        lzma.LZMAError,
        ValueError,
        OverflowError,
        MemoryError,
    ) as error:
        raise PrismError(f"{path} is damaged, incompletely downloaded, or not a tar file") from error
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror or error}") from error


def _members(path: Path, tar: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    """The four files at the top of a tar file or in one folder there; nothing else is touched."""
    found: dict[str, tarfile.TarInfo] = {}
    left = path.stat().st_size * _RATIO + _SLACK
    for member in tar:
        left -= member.size
        if left < 0 or member.size < 0:
            raise PrismError(f"{path} would be far larger when unpacked: it is not a model")
        place = PurePosixPath(member.name)
        if place.name not in FILES or len(place.parts) > 2:
            continue
        if not member.isreg() or member.issparse():  # a sparse file can be far larger than the tar file
            raise PrismError(f"{path}: {member.name} is not a regular file")
        if place.name in found:
            raise PrismError(f"{path} has two files {place.name}: pack one model alone")
        found[place.name] = member
    _require(path, list(found))
    return found


def _require(path: Path, present: Sequence[str]) -> None:
    missing = [name for name in FILES if name not in present]
    if missing:
        raise PrismError(f"the model {path} lacks {', '.join(missing)}")


def read_dictionary(path: Path) -> tuple[str, ...]:
    """Pieces by id: the special ones, then those of the file, whose lines are a piece and a count."""
    pieces = list(SPECIAL_PIECES)
    ids = {piece: index for index, piece in enumerate(pieces)}
    try:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                text = line.rstrip()
                overwrite = text.endswith(_OVERWRITE)
                piece, space, count = text.removesuffix(_OVERWRITE).rpartition(" ")
                if not space or not piece or not count.isdecimal():
                    raise PrismError(f"{path}, line {number}: expected a piece, a space and a count, got {text!r}")
                if piece in ids:
                    if not overwrite:
                        raise PrismError(f"{path}, line {number}: {piece!r} is a duplicate")
                    # The later id counts. With a space in it, the earlier entry can no longer be found.
                    pieces[ids[piece]] += " (overwritten)"
                ids[piece] = len(pieces)
                pieces.append(piece)
    except UnicodeDecodeError as error:
        raise PrismError(f"{path} is not UTF-8: undecodable byte at offset {error.start}") from error
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror}") from error
    return tuple(pieces)
