"""Conversion of a model to CTranslate2's format with numpy, kept in the user's cache."""

import atexit
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.cache import clear_store
from prism_mt._core.environment import cache_folder, make_cache_folder
from prism_mt._core.errors import PrismError
from prism_mt._core.manifest import check_manifest, write_manifest
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.spec import Architecture, Conventions, Weights, sinusoids

_LOG = logging.getLogger("prism_mt")

REVISION = 2
"""Increased when the conversion changes, so that older converted models, and scores from them, are not used."""


def converted(model: ModelDirectory, precision: str, temperature: float, thorough: bool = False) -> Path:
    """Return the folder of the CTranslate2 model, verified, and built if it is missing or damaged.

    With `thorough`, its files are hashed however recently that was done.
    """
    name = f"{model.digest[:24]}-{precision}-r{REVISION}"
    if temperature != 1.0:
        name += f"-t{temperature!r}"

    def build() -> Any:
        return _build(model.spec.architecture, model.spec.conventions, model.weights(), temperature)

    return stored(name, build, precision, thorough)


def stored(name: str, build: Callable[[], Any], precision: str, thorough: bool = False) -> Path:
    """Return the folder of a CTranslate2 model in the cache, verified, and built if it is missing or damaged.

    `build` returns its specification, whose arrays are modified here.
    """
    folder = cache_folder() / "ct2" / name
    damaged = folder.exists() and _is_damaged(folder, thorough)
    if folder.exists() and not damaged:
        return folder
    spec = build()
    spec.validate()
    # CTranslate2 converts float32 to bfloat16 when loading; doing it here would need torch.
    spec.optimize(quantization=None if precision in ("float32", "bfloat16") else precision)
    try:
        return _save(spec, folder)
    except OSError as error:
        return _temporary(spec, folder, error)


def _is_damaged(folder: Path, thorough: bool) -> bool:
    """Compare a folder with its manifest, warning about damage."""
    state = check_manifest(folder, thorough)
    if state == "intact":
        return False
    _LOG.warning("the converted model %s is damaged or was changed: converting it again", folder)
    if state == "decayed":
        # The damage was invisible from outside, so scores may have been computed from it since the last verification.
        clear_store("scores")
    return True


def _save(spec: Any, folder: Path) -> Path:
    """Write the converted model; the folder appears complete, replacing what was there."""
    make_cache_folder(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, suffix=".partial") as made:
        partial = Path(made) / "model"
        partial.mkdir()
        spec.save(str(partial))
        for file in partial.iterdir():
            with open(file, "rb") as handle:
                os.fsync(handle.fileno())  # so that no crash leaves a file of the right size with wrong content
        write_manifest(partial)
        if folder.exists():
            if check_manifest(folder, thorough=True) == "intact":
                return folder  # another process was faster and may be reading it
            os.replace(folder, Path(made) / "damaged")
        try:
            os.replace(partial, folder)
        except OSError:
            if check_manifest(folder, thorough=True) != "intact":  # another process was faster
                raise
    return folder


def _temporary(spec: Any, folder: Path, reason: OSError) -> Path:
    """Keep the converted model in a folder that is deleted with the process, because the cache cannot be written."""
    _LOG.warning(
        "cannot write the converted model %s (%s); it will be converted again next time: "
        "set PRISM_CACHE to another folder",
        folder,
        reason.strerror,
    )
    try:
        made = tempfile.mkdtemp(prefix="prism-")
        atexit.register(shutil.rmtree, made, ignore_errors=True)
        spec.save(made)
    except OSError as error:
        raise PrismError(f"cannot write the converted model into a temporary folder: {error.strerror}") from error
    return Path(made)


def _build(architecture: Architecture, conventions: Conventions, weights: Weights, temperature: float) -> Any:
    """The specification object with all weights in place."""
    with _without_torch():
        from ctranslate2.specs import transformer_spec

    a, options = architecture, _layer_options(architecture)
    encoder = transformer_spec.TransformerEncoderSpec(a.encoder_layers, a.encoder_heads, **options)
    decoder = transformer_spec.TransformerDecoderSpec(a.decoder_layers, a.decoder_heads, **options)
    _fill_side(encoder, encoder.embeddings[0], architecture, weights, "encoder")
    _fill_side(decoder, decoder.embeddings, architecture, weights, "decoder")
    output = weights["output.weight"] if not a.tied_output else _target_embedding(architecture, weights)
    decoder.projection.weight = output if temperature == 1.0 else output / np.float32(temperature)
    if a.output_bias:
        decoder.projection.bias = weights["output.bias"] / np.float32(temperature)
    spec = transformer_spec.TransformerSpec(encoder, decoder)
    # Tokens are named by their ids: pieces need not be unique, ids are.
    spec.register_source_vocabulary([str(index) for index in range(a.source_vocabulary)])
    spec.register_target_vocabulary([str(index) for index in range(a.target_vocabulary)])
    spec.config.bos_token = str(conventions.bos)
    spec.config.eos_token = str(conventions.eos)
    spec.config.unk_token = str(conventions.unknown)
    spec.config.decoder_start_token = None
    spec.config.layer_norm_epsilon = a.norm_epsilon
    return spec


def build_encoder(architecture: Architecture, weights: Weights) -> Any:
    """The specification of an encoder without a decoder; only the source side of the architecture counts."""
    with _without_torch():
        from ctranslate2.specs import transformer_spec

    a = architecture
    encoder = transformer_spec.TransformerEncoderSpec(a.encoder_layers, a.encoder_heads, **_layer_options(a))
    _fill_side(encoder, encoder.embeddings[0], architecture, weights, "encoder")
    spec = transformer_spec.TransformerEncoderModelSpec(encoder)
    spec.register_vocabulary([str(index) for index in range(a.source_vocabulary)])
    spec.config.unk_token = "0"  # input is ids, so no token is unknown
    spec.config.layer_norm_epsilon = a.norm_epsilon
    return spec


def _layer_options(architecture: Architecture) -> dict[str, Any]:
    """Options for the constructors of both sides."""
    from ctranslate2.specs.common_spec import Activation

    activations = {"relu": Activation.RELU, "gelu": Activation.GELU, "swish": Activation.SWISH}
    return {
        "no_final_norm": not architecture.final_norm,
        "activation": activations[architecture.activation],
        "layernorm_embedding": architecture.embedding_norm,
    }


@contextmanager
def _without_torch() -> Iterator[None]:
    """Keep CTranslate2 from importing torch, if installed, to recognize tensors: seconds for nothing here."""
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]


def _target_embedding(architecture: Architecture, weights: Weights) -> NDArray[np.float32]:
    side = "encoder" if architecture.tied_embeddings else "decoder"
    return weights[f"{side}.embedding.weight"]


def _fill_side(spec: Any, embedding: Any, architecture: Architecture, weights: Weights, side: str) -> None:
    """Embeddings, positions, norms and layers of the encoder or the decoder."""
    is_encoder = side == "encoder"
    embedding.weight = (
        weights["encoder.embedding.weight"] if is_encoder else _target_embedding(architecture, weights)
    )
    spec.scale_embeddings = architecture.scaled_embedding
    learned = architecture.positions == "learned"
    spec.position_encodings.encodings = weights[f"{side}.positions.weight"] if learned else sinusoids(architecture)
    if architecture.embedding_norm:
        _fill_norm(spec.layernorm_embedding, weights, f"{side}.embedding_norm")
    spec.pre_norm = architecture.norm == "pre"  # set here because its constructor ties it to the final norm
    if architecture.final_norm:
        _fill_norm(spec.layer_norm, weights, f"{side}.final_norm")
    for index, layer in enumerate(spec.layer):
        name = f"{side}.layers.{index}"
        _fill_attention(layer.self_attention, weights, f"{name}.self_attention", ("query", "key", "value"))
        if not is_encoder:
            _fill_attention(layer.attention, weights, f"{name}.cross_attention", ("query",), ("key", "value"))
        _fill_linear(layer.ffn.linear_0, weights, f"{name}.feed_forward.inner")
        _fill_linear(layer.ffn.linear_1, weights, f"{name}.feed_forward.outer")
        _fill_norm(layer.ffn.layer_norm, weights, f"{name}.feed_forward_norm")


def _fill_attention(spec: Any, weights: Weights, name: str, *groups: tuple[str, ...]) -> None:
    """Stack the projections that share an input, as CTranslate2 does: each group becomes one matrix."""
    for linear, group in zip(spec.linear, (*groups, ("output",)), strict=True):
        linear.weight = np.concatenate([weights[f"{name}.{part}.weight"] for part in group])
        linear.bias = np.concatenate([weights[f"{name}.{part}.bias"] for part in group])
    _fill_norm(spec.layer_norm, weights, f"{name}_norm")


def _fill_linear(spec: Any, weights: Weights, name: str) -> None:
    spec.weight, spec.bias = weights[f"{name}.weight"], weights[f"{name}.bias"]


def _fill_norm(spec: Any, weights: Weights, name: str) -> None:
    spec.gamma, spec.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]
