"""Shared by all tokenizers: pieces by id, special tokens, tags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prism_mt._core.errors import PrismError
from prism_mt.models.huggingface.folder import Folder
from prism_mt.models.spec import Conventions, Symbol
from prism_mt.text.subwords import Vocabulary

SENTENCEPIECE = "sentencepiece.bpe.model"
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


@dataclass(frozen=True)
class Tokens:
    """The text side of a model: subwords, surrounding symbols, languages."""

    source: Vocabulary
    target: Vocabulary
    conventions: Conventions
    languages: dict[str, int | None]
    source_languages: tuple[str, ...] = ()
    target_languages: tuple[str, ...] = ()


def vocabulary(folder: Folder, name: str, pieces: tuple[str, ...] | None = None, unknown: int = 3) -> Vocabulary:
    """Load the subwords of a SentencePiece file now, so that a damaged one is reported by name."""
    subwords = Vocabulary(folder.content(name), pieces, unknown)
    try:
        # SentencePiece accepts an empty file as a model without pieces.
        usable = bool(subwords.sentencepiece) and subwords.processor.get_piece_size() > 0
    except PrismError:
        usable = False
    if not usable:
        raise PrismError(f"{folder.path / name} is damaged: download the model again")
    return subwords


def pieces_with_offset(folder: Folder) -> list[str]:
    """Pieces by id, if SentencePiece's ids are shifted by one to make room for `<pad>` (NLLB, mBART)."""
    model = vocabulary(folder, SENTENCEPIECE).processor
    own = [str(model.id_to_piece(index)) for index in range(model.get_piece_size())]
    if own[:3] != ["<unk>", "<s>", "</s>"]:
        raise PrismError(
            f"{folder.path / SENTENCEPIECE} must begin with <unk> <s> </s>, not with {' '.join(own[:3])}"
        )
    return [*_SPECIAL, *own[3:]]


def pieces_by_id(folder: Folder, name: str) -> list[str]:
    """Pieces by id from a vocabulary file, which must assign each id from 0 on exactly once."""
    table = folder.table(name)
    pieces = [""] * len(table)
    for piece, index in table.items():
        if not isinstance(index, int) or not 0 <= index < len(table) or pieces[index]:
            raise PrismError(
                f"{folder.path / name}: {piece!r} has the id {index!r}; each id must occur once from 0 on"
            )
        pieces[index] = piece
    return pieces


def place(folder: Folder, pieces: Sequence[str], tokens: Mapping[str, int], size: int) -> tuple[str, ...]:
    """All `size` pieces by id: those of the vocabulary, tokens at their ids, and names for unused rows."""
    largest = max([len(pieces) - 1, *tokens.values()])
    if largest >= size:
        raise PrismError(
            f"{folder.path}: the tokenizer has ids up to {largest:,}, but config.json says vocab_size {size:,}; "
            "its files are of different models"
        )
    placed = [*pieces, *(f"<unused-{index}>" for index in range(len(pieces), size))]
    for token, index in tokens.items():
        placed[index] = token
    return tuple(placed)


def conventions(
    folder: Folder, pieces: Sequence[str], source: tuple[Symbol, ...], target: tuple[Symbol, ...]
) -> Conventions:
    """Special ids according to the configuration, after checking that the vocabulary agrees."""
    config = folder.config
    eos, pad = int(config["eos_token_id"]), int(config["pad_token_id"])
    for key, index, piece in (("eos_token_id", eos, "</s>"), ("pad_token_id", pad, "<pad>")):
        if not 0 <= index < len(pieces) or pieces[index] != piece:
            where = pieces.index(piece) if piece in pieces else "nowhere"
            raise PrismError(
                f"{folder.path / 'config.json'}: {key} is {index}, but the tokenizer has {piece} at {where}"
            )
    if "<unk>" not in pieces:
        raise PrismError(f"{folder.path}: the vocabulary has no <unk>")
    bos = eos if config.get("bos_token_id") is None else config["bos_token_id"]
    if type(bos) is not int or not 0 <= bos < len(pieces):
        raise PrismError(
            f"{folder.path / 'config.json'}: bos_token_id is {bos!r}, which is not an id of the tokenizer"
        )
    return Conventions(source, target, bos, pad, eos, pieces.index("<unk>"))


def decoder_start(folder: Folder) -> Symbol:
    """The decoder's start token, for models whose configuration decides it."""
    config = folder.config
    start = config.get("decoder_start_token_id", config["eos_token_id"])
    symbols: tuple[Symbol, ...] = ("eos", "pad", "bos")
    for symbol in symbols:
        if start == config.get(f"{symbol}_token_id"):
            return symbol
    raise PrismError(f"{folder.path / 'config.json'}: decoder_start_token_id {start} is none of eos, pad and bos")
