"""Export a trained model from its checkpoints."""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.corpus.data_directory import Meta, digest_data, language_tags, read_meta, read_vocabularies
from prism_mt.models.directory import write_model
from prism_mt.models.model import Model
from prism_mt.models.spec import Conventions, ModelSpec
from prism_mt.training.checkpoints import open_checkpoints
from prism_mt.training.translation.config import TrainConfig


def export_model(config: TrainConfig) -> Path:
    """Write the model of a run, finished or not, to `model` in the run's output folder, and return that path."""
    checkpoints = open_checkpoints(config, config.validation.every)
    newest = checkpoints.check({"data": digest_data(config.data)})  # other data has other pieces
    if newest is None:
        raise PrismError(f"{checkpoints.folder} has no checkpoint yet")
    tensors, made = checkpoints.exported(config.checkpoints.export)
    weights: dict[str, NDArray[np.float32]] = {name: tensor.float().numpy() for name, tensor in tensors.items()}
    meta = read_meta(config.data)
    source, target = read_vocabularies(config.data)
    tags = language_tags(target, meta.languages, str(config.data))
    spec = ModelSpec(
        config.architecture.with_vocabularies(len(source), len(target)),
        Conventions(source=tuple(newest[1]["export"]["source"])),
        dict(zip(meta.languages, tags, strict=True)),
        name=config.name,
        origin="prism",
    )
    folder = config.output / "model"
    write_model(Model(spec, weights, source, target, _card(config, meta, made)), folder)
    return folder


def _card(config: TrainConfig, meta: Meta, made: str) -> str:
    """The model card, from what is known without evaluation."""
    pairs = "\n".join(f"| {pair} | {count:,} |" for pair, count in meta.pairs.items())
    shape, noise = config.architecture, config.denoising
    denoising = "none"
    if noise.share:
        denoising = (
            f"{noise.share:.0%} of the examples are noisy copies of the target: "
            f"{noise.drop:.0%} of the pieces dropped, {noise.replace:.0%} replaced, {noise.shuffle:.0%} moved"
        )
    layers = f"{shape.encoder_layers}+{shape.decoder_layers} layers" if shape.encoder_layers else ""
    return f"""# {config.name}

A {config.kind.replace("-", " ")} {"model " if config.kind == "translation" else ""}trained with `prism train`.

- Languages: {" ".join(meta.languages)}
- Architecture: {layers or f"{shape.decoder_layers} layers"}, width {shape.width}, {meta.vocabulary:,} pieces
- Weights: {made}
- Validation loss: {_validation(config.output / "valid.csv")}
- Denoising: {denoising}
- Label smoothing {config.label_smoothing}, dropout {config.dropout}, seed {config.seed}

| pair | training pairs |
|---|---|
{pairs}
"""


def _validation(path: Path) -> str:
    """The last loss over all directions."""
    if not path.exists():
        return "not measured"
    with open(path, encoding="utf-8", newline="") as handle:
        rows = [row for row in csv.DictReader(handle) if row["pair"] == "all"]
    return f"{float(rows[-1]['loss']):.4f} nats per token at step {rows[-1]['step']}" if rows else "not measured"
