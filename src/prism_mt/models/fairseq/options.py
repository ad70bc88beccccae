"""The architecture of a fairseq checkpoint: `args` in old ones, `cfg` in newer ones."""

import re
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.models.fairseq.pickles import Inert
from prism_mt.models.spec import Architecture

SINUSOIDAL_POSITIONS = 2000
"""Sinusoids are unlimited; this is where the original tool stops."""
DEFAULT_HEADS = 8
ACTIVATIONS = ("relu", "gelu", "swish")

_NESTING = 8  # wrappers around one value; a hostile file could put one into itself
_ARCHITECTURES = re.compile(r"(transformer(?!_lm)|bart|mbart)(_.+)?")
_UNSUPPORTED = (
    "adaptive_input",
    "adaptive_softmax_cutoff",
    "base_layers",
    "char_inputs",
    "character_embeddings",
    "cross_self_attention",
    "decoder_layers_to_keep",
    "decoder_xformers_att_config",
    "encoder_layers_to_keep",
    "encoder_xformers_att_config",
    "merge_src_tgt_embed",
    "moe_expert_count",
    "moe_freq",
    "no_cross_attention",
    "no_token_positional_embeddings",
)


class Options:
    """The options of a checkpoint by flat names (`encoder_layers`), however they are nested and wrapped."""

    def __init__(self, checkpoint: Mapping[Any, Any], path: Path) -> None:
        self._root = _content(checkpoint.get("cfg"))
        self._model = _content(checkpoint.get("args"))
        if not isinstance(self._model, Mapping) and isinstance(self._root, Mapping):
            self._model = _content(self._root.get("model"))
        if not isinstance(self._model, Mapping):
            raise PrismError(f"{path} has neither args nor cfg.model, which describe the model")

    def get(self, name: str) -> Any:
        """The value, or None for fairseq's default; anything but strings and numbers is shortened to a string."""
        value = self._find(self._model, name)
        if value is None:
            side, _, rest = name.partition("_")
            value = self._find(self._find(self._model, side), rest)
        if value is None or isinstance(value, str | int | float):
            return value
        empty = isinstance(value, list | tuple | dict) and not value
        return None if empty else reprlib.repr(value)

    def _find(self, table: Any, name: str) -> Any:
        value = _content(table.get(name)) if isinstance(table, Mapping) else None
        if not isinstance(value, str) or not value.startswith(("${", "???")):
            return value
        # OmegaConf writes "???" for missing values and "${model.decoder.embed_dim}" for references.
        target: Any = self._root
        for key in value.strip("${}").split("."):
            target = _content(target.get(key)) if isinstance(target, Mapping) else None
        return target


def _content(node: Any) -> Any:
    """The content of a namespace, an OmegaConf node or an enumeration."""
    for _ in range(_NESTING):
        if not isinstance(node, Inert):
            return node
        state = node.state if isinstance(node.state, dict) else {}
        if node.kind == "argparse.Namespace":
            return state
        if node.kind.startswith("omegaconf."):
            node = state.get("_content", state.get("_val"))
        else:
            node = node.arguments[0] if len(node.arguments) == 1 else None
    return None


def describe(options: Options, weights: Mapping[str, NDArray[Any]], problems: list[str]) -> Architecture | None:
    """The architecture, with sizes from the weights; None if `problems` (all are added) rule it out."""
    architecture = str(options.get("arch") or options.get("_name") or "transformer")
    if not _ARCHITECTURES.fullmatch(architecture):
        problems.append(f"the architecture {architecture}")
    problems += [f"the option {name}" for name in _UNSUPPORTED if options.get(name)]
    activation: Any = options.get("activation_fn") or "relu"
    if activation not in ACTIVATIONS:
        problems.append(f"the activation {activation} (only {', '.join(ACTIVATIONS)})")
    pre_norm = _both(options, "normalize_before", problems)
    learned = _both(options, "learned_pos", problems)
    final_norms = [f"{side}.final_norm.weight" in weights for side in ("encoder", "decoder")]
    if final_norms[0] != final_norms[1]:
        problems.append("a LayerNorm after the last layer of only one side")
    elif final_norms[0] and not pre_norm:
        problems.append("a LayerNorm after the last layer although the norms come after the sublayers")
    encoder = _measure("encoder", "max_source_positions", options, weights, learned, problems)
    decoder = _measure("decoder", "max_target_positions", options, weights, learned, problems)
    if encoder.width != decoder.width:
        problems.append(f"an encoder of width {encoder.width} with a decoder of width {decoder.width}")
    if problems:
        return None
    tied = bool(options.get("share_all_embeddings"))
    return Architecture(
        width=encoder.width,
        encoder_layers=encoder.layers,
        decoder_layers=decoder.layers,
        encoder_heads=encoder.heads,
        decoder_heads=decoder.heads,
        encoder_feed_forward=encoder.feed_forward,
        decoder_feed_forward=decoder.feed_forward,
        source_vocabulary=encoder.vocabulary,
        target_vocabulary=decoder.vocabulary,
        max_positions=min(encoder.positions, decoder.positions),
        norm="pre" if pre_norm else "post",
        final_norm=final_norms[0],
        embedding_norm=bool(options.get("layernorm_embedding")),
        activation=activation,
        positions="learned" if learned else "sinusoidal",
        scaled_embedding=not options.get("no_scale_embedding"),
        tied_embeddings=tied,
        tied_output=tied or bool(options.get("share_decoder_input_output_embed")),
    )


def _both(options: Options, name: str, problems: list[str]) -> bool:
    """An option that must be the same on both sides."""
    encoder, decoder = (bool(options.get(f"{side}_{name}")) for side in ("encoder", "decoder"))
    if encoder != decoder:
        problems.append(f"encoder_{name} {encoder} with decoder_{name} {decoder}")
    return encoder


class _Side(NamedTuple):
    """Sizes of an encoder or a decoder."""

    width: int
    vocabulary: int
    layers: int
    feed_forward: int
    heads: int
    positions: int


def _measure(
    side: str,
    places: str,
    options: Options,
    weights: Mapping[str, NDArray[Any]],
    learned: bool,
    problems: list[str],
) -> _Side:
    """Sizes according to the weights, compared with the options; weights do not reveal the number of heads."""
    layer = re.compile(rf"{side}\.layers\.(\d+)\.")
    width = _extent(weights, f"{side}.embedding.weight", 1)
    measured = {
        f"{side}_embed_dim": width,
        f"{side}_layers": len({found[1] for name in weights if (found := layer.match(name))}),
        f"{side}_ffn_embed_dim": _extent(weights, f"{side}.layers.0.feed_forward.inner.weight", 0),
    }
    if side == "decoder":
        measured |= {"decoder_input_dim": width, "decoder_output_dim": width}
    if learned:
        measured[places] = _extent(weights, f"{side}.positions.weight", 0)
    for name, size in measured.items():
        said = options.get(name)
        if said is not None and said != size:
            problems.append(f"{name} {said} (the weights have {size})")
    heads = options.get(f"{side}_attention_heads") or DEFAULT_HEADS
    if type(heads) is not int or heads < 1 or width % heads:
        problems.append(f"{side}_attention_heads {heads} for a width of {width}")
    return _Side(
        width,
        _extent(weights, f"{side}.embedding.weight", 0),
        measured[f"{side}_layers"],
        measured[f"{side}_ffn_embed_dim"],
        heads,
        measured.get(places, SINUSOIDAL_POSITIONS),
    )


def _extent(weights: Mapping[str, NDArray[Any]], name: str, axis: int) -> int:
    """Size of a weight along an axis; 0 if there is no such weight, which the later check reports."""
    shape = weights[name].shape if name in weights else ()
    return shape[axis] if len(shape) > axis else 0
