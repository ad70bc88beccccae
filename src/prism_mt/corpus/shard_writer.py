"""Writes data directories; `corpus/data_directory` describes their layout."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt._core.files import write_atomically
from prism_mt.corpus.data_directory import VERSION, Part, check_specials, language_tags
from prism_mt.text.subwords import Vocabulary


class ShardWriter:
    """Writes a data directory; a context manager whose exit writes `meta.json`, the sign of a complete directory."""

    def __init__(
        self,
        folder: Path,
        sentencepiece: bytes,
        languages: Sequence[str],
        shard_tokens: int = 2**25,
        source_sentencepiece: bytes | None = None,
    ) -> None:
        """`source_sentencepiece` is the vocabulary of sources, if they have their own."""
        vocabulary = Vocabulary(sentencepiece)
        language_tags(vocabulary, languages, str(folder))
        self.source_size: int | None = None
        if source_sentencepiece is not None:
            source_vocabulary = Vocabulary(source_sentencepiece)
            check_specials(source_vocabulary, str(folder))
            self.source_size = len(source_vocabulary)
        self.folder = folder
        self.languages = list(languages)
        self.size = len(vocabulary)
        self.counts: Counter[str] = Counter()
        self._position = {language: index for index, language in enumerate(languages)}
        self._shard_tokens = shard_tokens
        self._open: dict[Part, _OpenShard] = {"train": _OpenShard(), "valid": _OpenShard()}
        self._written: dict[Part, list[str]] = {"train": [], "valid": []}
        # Until the end, the directory must not look complete.
        (folder / "meta.json").unlink(missing_ok=True)
        for name, model in (("spm.model", sentencepiece), ("spm.source.model", source_sentencepiece)):
            if model is not None:
                with write_atomically(folder / name, "wb") as handle:
                    handle.write(model)

    def add(
        self,
        part: Part,
        source_language: str,
        target_language: str,
        source: Sequence[int],
        target: Sequence[int],
        in_source_pieces: tuple[Sequence[int], Sequence[int]] | None = None,
    ) -> None:
        """Add one pair as pieces without special tokens; an empty `source` makes it a single sentence.

        `in_source_pieces` holds both texts in the source vocabulary, if it is a separate one.
        """
        if (in_source_pieces is None) != (self.source_size is None):
            raise PrismError(f"{self.folder}: a separate source vocabulary needs the texts in its pieces")
        if not target:
            raise PrismError(f"{self.folder}: a {source_language}-{target_language} pair has an empty target")
        try:
            languages = self._position[source_language], self._position[target_language]
        except KeyError as error:
            raise PrismError(f"{self.folder}: language {error.args[0]} was not declared") from error
        shard = self._open[part]
        row: tuple[int, ...] = (*shard.add(source, target), *languages)
        if in_source_pieces is not None:
            row = (*row, *shard.sources.add(*in_source_pieces))
        shard.rows.append(row)
        if part == "train":
            self.counts[f"{source_language}-{target_language}"] += 1
        if shard.length >= self._shard_tokens:
            self._flush(part)

    def _flush(self, part: Part) -> None:
        shard = self._open[part]
        if not shard.rows:
            return
        name = f"{part}-{len(self._written[part]):05d}"
        self._write_pieces(f"{name}.tokens.npy", shard, self.size)
        if self.source_size is not None:
            self._write_pieces(f"{name}.source-tokens.npy", shard.sources, self.source_size)
        _save(self.folder / f"{name}.index.npy", np.array(shard.rows, dtype=np.int64))
        self._written[part].append(name)
        self._open[part] = _OpenShard()

    def _write_pieces(self, name: str, pieces: "_Pieces", size: int) -> None:
        tokens = np.concatenate(pieces.pieces)
        if len(tokens) and not 0 <= tokens.min() <= tokens.max() < size:
            raise PrismError(f"{self.folder}: a piece id exceeds the vocabulary of {size}")
        _save(self.folder / name, tokens.astype(np.uint16 if size <= 2**16 else np.uint32))

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()

    def close(self) -> None:
        """Write the remaining rows and `meta.json`."""
        self._flush("train")
        self._flush("valid")
        meta = {
            "version": VERSION,
            "languages": self.languages,
            "vocabulary": self.size,
            "source_vocabulary": self.source_size,
            "pairs": dict(sorted(self.counts.items())),
            "shards": self._written["train"],
            "valid": self._written["valid"],
        }
        with write_atomically(self.folder / "meta.json") as handle:
            json.dump(meta, handle, indent=1)
            handle.write("\n")


class _Pieces:
    """Pieces waiting to be written."""

    def __init__(self) -> None:
        self.pieces: list[NDArray[np.int64]] = []
        self.length = 0

    def add(self, source: Sequence[int], target: Sequence[int]) -> tuple[int, int, int]:
        """Add two texts; return their offset and lengths."""
        start = self.length
        self.pieces += [np.asarray(side, dtype=np.int64) for side in (source, target)]
        self.length += len(source) + len(target)
        return start, len(source), len(target)


class _OpenShard(_Pieces):
    """Rows waiting to be written, and their pieces in the source vocabulary."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[int, ...]] = []
        self.sources = _Pieces()


def _save(path: Path, array: NDArray[Any]) -> None:
    with write_atomically(path, "wb") as handle:
        np.save(handle, array)
