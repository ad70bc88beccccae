"""A translation model as data: its architecture, its token conventions and the names of its weights.

Every reader (fairseq, Hugging Face, our own trainer) produces these, and every engine knows only these.

Weights have one set of names, whatever format the model came from:

    encoder.embedding.weight                        source embedding, (source vocabulary, width)
    decoder.embedding.weight                        absent when `tied_embeddings`
    output.weight, output.bias                      weight absent when `tied_output`; bias only with `output_bias`
    {encoder,decoder}.positions.weight              only with learned positions; row 0 is the first token's
    {encoder,decoder}.embedding_norm.{weight,bias}  only with `embedding_norm`
    {encoder,decoder}.final_norm.{weight,bias}      only with `final_norm`
    {encoder,decoder}.layers.N.self_attention.{query,key,value,output}.{weight,bias}
    {encoder,decoder}.layers.N.self_attention_norm.{weight,bias}
    decoder.layers.N.cross_attention.{query,key,value,output}.{weight,bias}
    decoder.layers.N.cross_attention_norm.{weight,bias}
    {encoder,decoder}.layers.N.feed_forward.{inner,outer}.{weight,bias}
    {encoder,decoder}.layers.N.feed_forward_norm.{weight,bias}

Linear weights are (out, in), as torch and safetensors have them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option

Weights = Mapping[str, NDArray[np.float32]]
Symbol = Literal["pieces", "eos", "bos", "pad", "source-tag", "target-tag"]


_LARGEST = 10_000_000
_LARGEST_POSITIONS = 1 << 26
"""Limit of a position table: 65,536 rows of width 1024. Sinusoids are computed, so no file size bounds them."""


@dataclass(frozen=True, kw_only=True)
class Shape(Config):
    """The shape of a Transformer and every choice that changes its numbers, except its vocabularies.

    A language model uses the decoder's sizes and has no encoder.
    """

    width: int = option("width of embeddings and layers", low=1, high=_LARGEST)
    decoder_layers: int = option("layers of the decoder", low=0, high=1000)
    decoder_heads: int = option("attention heads of the decoder; must divide the width", low=1)
    decoder_feed_forward: int = option("width inside the decoder's feed-forward layers", low=0)
    encoder_layers: int = option("layers of the encoder; 0 for a language model", 0, low=0, high=1000)
    encoder_heads: int = option("attention heads of the encoder", 1, low=1)
    encoder_feed_forward: int = option("width inside the encoder's feed-forward layers", 0, low=0)
    max_positions: int = option("longest sequence, including special tokens", 512, low=1, high=_LARGEST)
    norm: Literal["pre", "post"] = option("LayerNorm before or after each sublayer", "pre")
    final_norm: bool = option("a LayerNorm after the last layer of the encoder and of the decoder", True)
    embedding_norm: bool = option("a LayerNorm after the embeddings", False)
    activation: Literal["relu", "gelu", "swish"] = option("activation of the feed-forward layers", "relu")
    positions: Literal["sinusoidal", "marian", "learned"] = option(
        "sinusoidal as in fairseq (frequencies over half - 1), marian over half; both are sines, then cosines",
        "sinusoidal",
    )
    position_offset: int = option(
        "position of the first token in the sinusoidal table; learned tables are stored without the offset",
        2,
        low=0,
        high=_LARGEST,
    )
    scaled_embedding: bool = option("multiply embeddings by the square root of the width", True)
    tied_embeddings: bool = option("one embedding for source and target", True)
    tied_output: bool = option("project onto the vocabulary with the target embedding", True)
    output_bias: bool = option("a bias in the projection onto the vocabulary", False)
    norm_epsilon: float = option("epsilon of every LayerNorm", 1e-5, low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for side, heads in (("encoder", self.encoder_heads), ("decoder", self.decoder_heads)):
            if heads < 1 or self.width % heads:
                raise PrismError(f"{side}: {heads} attention heads do not divide the width {self.width}")
        if self.max_positions * self.width > _LARGEST_POSITIONS:
            raise PrismError(f"max_positions {self.max_positions:,} is too many for the width {self.width:,}")

    def with_vocabularies(self, source: int, target: int) -> "Architecture":
        """The architecture of a model with this many source and target pieces."""
        own = {field.name: getattr(self, field.name) for field in fields(Shape)}
        return Architecture(**own, source_vocabulary=source, target_vocabulary=target)


@dataclass(frozen=True, kw_only=True)
class Architecture(Shape):
    """A complete Transformer: its shape and its vocabulary sizes."""

    source_vocabulary: int = option("source pieces", low=1, high=_LARGEST)
    target_vocabulary: int = option("target pieces", low=1, high=_LARGEST)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tied_embeddings and self.source_vocabulary != self.target_vocabulary:
            raise PrismError("tied embeddings need one vocabulary for both sides")

    @property
    def decoder_only(self) -> bool:
        """Whether it is a language model: no encoder layers and no cross-attention."""
        return self.encoder_layers == 0


@dataclass(frozen=True)
class Conventions:
    """Which ids surround the pieces of a text on either side.

    `target[0]` is the decoder's start token; everything after it is predicted. A predicted language tag is left out of
    the average, the end of sentence is included.
    """

    source: tuple[Symbol, ...] = ("pieces", "eos")
    target: tuple[Symbol, ...] = ("eos", "target-tag", "pieces", "eos")
    bos: int = 0
    pad: int = 1
    eos: int = 2
    unknown: int = 3

    @property
    def needs_source_language(self) -> bool:
        """Whether a text cannot be encoded without its language."""
        return "source-tag" in self.source

    def encode_source(
        self, pieces: Sequence[int], source_tag: int | None, target_tag: int | None
    ) -> tuple[int, ...]:
        """The encoder's input for the pieces of a text."""
        return self._fill(self.source, pieces, source_tag, target_tag)

    def encode_target(self, pieces: Sequence[int], target_tag: int | None) -> tuple[int, ...]:
        """The whole decoder sequence, including its start."""
        return self._fill(self.target, pieces, None, target_tag)

    def counted(self, target: tuple[int, ...]) -> slice:
        """Which of the predicted tokens `target[1:]` count: all but the language tag in front."""
        return slice(1 if len(self.target) > 1 and self.target[1] == "target-tag" else 0, len(target) - 1)

    def _fill(
        self, symbols: tuple[Symbol, ...], pieces: Sequence[int], source_tag: int | None, target_tag: int | None
    ) -> tuple[int, ...]:
        special = {
            "eos": self.eos,
            "bos": self.bos,
            "pad": self.pad,
            "source-tag": source_tag,
            "target-tag": target_tag,
        }
        ids: list[int] = []
        for symbol in symbols:
            if symbol == "pieces":
                ids.extend(pieces)
                continue
            value = special[symbol]
            if value is None:
                raise PrismError(f"this model needs a language for its {symbol.replace('-', ' ')}")
            ids.append(value)
        return tuple(ids)


@dataclass(frozen=True)
class ModelSpec:
    """Everything about a model except its weights and subword files."""

    architecture: Architecture
    conventions: Conventions
    languages: dict[str, int | None] = field(default_factory=dict)
    """Language code → id of its tag (None if the model has one language and no tag)."""
    source_languages: tuple[str, ...] = ()
    """The `languages` that it reads, if not all; () means all."""
    target_languages: tuple[str, ...] = ()
    """Those of `languages` that it writes, where it does not write all; () means all."""
    rough: bool = False
    """Whether it was made to score, and what it translates or paraphrases is rough."""
    name: str = ""
    origin: str = ""
    """What the model was read from: `fairseq`, `huggingface:m2m_100`, `prism`."""
    origin_digest: str = ""
    """Digest of the original files, if their format defines one (MD5 for the original layout)."""

    def __post_init__(self) -> None:
        """Check ids: one beyond the embeddings would read foreign memory, or fail in the middle of a run."""
        architecture, conventions = self.architecture, self.conventions
        ids = {name: getattr(conventions, name) for name in ("bos", "pad", "eos", "unknown")}
        ids |= {f"the tag of {language}": tag for language, tag in self.languages.items() if tag is not None}
        for name, index in ids.items():
            if not 0 <= index < architecture.target_vocabulary:
                raise PrismError(
                    f"{name} is {index}, but there are {architecture.target_vocabulary:,} target pieces"
                )
        in_source = {symbol: ids[symbol] for symbol in ("unknown", *conventions.source) if symbol in ids}
        for name, index in {} if architecture.decoder_only else in_source.items():
            if index >= architecture.source_vocabulary:
                raise PrismError(
                    f"{name} is {index}, but there are {architecture.source_vocabulary:,} source pieces"
                )


def weight_shapes(architecture: Architecture) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every weight of a model with this architecture, with its shape."""
    a = architecture
    if not a.decoder_only:
        yield "encoder.embedding.weight", (a.source_vocabulary, a.width)
    if a.decoder_only or not a.tied_embeddings:
        yield "decoder.embedding.weight", (a.target_vocabulary, a.width)
    if not a.tied_output:
        yield "output.weight", (a.target_vocabulary, a.width)
    if a.output_bias:
        yield "output.bias", (a.target_vocabulary,)
    encoder = ("encoder", a.encoder_layers, a.encoder_feed_forward, ("self_attention",))
    attentions = ("self_attention",) if a.decoder_only else ("self_attention", "cross_attention")
    decoder = ("decoder", a.decoder_layers, a.decoder_feed_forward, attentions)
    for side, layers, inner, attentions in (decoder,) if a.decoder_only else (encoder, decoder):
        if a.positions == "learned":
            yield f"{side}.positions.weight", (a.max_positions, a.width)
        for present, norm in ((a.embedding_norm, "embedding_norm"), (a.final_norm, "final_norm")):
            if present:
                yield from _norm(f"{side}.{norm}", a.width)
        for index in range(layers):
            layer = f"{side}.layers.{index}"
            for attention in attentions:
                for projection in ("query", "key", "value", "output"):
                    yield from _linear(f"{layer}.{attention}.{projection}", a.width, a.width)
                yield from _norm(f"{layer}.{attention}_norm", a.width)
            yield from _linear(f"{layer}.feed_forward.inner", inner, a.width)
            yield from _linear(f"{layer}.feed_forward.outer", a.width, inner)
            yield from _norm(f"{layer}.feed_forward_norm", a.width)


def _linear(name: str, out_features: int, in_features: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (out_features, in_features)
    yield f"{name}.bias", (out_features,)


def _norm(name: str, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)


def check_weights(architecture: Architecture, weights: Weights, where: str) -> None:
    """Report all missing, unexpected and misshapen weights at once."""
    expected = dict(weight_shapes(architecture))
    problems = [f"missing {name}" for name in expected if name not in weights]
    problems += [f"unexpected {name}" for name in weights if name not in expected]
    problems += [
        f"{name} is {tuple(weights[name].shape)} instead of {shape}"
        for name, shape in expected.items()
        if name in weights and tuple(weights[name].shape) != shape
    ]
    if problems:
        shown = "; ".join(problems[:8]) + (f"; and {len(problems) - 8} more" if len(problems) > 8 else "")
        raise PrismError(f"{where}: the weights do not match the architecture: {shown}")


def sinusoids(architecture: Architecture) -> NDArray[np.float32]:
    """The fixed position table, (max_positions, width): all sines, then all cosines, not interleaved."""
    half = architecture.width // 2
    if architecture.positions == "marian":
        frequencies = np.power(10000.0, -2.0 * np.arange(half) / architecture.width)
    else:
        # The reference implementation computes the exponential in float32.
        step = np.float32(math.log(10000.0) / max(half - 1, 1))
        frequencies = np.exp(np.arange(half, dtype=np.float32) * -step).astype(np.float32)
    rows = np.arange(architecture.max_positions) + architecture.position_offset
    angles = (rows[:, None].astype(frequencies.dtype) * frequencies[None, :]).astype(frequencies.dtype)
    table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    if architecture.width % 2:
        table = np.concatenate([table, np.zeros((len(table), 1), dtype=np.float32)], axis=1)
    return table
