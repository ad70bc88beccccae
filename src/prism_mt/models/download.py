"""Download of catalog models: only when asked, resumable, checked before use."""

import http.client
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

from prism_mt._core.environment import make_cache_folder
from prism_mt._core.errors import PrismError
from prism_mt._core.progress import counter
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.fairseq import reader as fairseq
from prism_mt.models.zoo import KnownModel

_BLOCK = 1 << 20


def fetch(known: KnownModel, folder: Path, address: str) -> ModelDirectory:
    """Download the archive beside `folder`, compare its digest with the catalog's, convert it into `folder`."""
    archive = folder.with_name(f"{known.name}.tar")
    if not archive.exists():
        _download(address, archive)
    try:
        found = f"md5:{fairseq.digest(archive)}"
        if known.digest and found != known.digest:
            raise PrismError(f"{address} is not the catalog's {known.name}: {found} instead of {known.digest}")
        model = fairseq.read(archive)
    except PrismError:
        archive.unlink()  # what is damaged would be found damaged again
        raise
    made = write_model(replace(model, spec=replace(model.spec, name=known.name)), folder)
    archive.unlink()
    return made


def _download(address: str, path: Path) -> None:
    """Fetch into `<name>.partial`, going on where an earlier attempt stopped."""
    partial = path.with_name(f"{path.name}.partial")
    make_cache_folder(path.parent)
    start = partial.stat().st_size if partial.exists() else 0
    try:
        request = urllib.request.Request(address, headers={"Range": f"bytes={start}-"} if start else {})
        with urllib.request.urlopen(request, timeout=60) as answer:
            resumed = answer.status == 206
            total = (start if resumed else 0) + int(answer.headers.get("Content-Length") or 0)
            with (
                open(partial, "ab" if resumed else "wb") as file,
                counter("downloading", total // _BLOCK) as advance,
            ):
                while block := answer.read(_BLOCK):
                    file.write(block)
                    advance()
    except urllib.error.HTTPError as error:
        if error.code != 416 or not start:  # 416: nothing is left to fetch
            raise PrismError(f"cannot download {address}: {error}") from error
        total = start
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise PrismError(
            f"cannot download {address}: {error}; the same command goes on where it stopped"
        ) from error
    if total and partial.stat().st_size != total:
        raise PrismError(f"{address} ended early: the same command goes on where it stopped")
    partial.rename(path)
