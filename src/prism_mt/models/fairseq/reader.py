"""Models in the layout of the original Prism: a fairseq checkpoint with its SentencePiece model and dictionaries.

Neither fairseq nor torch is needed, and nothing that the checkpoint contains is run.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.models.fairseq import pickles
from prism_mt.models.fairseq.files import (
    CHECKPOINT,
    FILES,
    SENTENCEPIECE,
    SOURCE_DICTIONARY,
    TAR_SUFFIXES,
    TARGET_DICTIONARY,
    blocks,
    read_dictionary,
    unpacked,
)
from prism_mt.models.fairseq.options import Options, describe
from prism_mt.models.fairseq.weights import Arrays, rename, tie, to_float32
from prism_mt.models.model import Model
from prism_mt.models.spec import Architecture, Conventions, ModelSpec, check_weights
from prism_mt.text.subwords import Vocabulary

# Two or three letters are a language, except for the names of special symbols elsewhere.
_TAG = re.compile(r"<(?!(?:pad|unk|bos|eos|sep|cls)>)([a-z]{2,3})>")


def is_fairseq(path: Path) -> bool:
    """Whether the path looks like the original layout: a folder with one of its own files, or a tar file."""
    if path.is_dir():
        return any((path / name).is_file() for name in FILES if name != SENTENCEPIECE)
    return path.is_file() and path.name.endswith(TAR_SUFFIXES)


def digest(path: Path) -> str:
    """The original tool's digest of a model: MD5 over the four files in order."""
    md5 = hashlib.md5(usedforsecurity=False)
    for _, block in blocks(path):
        md5.update(block)
    return md5.hexdigest()


def read(path: Path) -> Model:
    """Read the model in a folder or tar file; float32 weights stay read-only views of the mapped checkpoint."""
    with unpacked(path) as folder:
        source, target = _vocabularies(folder)
        languages = {found[1]: index for piece, index in target.ids.items() if (found := _TAG.fullmatch(piece))}
        if not languages:
            raise PrismError(f"{folder / TARGET_DICTIONARY} has no language tag such as <en>: not a Prism model")
        architecture, weights = _checkpoint(folder / CHECKPOINT, source, target)
        name = path.resolve().name
        for suffix in TAR_SUFFIXES:
            name = name.removesuffix(suffix)
        spec = ModelSpec(
            architecture,
            Conventions(),
            dict(sorted(languages.items())),
            name=name,
            origin="fairseq",
            origin_digest=digest(folder),
        )
        return Model(spec, weights, source, target)


def _vocabularies(folder: Path) -> tuple[Vocabulary, Vocabulary]:
    model = (folder / SENTENCEPIECE).read_bytes()
    pieces = [read_dictionary(folder / name) for name in (SOURCE_DICTIONARY, TARGET_DICTIONARY)]
    source = Vocabulary(model, pieces[0], Conventions().unknown, words=True)
    try:
        usable = bool(model) and source.processor.get_piece_size() > 0
    except PrismError:
        usable = False
    if not usable:
        raise PrismError(f"{folder / SENTENCEPIECE} is damaged: it is not a SentencePiece model")
    return source, source if pieces[0] == pieces[1] else Vocabulary(
        model, pieces[1], Conventions().unknown, words=True
    )


def _checkpoint(
    path: Path, source: Vocabulary, target: Vocabulary
) -> tuple[Architecture, dict[str, NDArray[np.float32]]]:
    """Read architecture and weights; one error reports everything that is unsupported."""
    checkpoint = pickles.load_torch(path)
    if not isinstance(checkpoint, Mapping) or not isinstance(checkpoint.get("model"), Mapping):
        raise PrismError(f"{path} is not a fairseq checkpoint: it has no model in it")
    options = Options(checkpoint, path)
    unknown: list[str] = []
    weights = rename(checkpoint["model"], unknown)
    problems = _dictionary_problems(options, weights, source, target)
    architecture = describe(options, weights, problems)
    problems += unknown
    shared = bool(options.get("share_all_embeddings"))
    tie(weights, shared, bool(options.get("share_decoder_input_output_embed")), problems)
    if problems or architecture is None:
        raise PrismError(f"{path} has unsupported features: {'; '.join(problems)}")
    converted = to_float32(weights, architecture.max_positions)
    check_weights(architecture, converted, str(path))
    return architecture, converted


def _dictionary_problems(options: Options, weights: Arrays, source: Vocabulary, target: Vocabulary) -> list[str]:
    problems = []
    for side, vocabulary, file in (("encoder", source, SOURCE_DICTIONARY), ("decoder", target, TARGET_DICTIONARY)):
        embedding = weights.get(f"{side}.embedding.weight")
        if embedding is not None and len(embedding) != len(vocabulary):
            problems.append(f"{len(embedding)} embeddings in the {side} for {len(vocabulary)} pieces in {file}")
    if options.get("share_all_embeddings") and source is not target:
        problems.append(f"shared embeddings with a {TARGET_DICTIONARY} that differs from {SOURCE_DICTIONARY}")
    return problems
