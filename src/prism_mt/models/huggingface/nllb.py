"""Tokens of NLLB-200: SentencePiece's ids shifted by one, then the languages (`deu_Latn`), then `<mask>`."""

import re

from prism_mt.models.huggingface import codes
from prism_mt.models.huggingface.folder import Folder
from prism_mt.models.huggingface.tokens import (
    SENTENCEPIECE,
    Tokens,
    conventions,
    decoder_start,
    pieces_with_offset,
    place,
    vocabulary,
)
from prism_mt.models.spec import Symbol

_TAG = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")


def nllb(folder: Folder) -> Tokens:
    """Both sides start with their own tag.

    This is how NLLB was trained and what transformers does by default. Its first releases put the source's tag
    after the end of sentence; a model that was tuned like that says `legacy_behaviour` in tokenizer_config.json.
    """
    pieces = pieces_with_offset(folder)
    tags = {code: len(pieces) + index for index, code in enumerate(codes.NLLB200)}
    mask = {"<mask>": len(pieces) + len(tags)}
    # A model trained on more languages assigns their ids itself.
    added = folder.added_tokens()
    tags.update({token: index for token, index in added.items() if _TAG.fullmatch(token)})
    placed = place(folder, pieces, mask | tags, int(folder.config["vocab_size"]))
    legacy = bool(folder.tokenizer.get("legacy_behaviour"))
    source: tuple[Symbol, ...] = ("pieces", "eos", "source-tag") if legacy else ("source-tag", "pieces", "eos")
    around = conventions(folder, placed, source, (decoder_start(folder), "target-tag", "pieces", "eos"))
    subwords = vocabulary(folder, SENTENCEPIECE, placed, around.unknown)
    return Tokens(subwords, subwords, around, dict(tags))
