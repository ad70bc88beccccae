"""Download models in the catalog: only on request, resumable, verified before use."""

from dataclasses import replace
from pathlib import Path

from prism_mt._core.download import download
from prism_mt._core.environment import make_cache_folder
from prism_mt._core.errors import PrismError
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.fairseq import reader as fairseq
from prism_mt.models.zoo import KnownModel


def fetch(known: KnownModel, folder: Path, address: str) -> ModelDirectory:
    """Download the archive beside `folder`, compare its digest with the catalog's, convert it into `folder`."""
    archive = folder.with_name(f"{known.name}.tar")
    if not archive.exists():
        make_cache_folder(archive.parent)
        download(address, archive)
    try:
        found = f"md5:{fairseq.digest(archive)}"
        if known.digest and found != known.digest:
            raise PrismError(f"{address} is not the catalog's {known.name}: {found} instead of {known.digest}")
        model = fairseq.read(archive)
    except PrismError:
        archive.unlink()  # a damaged file would be found damaged again
        raise
    made = write_model(replace(model, spec=replace(model.spec, name=known.name)), folder)
    archive.unlink()
    return made
