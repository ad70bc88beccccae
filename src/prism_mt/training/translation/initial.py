"""Initial weights of a translation model: those of a whole model, or of an encoder."""

import dataclasses
import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.encoders.factory import read_encoder
from prism_mt.encoders.tokens import SubwordTokenizer
from prism_mt.models.directory import ModelDirectory, is_model_directory
from prism_mt.models.network import Transformer
from prism_mt.models.resolve import open_model
from prism_mt.models.spec import Conventions, Symbol
from prism_mt.text.subwords import Vocabulary
from prism_mt.training.log import say
from prism_mt.training.translation.config import TrainConfig

_SIDE = "encoder."
_DECODER = "decoder."
_EMBEDDING = "encoder.embedding.weight"
_TARGET_EMBEDDING = "decoder.embedding.weight"
_LOG = logging.getLogger("prism_mt")


def source_symbols(config: TrainConfig) -> tuple[Symbol, ...]:
    """The tokens of a source: the configured ones, or those of the initial model."""
    if config.source_symbols is not None:
        return config.source_symbols
    if config.initial.model:
        return open_model(config.initial.model).spec.conventions.source
    path = Path(config.initial.encoder)
    if config.initial.encoder and is_model_directory(path):
        return ModelDirectory(path).spec.conventions.source
    return Conventions().source


def take_model(model: Transformer, name: str, source: Vocabulary, target: Vocabulary) -> None:
    """Copy all weights of a model; its architecture and vocabularies must be those of this run."""
    directory = open_model(name)
    theirs = directory.spec.architecture
    if theirs != model.architecture:
        ours = dataclasses.asdict(model.architecture)
        differing = [key for key, value in dataclasses.asdict(theirs).items() if ours[key] != value]
        raise PrismError(f"initial.model: {name} has another architecture ({', '.join(differing)} differ)")
    for side, own, other in (("source", source, directory.source), ("target", target, directory.target)):
        if _list(own) != _list(other):
            raise PrismError(f"initial.model: the {side} pieces of {name} are not those of the data")
    weights = directory.weights()
    with torch.no_grad():
        for key, tensor in model.state_dict().items():
            tensor.copy_(torch.from_numpy(np.array(weights[key], dtype=np.float32)))
    say(f"all weights continue from {name}")


def take_encoder(model: Transformer, name: str, vocabulary: Vocabulary, frozen: bool) -> None:
    """Copy all encoder weights whose names and shapes match, and report which weights remain random.

    Rows of an embedding for another vocabulary, such as a pruned one, are copied piece by piece. A frozen encoder must
    be complete: nothing would ever train what remains random.
    """
    weights, theirs = _read(name)
    own = {key: tensor for key, tensor in model.state_dict().items() if key.startswith(_SIDE)}
    fitting = {key: weights[key] for key, tensor in own.items() if key in weights and _fits(weights[key], tensor)}
    if theirs is not None and _EMBEDDING in weights and _EMBEDDING not in fitting:
        shape = len(vocabulary), weights[_EMBEDDING].shape[1]
        if shape == tuple(own[_EMBEDDING].shape):
            fitting[_EMBEDDING] = piece_rows(vocabulary, theirs, weights[_EMBEDDING])
    left = [key for key in own if key not in fitting]
    if not fitting:
        raise PrismError(f"no weight of {name} matches the encoder of this architecture")
    if frozen and left:
        raise PrismError(f"a frozen encoder must be complete, and {name} has no matching {', '.join(left[:4])}")
    with torch.no_grad():
        for key, array in fitting.items():
            own[key].copy_(torch.from_numpy(np.array(array, dtype=np.float32)))
    say(f"{len(fitting)} of {len(own)} encoder weights initialized from {name}")
    if left:
        say(f"random: {', '.join(left[:8])}{' …' if len(left) > 8 else ''}")


def take_decoder(model: Transformer, name: str, vocabulary: Vocabulary) -> None:
    """Start a decoder from the layers, positions and piece vectors of an encoder, as far as their shapes fit.

    Layers that know how words combine are a better start than random ones even though they have seen the words to come;
    cross-attention remains random.
    """
    weights, theirs = _read(name)
    own = {key: tensor for key, tensor in model.state_dict().items() if key.startswith(_DECODER)}
    twins = {key: weights.get(_SIDE + key.removeprefix(_DECODER)) for key in own}
    fitting = {key: twin for key, twin in twins.items() if twin is not None and _fits(twin, own[key])}
    fitting.pop(_TARGET_EMBEDDING, None)  # equal in size by chance only
    if theirs is not None and _EMBEDDING in weights:
        table, tags = weights[_EMBEDDING], own[_TARGET_EMBEDDING].numpy()
        if table.shape[1] == tags.shape[1]:
            fitting[_TARGET_EMBEDDING] = piece_rows(vocabulary, theirs, table, tags)
    with torch.no_grad():
        for key, array in fitting.items():
            own[key].copy_(torch.from_numpy(np.array(array, dtype=np.float32)))
    say(f"{len(fitting)} of {len(own)} weights of the decoder start from those of {name}")


def piece_rows(
    ours: Vocabulary,
    theirs: Vocabulary,
    table: NDArray[np.float32],
    otherwise: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """A row of their table for each of our pieces.

    Pieces that they lack get the mean of their pieces for the same text; where there is no text, as for tags and
    bytes, the row of `otherwise`, or the mean of the table.
    """
    processor, unknown, usual = theirs.processor, int(theirs.processor.unk_id()), Conventions()
    special = {usual.bos, usual.pad, usual.eos, usual.unknown}
    rows = np.tile(table.mean(0), (len(ours), 1)) if otherwise is None else otherwise.copy()
    missing = 0
    for index in range(len(ours)):
        piece = ours.piece(index)
        place = index if index in special else int(processor.piece_to_id(piece))
        places = [place]
        if place == unknown and index not in special:
            missing += 1
            places = [one for one in processor.encode(_text(piece)) if one != unknown]
        if places:
            rows[index] = table[places].mean(0)
    if missing:
        _LOG.warning(
            "%s of %s pieces are new to the encoder: means stand for them", f"{missing:,}", f"{len(ours):,}"
        )
    return rows


def _text(piece: str) -> str:
    """What a piece spells; nothing for tags and bytes."""
    return "" if piece.startswith("<") else piece.replace("▁", " ").strip()


def _list(vocabulary: Vocabulary) -> list[str]:
    return [vocabulary.piece(index) for index in range(len(vocabulary))]


def _fits(array: NDArray[np.float32], tensor: torch.Tensor) -> bool:
    return tuple(array.shape) == tuple(tensor.shape)


def _read(name: str) -> tuple[Mapping[str, NDArray[np.float32]], Vocabulary | None]:
    """Weights by canonical name, and the pieces of the embedding if they are known."""
    path = Path(name)
    if is_model_directory(path):
        directory = ModelDirectory(path)
        return directory.weights(), directory.source
    if path.suffix == ".safetensors":
        return _read_file(path), None
    network = read_encoder(name)
    pieces = network.tokenizer.vocabulary if isinstance(network.tokenizer, SubwordTokenizer) else None
    return network.load(), pieces


def _read_file(path: Path) -> dict[str, NDArray[np.float32]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return {key: array.astype(np.float32) for key, array in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise PrismError(f"cannot read {path}: {error}") from error
