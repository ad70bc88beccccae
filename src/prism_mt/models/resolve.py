"""Resolve a model's name to its directory: a path, a name in the catalog, or `hf:ORG/NAME`.

Foreign models are converted once and kept in the cache under the digest of their files.
"""

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from prism_mt._core.environment import cache_folder, make_cache_folder
from prism_mt._core.errors import PrismError
from prism_mt._core.files import path_exists, path_of, write_atomically
from prism_mt._core.options import near
from prism_mt.models import zoo
from prism_mt.models.directory import ModelDirectory, is_model_directory, write_model
from prism_mt.models.model import Model

DEFAULT_MODEL = "mini"
EMBEDDED = (DEFAULT_MODEL,)
"""The models that come with the package."""

_LOG = logging.getLogger("prism_mt")


def open_model(name: str, offline: bool = False) -> ModelDirectory:
    """Return the directory of the model called `name`. Only `hf:` names may use the network."""
    if name.startswith("hf:"):
        from prism_mt.models import huggingface

        return _converted(huggingface.fetch(name[3:], offline=offline))
    if name in EMBEDDED:
        return ModelDirectory(embedded(name))
    path = path_of(name)
    if path_exists(path):
        return ModelDirectory(path) if is_model_directory(path) else _converted(path)
    if is_model_directory(downloaded(name)):
        return ModelDirectory(downloaded(name))
    known = zoo.find(name)
    if known and known.downloadable:
        raise PrismError(f"the model {name} is not on this machine: fetch it with `prism models get {name}`")
    if known:
        return open_model(known.source, offline)
    names = [model.name for model in zoo.CATALOG]
    hint = near(name, names)
    raise PrismError(f"no model {name!r}: use a folder, hf:ORG/NAME, or one of {', '.join(names)}{hint}")


def is_here(known: zoo.KnownModel) -> bool:
    """Whether a model in the catalog can be used without the network."""
    if known.name in EMBEDDED or is_model_directory(downloaded(known.name)):
        return True
    from prism_mt.models import huggingface

    return known.source.startswith("hf:") and huggingface.is_fetched(known.source[3:])


def read_foreign(path: Path) -> Model:
    """Read a model from another toolkit: the original layout (folder or tar) or a Hugging Face folder."""
    from prism_mt.models import huggingface
    from prism_mt.models.fairseq import reader as fairseq

    if fairseq.is_fairseq(path):
        return fairseq.read(path)
    if huggingface.is_huggingface(path):
        return huggingface.read(path)
    raise PrismError(
        f"{path} is not a model: expected config.json with model.safetensors (Prism or Hugging Face), "
        "or checkpoint.pt with spm.model, dict.src.txt and dict.tgt.txt (original layout, folder or tar)"
    )


def embedded(name: str = DEFAULT_MODEL) -> Path:
    """Where the package keeps one of its own models."""
    return Path(__file__).parent.parent / "assets" / name


def downloaded(name: str) -> Path:
    """Where `prism models get NAME` puts a model."""
    return cache_folder() / "models" / name


def _converted(path: Path) -> ModelDirectory:
    """The converted form of a foreign model, converted now unless its files are unchanged since."""
    stamp = _stamp(path)
    record = cache_folder() / "models" / "converted.json"
    known: dict[str, str] = _read_record(record)
    folder = cache_folder() / "models" / known.get(stamp, "?")
    if stamp in known and is_model_directory(folder):
        return ModelDirectory(folder)
    _LOG.info("converting %s", path)
    with contextlib.suppress(OSError):  # reported when the model is written
        make_cache_folder(record.parent)
    model = read_foreign(path)
    made = write_model(model, cache_folder() / "models" / f".new-{os.getpid()}")
    # The digest covers what changes a score; here the translated languages and the name matter, too.
    spec = hashlib.sha256(json.dumps(dataclasses.asdict(made.spec), sort_keys=True).encode()).hexdigest()
    folder = made.folder.with_name(f"{made.digest[:24]}-{spec[:8]}")
    if is_model_directory(folder):
        shutil.rmtree(made.folder)
    else:
        made.folder.rename(folder)
    _update_record(record, lambda table: table | {stamp: folder.name})
    return ModelDirectory(folder)


def _stamp(path: Path) -> str:
    """Path, size and time of every file, which show without reading gigabytes that nothing has changed."""
    files = [path] if path.is_file() else sorted(file for file in path.iterdir() if file.is_file())
    return json.dumps([[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in files])


def _read_record(record: Path) -> dict[str, str]:
    try:
        table = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def _update_record(record: Path, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    with write_atomically(record) as handle:
        json.dump(change(_read_record(record)), handle, indent=1)
