"""Tokens of mBART-25 and mBART-50: SentencePiece's ids shifted by one, then the languages (`de_DE`), then `<mask>`."""

from prism_mt._core.errors import PrismError
from prism_mt.models.huggingface import codes
from prism_mt.models.huggingface.folder import Folder
from prism_mt.models.huggingface.tokens import (
    SENTENCEPIECE,
    Tokens,
    conventions,
    pieces_with_offset,
    place,
    vocabulary,
)
from prism_mt.models.spec import Symbol


def mbart50(folder: Folder) -> Tokens:
    """Both sides start with their tag, and the decoder starts with the end of sentence."""
    return _tokens(folder, codes.MBART50, ("source-tag", "pieces", "eos"), ("eos", "target-tag", "pieces", "eos"))


def mbart25(folder: Folder) -> Tokens:
    """The source ends with its tag, and the decoder starts with the tag: it is never predicted."""
    return _tokens(folder, codes.MBART25, ("pieces", "eos", "source-tag"), ("target-tag", "pieces", "eos"))


def is_mbart50(folder: Folder) -> bool:
    """Whether the folder says so or, if it names no tokenizer, whether the ids leave room for 52 languages."""
    named = {"MBart50Tokenizer": True, "MBartTokenizer": False}
    if folder.tokenizer_class in named:
        return named[folder.tokenizer_class]
    rows = int(folder.config.get("vocab_size") or 0) - len(pieces_with_offset(folder))
    if rows == len(codes.MBART25) + 1:
        return False
    if rows == len(codes.MBART50) + 1:
        return True
    raise PrismError(
        f"{folder.path}: cannot tell mBART-25 from mBART-50: "
        "set tokenizer_class in tokenizer_config.json to MBartTokenizer or MBart50Tokenizer"
    )


def _tokens(folder: Folder, order: list[str], source: tuple[Symbol, ...], target: tuple[Symbol, ...]) -> Tokens:
    pieces = pieces_with_offset(folder)
    tags = {code: len(pieces) + index for index, code in enumerate(order)}
    mask = {"<mask>": len(pieces) + len(tags)}
    tags.update({token: index for token, index in folder.added_tokens().items() if token in tags})
    placed = place(folder, pieces, mask | tags, int(folder.config["vocab_size"]))
    around = conventions(folder, placed, source, target)
    subwords = vocabulary(folder, SENTENCEPIECE, placed, around.unknown)
    return Tokens(subwords, subwords, around, dict(tags))
