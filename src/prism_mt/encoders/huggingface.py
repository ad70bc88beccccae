"""Encoders that only transformers can read: MPNet, DeBERTa, ELECTRA and others, or unusual tokenizers."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.encoders.base import NetworkEncoder, check_layer, reading
from prism_mt.encoders.pretrained import load_pretrained
from prism_mt.encoders.tokens import Tokens

_UNUSED = re.compile(r"pooler|position_ids")
"""Weights that no vector depends on."""
_FROM_PADDING = re.compile("roberta|camembert|mpnet|longformer")
WHAT = "a usable Hugging Face encoder"


class TransformersTokenizer:
    """A tokenizer of transformers."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str) -> Tokens:
        """Split a text into pieces and add the special symbols."""
        found = self._tokenizer(text, truncation=False, return_special_tokens_mask=True, verbose=False)
        places = [place for place, special in enumerate(found["special_tokens_mask"]) if not special]
        return Tokens(list(found["input_ids"]), places)


class TransformersEncoder(NetworkEncoder):
    """Any encoder that transformers can read; one layer (negative: from the end), or with None all layers."""

    def __init__(self, folder: Path, name: str, digest: str, layer: int | None) -> None:
        with reading(folder, WHAT):
            tokenizer, self._model = load_pretrained(folder, "AutoModel", "a Hugging Face encoder", _UNUSED)
            settings = self._model.config
            if _is_decoder(settings):
                raise PrismError(f"{folder} is a {settings.model_type} model, not an encoder")
            layers = settings.num_hidden_layers
            self._cut = None if layer is None else check_layer(layer, layers, name)
            super().__init__(name, digest, self._cut, layers, TransformersTokenizer(tokenizer))
            self.width = settings.hidden_size
            # RoBERTa and its kin count positions from the padding's id on.
            reserved = settings.pad_token_id + 1 if _FROM_PADDING.search(settings.model_type) else 0
            self.limit = settings.max_position_embeddings - reserved
            self._pad = settings.pad_token_id or 0
            self.encode(["a test"])  # what does not fit together shows here

    def _forward(self, batch: list[list[int]]) -> NDArray[np.float32]:
        import torch

        longest = len(batch[0])
        ids = torch.tensor([[*row, *[self._pad] * (longest - len(row))] for row in batch])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in batch])
        with torch.inference_mode():
            states = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
            kept = states if self._cut is None else states[self._cut : self._cut + 1]
            found: NDArray[np.float32] = torch.stack(tuple(kept), dim=1).float().numpy()
        return found


def _is_decoder(settings: Any) -> bool:
    """Whether a model generates text rather than only reading it; many configurations do not say so themselves."""
    from transformers.models.auto import modeling_auto

    writes = settings.model_type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    reads = settings.model_type in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return settings.is_encoder_decoder or getattr(settings, "is_decoder", False) or (writes and not reads)
