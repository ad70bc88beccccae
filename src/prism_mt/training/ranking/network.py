"""The network to fine-tune, and which of its weights are trained."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from prism_mt._core.errors import PrismError
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.network import Transformer, from_weights
from prism_mt.training.ranking.adapters import add_adapters
from prism_mt.training.ranking.config import FinetuneConfig


def origin(base: ModelDirectory, config: FinetuneConfig) -> dict[str, Any]:
    """The base of the trained weights, without which they are meaningless."""
    return {"model": base.digest, "adapters": dataclasses.asdict(config.adapters)}


def adapted_network(base: ModelDirectory, config: FinetuneConfig) -> Transformer:
    """The model to train, with adapters if configured."""
    network = from_weights(base.spec.architecture, base.weights())
    if config.adapters.rank:
        add_adapters(network, config.adapters)
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = config.dropout
    return network


def trained_weights(network: Transformer) -> dict[str, Tensor]:
    """The weights that training changes."""
    return {name: tensor.detach() for name, tensor in network.named_parameters() if tensor.requires_grad}


def load_trained(network: Transformer, weights: Mapping[str, Tensor]) -> None:
    """Restore what `trained_weights` returned."""
    trained = trained_weights(network).keys()
    if weights.keys() != trained:
        odd = min(weights.keys() ^ trained)
        raise PrismError(f"this checkpoint does not fit the model ({odd}): start again with `fresh=`")
    network.load_state_dict(weights, strict=False)
