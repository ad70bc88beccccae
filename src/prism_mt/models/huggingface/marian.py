"""Tokens of Marian models (OPUS-MT): a SentencePiece model per side, one vocabulary or two, tags `>>xx<<` if any."""

import re

from prism_mt._core.errors import PrismError
from prism_mt.models.huggingface.folder import Folder
from prism_mt.models.huggingface.tokens import Tokens, conventions, decoder_start, pieces_by_id, place, vocabulary
from prism_mt.models.spec import Symbol

_TAG = re.compile(r">>(.+)<<")
_OPUS = re.compile(r"opus-mt-(?:.+-)?([^-]+)-([^-]+)")


def marian(folder: Folder) -> Tokens:
    """The decoder starts with padding; a model with several target languages has the target's tag on the source."""
    config = folder.config
    shared = bool(config.get("share_encoder_decoder_embeddings", True))
    pieces = place(folder, pieces_by_id(folder, "vocab.json"), {}, int(config["vocab_size"]))
    written = pieces
    if not shared:
        written = place(folder, pieces_by_id(folder, "target_vocab.json"), {}, int(config["decoder_vocab_size"]))
    tags = {match[1]: index for index, piece in enumerate(pieces) if (match := _TAG.fullmatch(piece))}
    source: tuple[Symbol, ...] = ("target-tag", "pieces", "eos") if tags else ("pieces", "eos")
    around = conventions(folder, pieces, source, (decoder_start(folder), "pieces", "eos"))
    for index, piece in ((around.eos, "</s>"), (around.unknown, "<unk>")):
        if written[index] != piece:
            raise PrismError(f"{folder.path}: {piece} has another id in target_vocab.json than in vocab.json")
    languages, reads, writes = _languages(folder, tags)
    return Tokens(
        vocabulary(folder, "source.spm", pieces, around.unknown),
        vocabulary(folder, "target.spm", written, around.unknown),
        around,
        languages,
        reads,
        writes,
    )


def _languages(
    folder: Folder, tags: dict[str, int]
) -> tuple[dict[str, int | None], tuple[str, ...], tuple[str, ...]]:
    """Languages with their tags, those that the model reads, and those that it writes.

    A model of one pair reads one language and writes the other; it has no tags.
    """
    pair = _pair(folder)
    if pair is None and not tags:
        raise PrismError(
            f"{folder.path}: cannot tell the languages of this Marian model: "
            "set source_lang and target_lang in tokenizer_config.json"
        )
    writes = tuple(tags) if tags or pair is None else (pair[1],)
    languages: dict[str, int | None] = {code: tags.get(code) for code in writes}
    if pair is None:
        return languages, (), writes
    return {pair[0]: languages.get(pair[0])} | languages, (pair[0],), writes


def _pair(folder: Folder) -> tuple[str, str] | None:
    """(source, target) from tokenizer_config.json, or from a name like `opus-mt-de-en`."""
    source, target = folder.tokenizer.get("source_lang"), folder.tokenizer.get("target_lang")
    if source and target:
        return str(source), str(target)
    for name in (folder.name, str(folder.config.get("_name_or_path") or "").rstrip("/")):
        if match := _OPUS.fullmatch(name.rsplit("/", 1)[-1]):
            return match[1], match[2]
    return None
