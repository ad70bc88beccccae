"""Binarised training data: memory-mapped arrays of pieces, written once and read by every training process.

A data directory holds `spm.model`, `meta.json` and per shard two arrays:

    NAME.tokens.npy   all pieces without special tokens: source and then target of row 0, of row 1, …
    NAME.index.npy    (rows, 5) int64: offset of the first piece, source length, target length, and the
                      positions of the source's and the target's language in `languages` of `meta.json`

Each pair is stored once. A row with an empty source is a single sentence, for language models and denoising.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt.models.spec import Conventions
from prism_mt.text.subwords import Vocabulary

Part = Literal["train", "valid"]
VERSION = 1


def language_tags(vocabulary: Vocabulary, languages: Sequence[str], where: str) -> list[int]:
    """The id of each language's tag `<xx>`; fails with all languages that have none."""
    ids = [int(vocabulary.processor.piece_to_id(f"<{language}>")) for language in languages]
    unknown = int(vocabulary.processor.unk_id())
    missing = [language for language, index in zip(languages, ids, strict=True) if index == unknown]
    if missing:
        raise PrismError(f"{where}: the SentencePiece model has no tag <xx> for {', '.join(missing)}")
    processor, usual = vocabulary.processor, Conventions()
    specials = (int(processor.pad_id()), int(processor.eos_id()), unknown)
    if specials != (usual.pad, usual.eos, usual.unknown):
        raise PrismError(
            f"{where}: padding, end and unknown pieces of the SentencePiece model must have the ids "
            f"{usual.pad}, {usual.eos} and {usual.unknown}, not {', '.join(map(str, specials))}"
        )
    return ids


class ShardWriter:
    """Writes a data directory; a context manager, whose end writes `meta.json`, the sign that all is there."""

    def __init__(
        self, folder: Path, sentencepiece: bytes, languages: Sequence[str], shard_tokens: int = 2**25
    ) -> None:
        vocabulary = Vocabulary(sentencepiece)
        language_tags(vocabulary, languages, str(folder))
        self.folder = folder
        self.languages = list(languages)
        self.size = len(vocabulary)
        self.counts: Counter[str] = Counter()
        self._position = {language: index for index, language in enumerate(languages)}
        self._dtype = np.uint16 if self.size <= 2**16 else np.uint32
        self._shard_tokens = shard_tokens
        self._open: dict[Part, _OpenShard] = {"train": _OpenShard(), "valid": _OpenShard()}
        self._written: dict[Part, list[str]] = {"train": [], "valid": []}
        # Until the end the directory must not look complete.
        (folder / "meta.json").unlink(missing_ok=True)
        with write_atomically(folder / "spm.model", "wb") as handle:
            handle.write(sentencepiece)

    def add(
        self, part: Part, source_language: str, target_language: str, source: Sequence[int], target: Sequence[int]
    ) -> None:
        """Add one pair as pieces without special tokens; an empty `source` makes it a single sentence."""
        if not target:
            raise PrismError(f"{self.folder}: a {source_language}-{target_language} pair has an empty target")
        try:
            languages = self._position[source_language], self._position[target_language]
        except KeyError as error:
            raise PrismError(f"{self.folder}: language {error.args[0]} was not announced") from error
        shard = self._open[part]
        shard.rows.append((shard.length, len(source), len(target), *languages))
        shard.pieces.append(np.asarray(source, dtype=np.int64))
        shard.pieces.append(np.asarray(target, dtype=np.int64))
        shard.length += len(source) + len(target)
        if part == "train":
            self.counts[f"{source_language}-{target_language}"] += 1
        if shard.length >= self._shard_tokens:
            self._flush(part)

    def _flush(self, part: Part) -> None:
        shard = self._open[part]
        if not shard.rows:
            return
        tokens = np.concatenate(shard.pieces)
        if len(tokens) and not 0 <= tokens.min() <= tokens.max() < self.size:
            raise PrismError(f"{self.folder}: a piece is outside of the vocabulary of {self.size}")
        name = f"{part}-{len(self._written[part]):05d}"
        _save(self.folder / f"{name}.tokens.npy", tokens.astype(self._dtype))
        _save(self.folder / f"{name}.index.npy", np.array(shard.rows, dtype=np.int64))
        self._written[part].append(name)
        self._open[part] = _OpenShard()

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()

    def close(self) -> None:
        """Write what is left and `meta.json`."""
        self._flush("train")
        self._flush("valid")
        meta = {
            "version": VERSION,
            "languages": self.languages,
            "vocabulary": self.size,
            "pairs": dict(sorted(self.counts.items())),
            "shards": self._written["train"],
            "valid": self._written["valid"],
        }
        with write_atomically(self.folder / "meta.json") as handle:
            json.dump(meta, handle, indent=1)
            handle.write("\n")


class _OpenShard:
    """Rows that wait to be written."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.pieces: list[NDArray[np.int64]] = []
        self.length = 0


def _save(path: Path, array: NDArray[Any]) -> None:
    with write_atomically(path, "wb") as handle:
        np.save(handle, array)


@dataclass(frozen=True)
class Meta:
    """What `meta.json` says."""

    languages: tuple[str, ...]
    vocabulary: int
    pairs: dict[str, int]
    shards: tuple[str, ...]
    valid: tuple[str, ...]


def digest_data(folder: Path) -> str:
    """Identity of a data directory: its pieces, languages and shards."""
    digest = hashlib.sha256()
    for name in ("spm.model", "meta.json"):
        try:
            digest.update((folder / name).read_bytes())
        except OSError as error:
            raise PrismError(f"cannot read {folder / name}: {error.strerror}") from error
    return digest.hexdigest()


def read_meta(folder: Path) -> Meta:
    """Read `meta.json` of a data directory."""
    path = folder / "meta.json"
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        if table["version"] != VERSION:
            raise PrismError(f"{path} is of version {table['version']}; this release reads {VERSION}")
        return Meta(
            tuple(table["languages"]),
            int(table["vocabulary"]),
            dict(table["pairs"]),
            tuple(table["shards"]),
            tuple(table["valid"]),
        )
    except FileNotFoundError as error:
        raise PrismError(
            f"{folder} is no data directory: there is no meta.json (see `prism corpus prepare`)"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PrismError(f"{path} is damaged: {error}") from error


def read_vocabulary(folder: Path) -> Vocabulary:
    """The subwords of a data directory."""
    path = folder / "spm.model"
    try:
        vocabulary = Vocabulary(path.read_bytes())
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror}") from error
    expected = read_meta(folder).vocabulary
    if len(vocabulary) != expected:
        raise PrismError(
            f"{path} has {len(vocabulary)} pieces, but the shards beside it were made with {expected}"
        )
    return vocabulary


class ShardDataset:
    """All rows of the training or the validation part, as if they were one list."""

    def __init__(self, folder: Path, part: Part = "train") -> None:
        self.folder = folder
        self.meta = read_meta(folder)
        names = self.meta.shards if part == "train" else self.meta.valid
        self._tokens = [_load(folder / f"{name}.tokens.npy") for name in names]
        self._index = [_load(folder / f"{name}.index.npy") for name in names]
        self._first = np.cumsum([0, *(len(index) for index in self._index)])

    def __len__(self) -> int:
        return int(self._first[-1])

    def column(self, number: int) -> NDArray[np.int32]:
        """One column of the index over all rows: 1 and 2 are the lengths, 3 and 4 the languages."""
        parts = [index[:, number].astype(np.int32) for index in self._index]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)

    def pair(self, row: int) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """The pieces of the source and of the target."""
        shard = int(np.searchsorted(self._first, row, side="right")) - 1
        start, source, target = (int(value) for value in self._index[shard][row - self._first[shard], :3])
        pieces = self._tokens[shard][start : start + source + target]
        return pieces[:source], pieces[source:]


def _load(path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r")
        return array
    except (OSError, ValueError, EOFError) as error:
        raise PrismError(f"cannot read the shard {path}: {error}") from error
