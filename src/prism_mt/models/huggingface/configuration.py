"""Read the architecture from config.json, reporting everything unsupported at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from prism_mt._core.errors import PrismError
from prism_mt.models.huggingface.folder import Folder
from prism_mt.models.spec import Architecture

_ACTIVATIONS: dict[str, Literal["relu", "gelu", "swish"]] = {
    "relu": "relu",
    "gelu": "gelu",
    "swish": "swish",
    "silu": "swish",
}

_NUMBERS = (
    "d_model",
    "encoder_layers",
    "decoder_layers",
    "encoder_attention_heads",
    "decoder_attention_heads",
    "encoder_ffn_dim",
    "decoder_ffn_dim",
    "vocab_size",
    "max_position_embeddings",
    "pad_token_id",
    "eos_token_id",
)


@dataclass(frozen=True)
class Kind:
    """What transformers hard-codes for a model type; `contradicted` lists old keys that may say otherwise."""

    norm: Literal["pre", "post"]
    final_norm: bool
    embedding_norm: bool
    positions: Literal["sinusoidal", "marian", "learned"]
    scaled_by_default: bool

    def contradicted(self, config: Mapping[str, Any]) -> list[str]:
        """Keys that old versions wrote and new ones ignore, if they differ from what the code does."""
        expected = {
            "normalize_before": self.norm == "pre",
            "add_final_layer_norm": self.final_norm,
            "normalize_embedding": self.embedding_norm,
            "static_position_embeddings": self.positions != "learned",
        }
        return [f"{key}: {config[key]}" for key, value in expected.items() if config.get(key, value) != value]


KINDS = {
    "m2m_100": Kind("pre", True, False, "sinusoidal", True),
    "mbart": Kind("pre", True, True, "learned", False),
    "marian": Kind("post", False, False, "marian", False),
}


def read_architecture(folder: Folder) -> Architecture:
    """Read the architecture; ties and bias are settled when the weights are read."""
    config = folder.config
    if str(config.get("model_type")) not in KINDS:
        raise PrismError(
            f"{folder.path} is a model of type {config.get('model_type')}; supported: {', '.join(KINDS)}"
        )
    kind = KINDS[config["model_type"]]
    shared = bool(config.get("share_encoder_decoder_embeddings", True))
    number = {key: config.get(key) for key in (*_NUMBERS, *(() if shared else ("decoder_vocab_size",)))}
    problems = _unsupported(folder, kind)
    problems += [
        f"{key} is {value!r} instead of a number" for key, value in number.items() if type(value) is not int
    ]
    if problems:
        raise PrismError(f"{folder.path / 'config.json'} is not supported: {'; '.join(problems)}")
    return _architecture(config, kind, number, shared)


def _architecture(config: Mapping[str, Any], kind: Kind, number: Mapping[str, Any], shared: bool) -> Architecture:
    return Architecture(
        width=number["d_model"],
        encoder_layers=number["encoder_layers"],
        decoder_layers=number["decoder_layers"],
        encoder_heads=number["encoder_attention_heads"],
        decoder_heads=number["decoder_attention_heads"],
        encoder_feed_forward=number["encoder_ffn_dim"],
        decoder_feed_forward=number["decoder_ffn_dim"],
        source_vocabulary=number["vocab_size"],
        target_vocabulary=number["vocab_size" if shared else "decoder_vocab_size"],
        # Sinusoidal tables grow in transformers, but this is what the model was trained for.
        max_positions=number["max_position_embeddings"],
        norm=kind.norm,
        final_norm=kind.final_norm,
        embedding_norm=kind.embedding_norm,
        activation=_ACTIVATIONS[config["activation_function"]],
        positions=kind.positions,
        # M2M100 counts from the row after the padding's, Marian from 0.
        position_offset=number["pad_token_id"] + 1 if kind.positions == "sinusoidal" else 0,
        scaled_embedding=bool(config.get("scale_embedding", kind.scaled_by_default)),
        tied_embeddings=shared,
    )


def _unsupported(folder: Folder, kind: Kind) -> list[str]:
    """Report every option that would change the numbers in an unknown way."""
    config = folder.config
    problems = kind.contradicted(config)
    if str(config.get("activation_function")) not in _ACTIVATIONS:
        problems.append(f"activation_function: {config.get('activation_function')}")
    if config.get("quantization_config"):
        problems.append("quantization_config (quantized weights: take the model that they were made from)")
    if config.get("is_encoder_decoder") is False:
        problems.append("is_encoder_decoder: False")
    if folder.has("adapter_config.json"):
        problems.append("adapter_config.json (an adapter: merge it into its model first)")
    if kind.positions == "marian" and type(config.get("d_model")) is int and config["d_model"] % 2:
        problems.append(f"d_model: {config['d_model']} (odd)")
    return problems
