"""Tokens of M2M100 and SMaLL-100: a SentencePiece model, vocab.json, and tags `__xx__` after the vocabulary."""

import re

from prism_mt.models.huggingface import codes
from prism_mt.models.huggingface.folder import Folder
from prism_mt.models.huggingface.tokens import (
    SENTENCEPIECE,
    Tokens,
    conventions,
    decoder_start,
    pieces_by_id,
    place,
    vocabulary,
)
from prism_mt.models.spec import Symbol

_TAG = re.compile(r"__(\w+?)__")


def m2m100(folder: Folder) -> Tokens:
    """The source starts with its own tag, the target with its own."""
    return _tokens(folder, "source-tag", (decoder_start(folder), "target-tag", "pieces", "eos"))


def small100(folder: Folder) -> Tokens:
    """The source starts with the tag of the *target* language, and the target has no tag at all."""
    return _tokens(folder, "target-tag", (decoder_start(folder), "pieces", "eos"))


def is_small100(folder: Folder) -> bool:
    """Whether an M2M100 network is SMaLL-100.

    Its configuration is an M2M100's. What tells it is the class of its tokenizer, the file in which the original
    model brings that class (never run here), or else its name.
    """
    names = f"{folder.name} {folder.config.get('_name_or_path', '')}".lower().replace("-", "")
    return (
        folder.tokenizer_class.upper().startswith("SMALL100")
        or folder.has("tokenization_small100.py")
        or "small100" in names
    )


def _tokens(folder: Folder, source_tag: Symbol, target: tuple[Symbol, ...]) -> Tokens:
    pieces = pieces_by_id(folder, "vocab.json")
    order = codes.WMT21 if folder.tokenizer.get("language_codes") == "wmt21" else codes.M2M100
    tags = {f"__{code}__": len(pieces) + index for index, code in enumerate(order)}
    tags.update({token: index for token, index in folder.added_tokens().items() if _TAG.fullmatch(token)})
    placed = place(folder, pieces, tags, int(folder.config["vocab_size"]))
    around = conventions(folder, placed, (source_tag, "pieces", "eos"), target)
    subwords = vocabulary(folder, SENTENCEPIECE, placed, around.unknown)
    return Tokens(subwords, subwords, around, {token.strip("_"): index for token, index in tags.items()})
