"""Manifests of derived directories: size, times and SHA-256 of every file, so that damage is detected on opening."""

import contextlib
import dataclasses
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.files import sha256_of
from prism_mt._core.options import from_table

MANIFEST = "manifest.json"
State = Literal["intact", "changed", "decayed"]
"""`decayed`: the content changed although sizes and times did not, so earlier runs may have trusted bad data."""

_TRUSTED_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class Stamp:
    """Tells without reading a file whether it has been written since."""

    size: int
    modified: int
    changed: int
    """The inode's change time, which nobody can set."""


@dataclass(frozen=True)
class FileEntry:
    """One file of a directory."""

    stamp: Stamp
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """All files of a directory at the last full verification."""

    verified: float
    files: dict[str, FileEntry]


def write_manifest(folder: Path) -> None:
    """Describe all files of a directory as they are now."""
    files = {path.name: FileEntry(_stamp(path), sha256_of(path)) for path in _files(folder)}
    _save(Manifest(time.time(), files), folder)


def check_manifest(folder: Path, thorough: bool = False) -> State:
    """Compare a directory with its manifest.

    If sizes and times match a verification of the last 24 hours, the directory is trusted unless `thorough`; otherwise
    every file is hashed.
    """
    try:
        known = from_table(json.loads((folder / MANIFEST).read_bytes()), Manifest, MANIFEST)
        stamps = {path.name: _stamp(path) for path in _files(folder)}
        if {name: stamp.size for name, stamp in stamps.items()} != _sizes(known):
            return "changed"
        untouched = all(known.files[name].stamp == stamp for name, stamp in stamps.items())
        recent = 0 <= time.time() - known.verified < _TRUSTED_SECONDS
        if untouched and recent and not thorough:
            return "intact"
        files = {name: FileEntry(stamp, sha256_of(folder / name)) for name, stamp in stamps.items()}
    except (OSError, ValueError, TypeError, RecursionError, PrismError):
        return "changed"
    if any(known.files[name].sha256 != entry.sha256 for name, entry in files.items()):
        return "decayed" if untouched else "changed"
    if not (untouched and recent):
        _renew(Manifest(time.time(), files), folder)
    return "intact"


def _renew(manifest: Manifest, folder: Path) -> None:
    with contextlib.suppress(OSError):  # a read-only cache is hashed every time
        _save(manifest, folder)


def _save(manifest: Manifest, folder: Path) -> None:
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.manifest")
    partial.write_text(json.dumps(dataclasses.asdict(manifest), indent=1), encoding="utf-8")
    os.replace(partial, folder / MANIFEST)


def _sizes(manifest: Manifest) -> dict[str, int]:
    return {name: entry.stamp.size for name, entry in manifest.files.items()}


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != MANIFEST)


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns)
