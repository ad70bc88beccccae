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
from prism_mt.models.storage import Storage, pack, unpack

Weights = Mapping[str, NDArray[np.float32]]


def storage(weights: Weights, layers: int) -> dict[str, Storage]:
    """Encoder layers that 4 bits hold exactly are e5's own; the others were trained and get 8 bits."""
    kinds: dict[str, Storage] = {"encoder": "int4", "decoder": "int8"}
    for layer in range(layers):
        part = f"encoder.layers.{layer}"
        own = {name: array for name, array in weights.items() if name.startswith(f"{part}.")}
        if not same(own, unpack(pack(own, "int4"))):
            kinds[part] = "int8"
    return kinds


def same(ours: Weights, theirs: Weights) -> bool:
    """Whether the other weights have all of these, exactly."""
    return all(name in theirs and np.array_equal(array, theirs[name]) for name, array in ours.items())


def same_encoder(one: ModelDirectory, other: ModelDirectory) -> bool:
    """Whether two models have exactly the same encoder."""
    ours = {name: array for name, array in one.weights().items() if name.startswith("encoder.")}
    return one.source.sentencepiece == other.source.sentencepiece and same(ours, other.weights())


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
    stored = storage(weights, model.spec.architecture.encoder_layers)
    shipped = write_model(dataclasses.replace(model, weights=weights, card=card), options.output, stored)
    pieces = {name: array for name, array in weights.items() if name.startswith("encoder.embedding")}
    if not same(pieces, shipped.weights()):
        raise SystemExit("4 bits do not hold the piece vectors of the encoder exactly: were they trained?")
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
