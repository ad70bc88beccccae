"""Encoders in the folder layout of Hugging Face: BERT and its kin, XLM-R, MiniLM."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.encoders.base import PieceVectors, batches_by_length, check_length, reading

_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model")
_TOKENIZER_SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt")
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_UNUSED = re.compile(r"pooler|position_ids")
"""Weights that no vector depends on."""
_FROM_PADDING = re.compile("roberta|camembert|mpnet|longformer")


class HuggingFaceEncoder:
    """Any encoder that transformers can read; no code is run from the folder."""

    def __init__(self, folder: Path, name: str = "") -> None:
        self.name = name or folder.name
        self.digest = _digest(folder)
        with reading(folder, "a usable Hugging Face encoder"):
            self._tokenizer, self._model = load_network(folder)
        settings = self._model.config
        if _is_decoder(settings):
            raise PrismError(f"{folder} is a {settings.model_type} model, not an encoder")
        self._tokenizer.padding_side = "right"  # pieces are found by their places from the left
        self.layers = settings.num_hidden_layers + 1
        self.width = settings.hidden_size
        # RoBERTa and its kin count positions from the padding's id on.
        reserved = settings.pad_token_id + 1 if _FROM_PADDING.search(settings.model_type) else 0
        self._limit = settings.max_position_embeddings - reserved

    def encode(self, texts: Sequence[str]) -> list[PieceVectors]:
        """Texts of similar length go through the network together."""
        import torch

        inputs = self._tokenizer(list(texts), truncation=False, return_special_tokens_mask=True, verbose=False)
        lengths = [len(ids) for ids in inputs["input_ids"]]
        for text, length in zip(texts, lengths, strict=True):
            check_length(text, length, self._limit, self.name)
        found: dict[int, PieceVectors] = {}
        with torch.inference_mode():
            for places in batches_by_length(lengths):
                states = self._forward([inputs["input_ids"][place] for place in places])
                for row, place in enumerate(places):
                    kept = np.flatnonzero(np.array(inputs["special_tokens_mask"][place]) == 0)
                    found[place] = states[row][:, kept]
        return [found[place] for place in range(len(texts))]

    def _forward(self, batch: list[list[int]]) -> Any:
        """B × layers × pieces × width."""
        import torch

        padded = self._tokenizer.pad({"input_ids": batch}, return_tensors="pt", verbose=False)
        output = self._model(**padded, output_hidden_states=True)
        return torch.stack(output.hidden_states, dim=1).float().numpy()


def load_network(folder: Path) -> tuple[Any, Any]:
    """Tokenizer and model, which has all its weights; no code is run from the folder."""
    try:
        import transformers
    except ImportError:
        raise MissingExtra("a Hugging Face encoder", "hf") from None
    library: Any = transformers
    library.utils.logging.disable_progress_bar()
    tokenizer = library.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    model, loading = library.AutoModel.from_pretrained(
        str(folder), local_files_only=True, output_loading_info=True
    )
    if missing := sorted(name for name in loading["missing_keys"] if not _UNUSED.search(name)):
        raise PrismError(f"the weights of {folder} are incomplete: there is no {missing[0]}")
    return tokenizer, model.eval()


def _is_decoder(settings: Any) -> bool:
    """Whether a model writes text instead of only reading it; many configurations do not say so themselves."""
    from transformers.models.auto import modeling_auto

    writes = settings.model_type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    reads = settings.model_type in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return settings.is_encoder_decoder or getattr(settings, "is_decoder", False) or (writes and not reads)


def _digest(folder: Path) -> str:
    """Hash of configuration, tokenizer and weights, which must all be there."""
    groups = {
        "configuration (config.json)": ("config.json",),
        f"tokenizer (one of {', '.join(_TOKENIZERS)})": _TOKENIZERS,
        f"weights ({' or '.join(_WEIGHTS)})": _WEIGHTS,
    }
    digest = hashlib.sha256()
    for what, names in groups.items():
        present = [folder / name for name in names if (folder / name).is_file()]
        if not present:
            raise PrismError(f"{folder} is not an encoder: it has no {what}")
        if names is _TOKENIZERS and not (folder / "tokenizer.json").is_file():
            # All that tokenizer.json has is in several files without it.
            present += [folder / name for name in _TOKENIZER_SETTINGS if (folder / name).is_file()]
        for path in present:
            digest.update(path.name.encode() + b"\0")
            with open(path, "rb") as handle:
                while block := handle.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()
