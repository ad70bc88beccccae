"""Pack a trained model as it ships: what is left of e5 in the 4 bits that it came in, what was trained in 8 bits.

    python benchmarks/mini/ship.py OUTPUT MODEL [MODEL ...] [--metric DIR ...]

The weights of several models of one architecture are averaged.
The learned metrics named by `--metric` were trained over the encoder of an earlier model. They are signed for the new
one, which is only done if both encoders have the same weights and pieces.
"""

import argparse
import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_mt.metrics.learned import read_spec, read_weights, write_metric
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.resolve import open_model
from prism_mt.models.storage import Storage

UNTRAINED = 3
"""Layers of the encoder that are e5's own; `tune.py` trains those above."""


def storage(layers: int) -> dict[str, Storage]:
    """How each part of a model with so many encoder layers is stored."""
    trained: dict[str, Storage] = {f"encoder.layers.{layer}": "int8" for layer in range(UNTRAINED, layers)}
    return {"encoder": "int4", "decoder": "int8", **trained}


def lossless(weights: Mapping[str, NDArray[np.float32]], packed: Mapping[str, NDArray[np.float32]]) -> bool:
    """Whether 4 bits hold exactly what they were used for."""
    trained = tuple(name + "." for name, kind in storage(99).items() if kind == "int8")
    return all(
        np.array_equal(array, packed[name]) for name, array in weights.items() if not name.startswith(trained)
    )


def same_encoder(one: ModelDirectory, other: ModelDirectory) -> bool:
    """Whether two models have exactly the same encoder."""
    ours, theirs = one.weights(), other.weights()
    names = [name for name in ours if name.startswith("encoder.")]
    return one.source.sentencepiece == other.source.sentencepiece and all(
        name in theirs and np.array_equal(ours[name], theirs[name]) for name in names
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    parser.add_argument(
        "--metric", type=Path, nargs="*", default=[], help="folders of learned metrics to sign anew"
    )
    parser.add_argument("--card", type=Path, help="model card")
    options = parser.parse_args()
    trained, *others = map(ModelDirectory, options.models)
    if not all(same_encoder(trained, other) for other in others):
        raise SystemExit("the models do not share their encoder")
    model, parts = trained.load(), [other.weights() for other in others]
    weights = {
        name: np.mean([array, *(part[name] for part in parts)], axis=0) for name, array in model.weights.items()
    }
    card = options.card.read_text(encoding="utf-8") if options.card else ""
    stored = storage(model.spec.architecture.encoder_layers)
    shipped = write_model(dataclasses.replace(model, weights=weights, card=card), options.output, stored)
    if not lossless(weights, shipped.weights()):
        raise SystemExit("4 bits do not hold this encoder exactly: was it trained?")
    size = sum(entry.size for entry in shipped.files.values()) / 1e6
    print(f"{options.output}: {size:.1f} MB, digest {shipped.digest[:12]}")
    for folder in options.metric:
        spec = read_spec(folder)
        earlier = open_model("mini")
        if spec.encoder_digest not in (earlier.digest, shipped.digest) or not same_encoder(earlier, shipped):
            raise SystemExit(f"{folder} was trained over another encoder")
        write_metric(
            folder,
            dataclasses.replace(spec, encoder_digest=shipped.digest),
            read_weights(folder, spec),
            storage="float16",
        )
        print(f"{folder}: signed for {shipped.digest[:12]}")


if __name__ == "__main__":
    main()
