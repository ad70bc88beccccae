"""The model directory: one layout for every model, whatever it was read from.

config.json          architecture, conventions, languages, size and sha256 of every other file, digest
model.safetensors    weights under the names of `models/spec`, stored as `models/storage` describes
spm.model            SentencePiece model (spm.target.model where the target side has its own)
dictionary.json      pieces by id, where they are not SentencePiece's (dictionary.target.json likewise)
README.md            the card
judged.txt           keys of the segments that it was fine-tuned on, if any
"""

import dataclasses
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt._core.files import sha256_of
from prism_mt._core.options import from_table
from prism_mt.models.model import Model
from prism_mt.models.spec import ModelSpec, check_weights
from prism_mt.models.storage import Storage, pack, unpack
from prism_mt.text.subwords import Vocabulary

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
CARD = "README.md"
JUDGED = "judged.txt"
_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class FileEntry:
    """One file according to config.json."""

    size: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class _ConfigFile:
    """config.json as stored on disk."""

    prism_format: int
    spec: ModelSpec
    files: dict[str, FileEntry]
    digest: str


class ModelDirectory:
    """A model on disk. The configuration is read and checked at once, everything else on request."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        config = _read_config(folder)
        self.spec = config.spec
        self.files = config.files
        self.digest = config.digest
        self._check_sizes()
        if _digest(self.spec, self.files) != self.digest:
            raise PrismError(f"{folder / CONFIG} does not match its digest: it was edited or is damaged")

    @cached_property
    def source(self) -> Vocabulary:
        """Subwords of the source side."""
        return self._vocabulary("", self.spec.architecture.source_vocabulary)

    @cached_property
    def target(self) -> Vocabulary:
        """Subwords of the target side; the same object if both sides share it."""
        if "spm.target.model" not in self.files:
            return self.source
        return self._vocabulary(".target", self.spec.architecture.target_vocabulary)

    @cached_property
    def judged(self) -> frozenset[str]:
        """Keys of the segments that it was fine-tuned on."""
        path = self.folder / JUDGED
        return (
            frozenset(path.read_text(encoding="utf-8", errors="replace").split()) if path.exists() else frozenset()
        )

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """All weights in float32, after checking their hash and names."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = self._verified(WEIGHTS)
        try:
            weights = unpack(load_file(path))
        except (SafetensorError, PrismError) as error:
            raise PrismError(f"{path} is damaged: {error}") from error
        check_weights(self.spec.architecture, weights, str(path))
        return weights

    def load(self) -> Model:
        """The whole model in memory."""
        card = self.folder / CARD
        text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
        return Model(self.spec, self.weights(), self.source, self.target, text, self.judged)

    def verify(self) -> None:
        """Compare every file with its hash; the first difference is an error."""
        for name in self.files:
            self._verified(name)

    def _vocabulary(self, side: str, size: int) -> Vocabulary:
        """A subword vocabulary with as many pieces as the embeddings have rows."""
        model = self._verified(f"spm{side}.model").read_bytes()
        dictionary = f"dictionary{side}.json"
        pieces = _read_pieces(self._verified(dictionary)) if dictionary in self.files else None
        vocabulary = Vocabulary(model, pieces, self.spec.conventions.unknown, words=self.spec.origin == "fairseq")
        if len(vocabulary) != size:
            raise PrismError(
                f"{self.folder} has {len(vocabulary):,} pieces for {size:,} embeddings: convert it again"
            )
        return vocabulary

    def _check_sizes(self) -> None:
        """Find missing or truncated files before anything heavy starts."""
        for name, entry in self.files.items():
            path = self.folder / name
            if Path(name).name != name:
                raise PrismError(f"{self.folder / CONFIG}: {name!r} is not a plain file name")
            if not path.is_file():
                raise PrismError(f"the model {self.folder} lacks its file {name}: download or convert it again")
            if path.stat().st_size != entry.size:
                raise PrismError(
                    f"{path} is damaged: {path.stat().st_size:,} bytes instead of {entry.size:,}; "
                    "get or convert the model again"
                )
        for name in (WEIGHTS, "spm.model"):
            if name not in self.files:
                raise PrismError(f"{self.folder / CONFIG} does not list {name}")

    def _verified(self, name: str) -> Path:
        """Path of a file, after checking its content against config.json."""
        path = self.folder / name
        if sha256_of(path) != self.files[name].sha256:
            raise PrismError(f"{path} is damaged: its SHA-256 differs from the one in {CONFIG}")
        return path


def is_model_directory(path: Path) -> bool:
    """Whether the folder has one of our config.json files (Hugging Face models have a file of that name, too)."""
    try:
        table = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(table, dict) and "prism_format" in table


def write_model(
    model: Model, folder: Path, storage: Storage | Mapping[str, Storage] = "float32"
) -> ModelDirectory:
    """Write a model directory; the folder appears whole or not at all and must not hold something else."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    if folder.exists() and not is_model_directory(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise PrismError(f"{folder} exists and is not a model directory: choose another folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.", suffix=".partial") as made:
            partial = Path(made) / "model"
            partial.mkdir()
            save_file(pack(model.weights, storage), partial / WEIGHTS)
            _write_vocabulary(partial, "", model.source)
            if model.target is not model.source:
                _write_vocabulary(partial, ".target", model.target)
            _write_config(partial, model.spec)
            # safetensors writes files that only their owner can read.
            shutil.copymode(partial / CONFIG, partial / WEIGHTS)
            (partial / CARD).write_text(model.card or f"# {model.spec.name or folder.name}\n", encoding="utf-8")
            if model.judged:
                (partial / JUDGED).write_text("\n".join([*sorted(model.judged), ""]), encoding="utf-8")
            if folder.exists():
                shutil.rmtree(folder)
            os.replace(partial, folder)
    except OSError as error:
        raise PrismError(f"cannot write the model {folder}: {error.strerror}") from error
    except SafetensorError as error:  # its writer hides a full disk behind one of its own
        raise PrismError(f"cannot write the model {folder}: {error}") from error
    return ModelDirectory(folder)


def _write_vocabulary(folder: Path, side: str, vocabulary: Vocabulary) -> None:
    (folder / f"spm{side}.model").write_bytes(vocabulary.sentencepiece)
    if vocabulary.pieces is not None:
        text = json.dumps(list(vocabulary.pieces), ensure_ascii=False, indent=0)
        (folder / f"dictionary{side}.json").write_text(text, encoding="utf-8")


def _write_config(folder: Path, spec: ModelSpec) -> None:
    paths = sorted(folder.iterdir())
    files = {path.name: FileEntry(path.stat().st_size, sha256_of(path)) for path in paths}
    config = _ConfigFile(_FORMAT, spec, files, _digest(spec, files))
    text = json.dumps(dataclasses.asdict(config), indent=2, ensure_ascii=False)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def _read_config(folder: Path) -> _ConfigFile:
    path = folder / CONFIG
    try:
        table: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise PrismError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(table, Mapping) or "prism_format" not in table:
        raise PrismError(f"{path} is not the configuration of a Prism model")
    if table["prism_format"] != _FORMAT:
        raise PrismError(f"{path} has format {table['prism_format']}; this version reads format {_FORMAT}")
    return from_table(table, _ConfigFile, str(path))


def _read_pieces(path: Path) -> tuple[str, ...]:
    try:
        pieces = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise PrismError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise PrismError(f"{path} is not a list of pieces")
    return tuple(pieces)


def _digest(spec: ModelSpec, files: Mapping[str, FileEntry]) -> str:
    """Digest of what changes a score: architecture, conventions, languages and file contents, not the name."""
    content = {
        "architecture": dataclasses.asdict(spec.architecture),
        "conventions": dataclasses.asdict(spec.conventions),
        "languages": spec.languages,
        "files": {name: entry.sha256 for name, entry in files.items()},
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
