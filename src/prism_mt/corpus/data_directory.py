"""Binarized training data: memory-mapped arrays of pieces, written once and read by every training process.

A data directory holds `spm.model`, `meta.json` and per shard two arrays:

    NAME.tokens.npy   all pieces without special tokens: source and then target of row 0, of row 1, …
    NAME.index.npy    (rows, 5) int64: offset of the first piece, source length, target length, and the
                      positions of the source's and the target's language in `languages` of `meta.json`

Each pair is stored once. A row with an empty source is a single sentence, for language models and denoising.

If sources have their own vocabulary, `spm.source.model`, both texts are also stored in its pieces, because each pair is
used in both directions:

    NAME.source-tokens.npy   pieces of `spm.source.model`, in the same order
    NAME.index.npy           (rows, 8): also the offset there and the lengths of the two texts in these pieces
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.models.spec import Conventions
from prism_mt.text.subwords import Vocabulary

Part = Literal["train", "valid"]
VERSION = 2


def language_tags(vocabulary: Vocabulary, languages: Sequence[str], where: str) -> list[int]:
    """Return the id of each language's tag `<xx>`; the error lists all languages without one."""
    ids = [int(vocabulary.processor.piece_to_id(f"<{language}>")) for language in languages]
    unknown = int(vocabulary.processor.unk_id())
    missing = [language for language, index in zip(languages, ids, strict=True) if index == unknown]
    if missing:
        raise PrismError(f"{where}: the SentencePiece model has no tag <xx> for {', '.join(missing)}")
    check_specials(vocabulary, where)
    return ids


def check_specials(vocabulary: Vocabulary, where: str) -> None:
    """Fail unless the special pieces have the conventional ids."""
    processor, usual = vocabulary.processor, Conventions()
    specials = (int(processor.pad_id()), int(processor.eos_id()), int(processor.unk_id()))
    if specials != (usual.pad, usual.eos, usual.unknown):
        raise PrismError(
            f"{where}: padding, end and unknown pieces of the SentencePiece model must have the ids "
            f"{usual.pad}, {usual.eos} and {usual.unknown}, not {', '.join(map(str, specials))}"
        )


@dataclass(frozen=True)
class Meta:
    """The content of `meta.json`."""

    languages: tuple[str, ...]
    vocabulary: int
    source_vocabulary: int | None
    """Size of the source vocabulary, if sources have their own."""
    pairs: dict[str, int]
    shards: tuple[str, ...]
    valid: tuple[str, ...]


def digest_data(folder: Path) -> str:
    """Hash the vocabulary, languages and shards of a data directory."""
    digest = hashlib.sha256()
    own = ("spm.source.model",) if read_meta(folder).source_vocabulary else ()
    for name in ("spm.model", "meta.json", *own):
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
            None if table["source_vocabulary"] is None else int(table["source_vocabulary"]),
            dict(table["pairs"]),
            tuple(table["shards"]),
            tuple(table["valid"]),
        )
    except FileNotFoundError as error:
        raise PrismError(
            f"{folder} is not a data directory: it has no meta.json (see `prism corpus prepare`)"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise PrismError(f"{path} is damaged: {error}") from error


def read_vocabularies(folder: Path) -> tuple[Vocabulary, Vocabulary]:
    """Read the subword vocabularies of sources and targets; the same object if they share one."""
    meta = read_meta(folder)
    target = _vocabulary(folder / "spm.model", meta.vocabulary)
    if meta.source_vocabulary is None:
        return target, target
    return _vocabulary(folder / "spm.source.model", meta.source_vocabulary), target


def _vocabulary(path: Path, expected: int) -> Vocabulary:
    try:
        vocabulary = Vocabulary(path.read_bytes())
    except OSError as error:
        raise PrismError(f"cannot read {path}: {error.strerror}") from error
    if len(vocabulary) != expected:
        raise PrismError(
            f"{path} has {len(vocabulary)} pieces, but the shards beside it were made with {expected}"
        )
    return vocabulary


class ShardDataset:
    """All rows of the training or validation part, as one list."""

    def __init__(self, folder: Path, part: Part = "train") -> None:
        self.folder = folder
        self.meta = read_meta(folder)
        names = self.meta.shards if part == "train" else self.meta.valid
        self._own_source = self.meta.source_vocabulary is not None
        self._tokens = [_load(folder / f"{name}.tokens.npy") for name in names]
        self._source_tokens = [_load(folder / f"{name}.source-tokens.npy") for name in names if self._own_source]
        self._index = [_load(folder / f"{name}.index.npy") for name in names]
        self._check_index(names)
        self._first = np.cumsum([0, *(len(index) for index in self._index)])

    def _check_index(self, names: Sequence[str]) -> None:
        """A damaged index would give foreign pieces, or none."""
        sides = [(self._tokens, 0), *([(self._source_tokens, 5)] if self._own_source else [])]
        for shard, (name, index) in enumerate(zip(names, self._index, strict=True)):
            fits = (
                index.ndim == 2 and index.shape[1] == (8 if self._own_source else 5) and index.dtype.kind in "iu"
            )
            fits = fits and bool((index >= 0).all()) and bool((index[:, 3:5] < len(self.meta.languages)).all())
            for tokens, column in sides if fits else ():
                pieces = tokens[shard]
                ends = index[:, column : column + 3].astype(np.int64).sum(1)
                fits = (
                    fits and pieces.ndim == 1 and pieces.dtype.kind in "iu" and ends.max(initial=0) <= len(pieces)
                )
            if not fits:
                raise PrismError(f"the shard {self.folder / name} is damaged: prepare the corpus again")

    def __len__(self) -> int:
        return int(self._first[-1])

    @property
    def languages(self) -> NDArray[np.int32]:
        """(2, rows): indices of the languages in `meta.languages`."""
        return np.stack([self._column(3), self._column(4)])

    @property
    def target_lengths(self) -> NDArray[np.int32]:
        """(2, rows): lengths of both texts in target pieces."""
        return np.stack([self._column(1), self._column(2)])

    @property
    def source_lengths(self) -> NDArray[np.int32]:
        """(2, rows): lengths of both texts in source pieces."""
        return np.stack([self._column(6), self._column(7)]) if self._own_source else self.target_lengths

    def pair(self, row: int) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """Both texts in target pieces."""
        return self._pair(row, self._tokens, 0)

    def pair_as_sources(self, row: int) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """Both texts in source pieces."""
        return self._pair(row, self._source_tokens, 5) if self._own_source else self.pair(row)

    def _pair(
        self, row: int, tokens: Sequence[NDArray[Any]], column: int
    ) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """The texts whose offset and lengths start at the given index column."""
        shard = int(np.searchsorted(self._first, row, side="right")) - 1
        found = self._index[shard][row - self._first[shard], column : column + 3]
        start, first, second = (int(value) for value in found)
        pieces = tokens[shard][start : start + first + second]
        return pieces[:first], pieces[first:]

    def _column(self, number: int) -> NDArray[np.int32]:
        parts = [index[:, number].astype(np.int32) for index in self._index]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)


def _load(path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r")
        return array
    except Exception as error:  # numpy reads a damaged header as a Python expression, which can fail in many ways
        raise PrismError(f"cannot read the shard {path}: {error}") from error
