"""Initial weights of a translation model: the encoder of another model."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.encoders.factory import read_encoder
from prism_mt.models.directory import ModelDirectory, is_model_directory
from prism_mt.models.network import Transformer
from prism_mt.models.spec import Conventions, Symbol
from prism_mt.training.log import say
from prism_mt.training.translation.config import TrainConfig

_SIDE = "encoder."


def source_symbols(config: TrainConfig) -> tuple[Symbol, ...]:
    """The tokens of a source: the configuration's, else those of the initial model."""
    if config.source_symbols is not None:
        return config.source_symbols
    path = Path(config.initial.encoder)
    if config.initial.encoder and is_model_directory(path):
        return ModelDirectory(path).spec.conventions.source
    return Conventions().source


def take_encoder(model: Transformer, name: str) -> None:
    """Give a model all weights of an encoder whose names and shapes fit, and say which of its own remain random."""
    found = _encoder_weights(name)
    own = {key: tensor for key, tensor in model.state_dict().items() if key.startswith(_SIDE)}
    fitting = [
        key for key, tensor in own.items() if key in found and tuple(found[key].shape) == tuple(tensor.shape)
    ]
    if not fitting:
        raise PrismError(f"no weight of {name} fits the encoder of this architecture")
    with torch.no_grad():
        for key in fitting:
            own[key].copy_(torch.from_numpy(np.array(found[key], dtype=np.float32)))
    left = [key for key in own if key not in fitting]
    say(f"{len(fitting)} of {len(own)} weights of the encoder are those of {name}")
    if left:
        say(f"random: {', '.join(left[:8])}{' …' if len(left) > 8 else ''}")


def _encoder_weights(name: str) -> Mapping[str, NDArray[np.float32]]:
    path = Path(name)
    if is_model_directory(path):
        return ModelDirectory(path).weights()
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            return {key: array.astype(np.float32) for key, array in load_file(path).items()}
        except (OSError, SafetensorError) as error:
            raise PrismError(f"cannot read {path}: {error}") from error
    return read_encoder(name).load()
