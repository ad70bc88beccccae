"""Configuration of `prism corpus prepare`, read from TOML."""

import glob
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from prism_mt._core.errors import PrismError
from prism_mt._core.options import option

Format = Literal["tsv", "jsonl", "moses", "tmx"]


@dataclass(frozen=True)
class SourceConfig:
    """One bitext file, or several matched by a pattern such as `docs_*.jsonl.xz`."""

    path: str = option(
        "file or pattern, relative to `root`; for Moses-style files the common prefix: `news` stands for `news.de` and "
        "`news.en`"
    )
    format: Format | None = option(
        "format; inferred from the file name if omitted; `.gz` and `.xz` are decompressed", None
    )
    languages: list[str] = option("the two languages of Moses-style files", [])
    pairs: list[str] = option("pairs to extract: `de-en`, or `en` for all pairs with English; empty: all", [])
    pairs_per_row: int = option("maximum number of pairs drawn at random from one multi-parallel row; 0: all", 0)
    margin_column: int = option("column of a TSV file, counted from 1, with precomputed margins; 0: none", 0)
    group: str = option("name of this source for `cap` and `sample`; the file name if omitted", "")


@dataclass(frozen=True)
class VocabularyConfig:
    """Training of the shards' SentencePiece model."""

    size: int = option("vocabulary size", 64000)
    kind: Literal["unigram", "bpe"] = option("kind of SentencePiece model", "unigram")
    byte_fallback: bool = option("spell unknown characters as bytes", True)
    character_coverage: float = option("share of characters that get a piece", 0.9995)
    split_digits: bool = option("make every digit a separate piece", False)
    sentences: int = option("sentences to train on", 2_000_000)
    temperature: float = option(
        "language shares are proportional to size ** (1 / temperature): 1 as found, large values nearly equal", 5.0
    )
    model: str = option("SentencePiece model to use instead of training one; relative to `root`", "")
    source_model: str = option(
        "separate SentencePiece model for sources, such as a pretrained encoder's; relative to `root`", ""
    )


@dataclass(frozen=True)
class ShardsConfig:
    """The binarized output."""

    max_pieces: int = option("drop rows with more pieces on either side", 200)
    tokens: int = option("pieces per shard", 2**25)
    valid: int = option(
        "validation rows per language pair; their sentences occur in no training row; 0: no validation", 200
    )
    valid_share: float = option("share of sentences set aside as candidates for validation rows", 0.005)


@dataclass(frozen=True)
class CorpusConfig:
    """The complete configuration."""

    languages: list[str] = option("languages to keep")
    source: list[SourceConfig] = option("tables: the bitext files")
    step: list[dict[str, Any]] = option("tables: the steps, in order, each with its `kind`", [])
    heldout: list[str] = option("files whose sentences must not occur in the output", [])
    root: str = option(
        "base directory of the paths of sources and other files; relative to the configuration file", "."
    )
    output: str = option("output directory; relative to the configuration file", "prepared")
    seed: int = option("random seed", 1, low=0, high=2**63 - 1)
    scale: float = option(
        "for less bitext than the configuration was written for: counts of rows in its steps and sentences of its "
        "vocabulary are multiplied by this, sizes of vocabularies by its square root",
        1.0,
        low=1e-9,
        high=1,
    )
    vocabulary: VocabularyConfig = option("table: the vocabulary", VocabularyConfig())
    shards: ShardsConfig = option("table: the binarized output", ShardsConfig())


@dataclass(frozen=True)
class Source:
    """One source file, or one pair of Moses-style files, found on disk."""

    index: int
    files: tuple[Path, ...]
    format: Format
    config: SourceConfig

    @property
    def name(self) -> str:
        """Group of the source, for shares and caps."""
        return self.config.group or self.files[0].name.split(".")[0]


def find_sources(config: CorpusConfig, root: Path) -> list[Source]:
    """Find the files of the `[[source]]` tables; a pattern without a match is an error."""
    found: list[Source] = []
    for source in config.source:
        if source.margin_column and source.margin_column < 5:
            raise PrismError(f"{source.path}: margin_column must be 5 or more, after the languages and texts")
        if source.languages:
            if len(source.languages) != 2:
                raise PrismError(f"{source.path}: languages must be the two languages of Moses-style files")
            files = tuple(_moses_file(root / f"{source.path}.{language}") for language in source.languages)
            found.append(Source(len(found), files, "moses", replace(source, format="moses")))
            continue
        for path in find_files(source.path, root):
            found.append(Source(len(found), (path,), source.format or guess_format(path), source))
    if not found:
        raise PrismError("the configuration names no source: add a [[source]] table with a path")
    return found


def find_files(pattern: str, root: Path) -> list[Path]:
    """Return the files matching a path or pattern, in alphabetical order."""
    paths = sorted(root / path for path in glob.glob(pattern, root_dir=root))
    if not paths:
        raise PrismError(f"no file matches {root / pattern}: correct the path or set `root=`")
    return paths


def guess_format(path: Path) -> Format:
    """Infer the format from a file name."""
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".xz")]
    kinds: dict[str, Format] = {".tsv": "tsv", ".jsonl": "jsonl", ".tmx": "tmx"}
    kind = kinds.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise PrismError(
            f"{path}: cannot infer the format from the name: set format to tsv, jsonl or tmx, "
            "or languages for Moses-style files"
        )
    return kind


def _moses_file(path: Path) -> Path:
    for suffix in ("", ".gz", ".xz"):
        candidate = path.with_name(path.name + suffix)
        if candidate.exists():
            return candidate
    raise PrismError(f"no file {path} (or .gz, .xz): correct the path or set `root=`")
