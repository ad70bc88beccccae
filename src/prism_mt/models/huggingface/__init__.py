"""Hugging Face translation models: M2M100, NLLB-200, mBART-50, mBART-25, SMaLL-100 and Marian.

`read` needs neither torch nor transformers. A new family is one function that returns its `Tokens` and one line
in `_family`; a new network is one line in `configuration.KINDS`.
"""

from collections.abc import Callable
from pathlib import Path

from prism_mt.models.huggingface.configuration import read_architecture
from prism_mt.models.huggingface.folder import Folder, is_huggingface, open_folder
from prism_mt.models.huggingface.hub import fetch, is_fetched
from prism_mt.models.huggingface.m2m100 import is_small100, m2m100, small100
from prism_mt.models.huggingface.marian import marian
from prism_mt.models.huggingface.mbart import is_mbart50, mbart25, mbart50
from prism_mt.models.huggingface.nllb import nllb
from prism_mt.models.huggingface.tokens import Tokens
from prism_mt.models.huggingface.weights import read_weights
from prism_mt.models.model import Model
from prism_mt.models.spec import ModelSpec

__all__ = ["fetch", "is_fetched", "is_huggingface", "read"]


def read(path: Path) -> Model:
    """Read a local folder: config.json, weights (safetensors or pytorch_model.bin, whole or sharded), tokenizer."""
    folder = open_folder(path)
    architecture = read_architecture(folder)
    tokens = _family(folder)(folder)
    architecture, weights = read_weights(folder, architecture)
    spec = ModelSpec(
        architecture,
        tokens.conventions,
        tokens.languages,
        source_languages=tokens.source_languages,
        target_languages=tokens.target_languages,
        name=folder.name,
        origin=f"huggingface:{folder.config['model_type']}",
    )
    return Model(spec, weights, tokens.source, tokens.target, folder.card())


def _family(folder: Folder) -> Callable[[Folder], Tokens]:
    """Choose the tokenizer family of a network."""
    network = folder.config["model_type"]
    if network == "marian":
        return marian
    if network == "mbart":
        return mbart50 if is_mbart50(folder) else mbart25
    if is_small100(folder):
        return small100
    # NLLB is an M2M100 network without a vocab.json: its ids are SentencePiece's, shifted by one.
    if folder.tokenizer_class == "NllbTokenizer" or (not folder.tokenizer_class and not folder.has("vocab.json")):
        return nllb
    return m2m100
