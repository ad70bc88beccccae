"""Public data of the studies: the catalog, the folder that holds it, and how it is fetched."""

import os
import shutil
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from prism_mt._core.download import download
from prism_mt._core.environment import cache_folder, make_cache_folder
from prism_mt._core.errors import PrismError
from prism_mt._core.files import sha256_of
from prism_mt._core.options import load_toml
from prism_mt.evaluation.studies.published import FOLDER

DataState = Literal["there", "changed", "instead", "missing"]
"""`changed`: not the file whose digest is known. `instead`: a public archive serves in its place."""
_PLACES = ("", "judgments")
"""Where in a data folder a file may be."""


@dataclass(frozen=True)
class DataFile:
    """A file that studies read."""

    name: str
    what: str
    size: int
    sha256: str
    sources: list[str]
    """Public repositories that its content comes from, with commit and license."""
    instead: str = ""
    """A folder of a public archive that holds the same and is read where the file is missing."""


@dataclass(frozen=True)
class Archive:
    """A public archive that can be fetched, identified by a digest or by the commit that Git writes into it."""

    name: str
    what: str
    url: str
    size: int = 0
    sha256: str = ""
    commit: str = ""


@dataclass(frozen=True)
class Catalog:
    """All public data of the studies."""

    files: list[DataFile]
    archives: list[Archive]

    def file(self, name: str) -> DataFile:
        """Return the entry of a file."""
        return next(file for file in self.files if file.name == name)

    def archive_of(self, file: DataFile) -> Archive | None:
        """Return the archive that can serve in the place of a file."""
        name = file.instead.partition("/")[0]
        return next((archive for archive in self.archives if archive.name == name), None)


@cache
def catalog() -> Catalog:
    """Read the catalog that comes with the package."""
    return load_toml(FOLDER / "data.toml", Catalog)


def default_data_folder() -> Path:
    """Return the folder of public data: `PRISM_DATA`, or `data` in the user's cache."""
    return Path(os.environ.get("PRISM_DATA") or cache_folder() / "data")


class DataFolder:
    """A folder with public data, the files in it or in its `judgments`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def has(self, name: str) -> bool:
        """Whether a file is there, or what serves in its place."""
        return self._locate(name) is not None

    def find(self, name: str) -> Path:
        """Return the path of a file, or of the folder that serves in its place."""
        found = self._locate(name)
        if found is None:
            raise PrismError(missing_file(name, self.path))
        return found

    def state(self, name: str) -> DataState:
        """Compare a file with its digest."""
        found = self._locate(name)
        if found is None:
            return "missing"
        if found.is_dir():
            return "instead"
        return "there" if sha256_of(found) == catalog().file(name).sha256 else "changed"

    def _locate(self, name: str) -> Path | None:
        file = catalog().file(name)
        places = [self.path / place / name for place in _PLACES]
        if file.instead:
            places.append(self.path / file.instead)
        return next((place for place in places if place.exists()), None)


def missing_file(name: str, folder: Path) -> str:
    """Say in one sentence where a missing file comes from and how to get it."""
    file = catalog().file(name)
    archive = catalog().archive_of(file)
    if archive is not None:
        remedy = f"`prism data get {archive.name} --data {folder}` fetches {file.instead}, which serves as well"
    else:
        remedy = f"`prism data get {name} --from URL --data {folder}` fetches it from a mirror"
    return (
        f"{name} is not in {folder}: it comes from {', '.join(_bare(source) for source in file.sources)}; {remedy}"
    )


def fetch_file(file: DataFile, folder: Path, mirror: str) -> Path:
    """Fetch a file from a mirror and check its digest; an interrupted download resumes."""
    make_cache_folder(folder)
    target = folder / file.name
    download(f"{mirror.rstrip('/')}/{file.name}", target)
    if (found := sha256_of(target)) != file.sha256:
        target.unlink()  # what is damaged would be found damaged again
        raise PrismError(f"{mirror}: {file.name} is not the file of the catalog: sha256 {found}")
    return target


def fetch_archive(archive: Archive, folder: Path) -> Path:
    """Fetch an archive, check what identifies it, and unpack it into `<folder>/<name>`."""
    make_cache_folder(folder)
    packed, target = folder / f"{archive.name}.tgz", folder / archive.name
    if target.exists():
        return target
    if not packed.exists():
        download(archive.url, packed)
    try:
        _identify(archive, packed)
        _unpack(packed, target)
    except (tarfile.TarError, EOFError, OSError) as error:
        packed.unlink(missing_ok=True)
        [reason, *_] = str(error).splitlines() or [type(error).__name__]
        raise PrismError(f"{archive.url} is damaged ({reason}): the same command fetches it again") from error
    packed.unlink()
    return target


def _identify(archive: Archive, packed: Path) -> None:
    if archive.sha256 and (found := sha256_of(packed)) != archive.sha256:
        packed.unlink()
        raise PrismError(f"{archive.url} is not the archive of the catalog: sha256 {found}")
    if archive.commit:
        with tarfile.open(packed) as tar:
            found = tar.pax_headers.get("comment", "")
        if found != archive.commit:
            packed.unlink()
            raise PrismError(f"{archive.url} is not of commit {archive.commit}, but of {found or 'none'}")


def _unpack(packed: Path, target: Path) -> None:
    """Unpack the one folder of an archive under another name; what was unpacked in part is thrown away."""
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(packed) as tar:
        tar.extractall(partial, filter="data")
    inner = list(partial.iterdir())
    if len(inner) == 1 and inner[0].is_dir():
        inner[0].rename(target)
        partial.rmdir()
    else:
        partial.rename(target)


def _bare(source: str) -> str:
    return source.partition("@")[0]
