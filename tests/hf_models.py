"""Small random Hugging Face models with real tokenizer files, in the layout of each family.

`make` writes a folder and gives the transformers model and tokenizer for it; `ids` gives what transformers feeds them.
"""

import io
import json
import random
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

Family = Literal["m2m100", "nllb", "mbart50", "mbart25", "small100", "marian", "marian-tags", "marian-separate"]
FAMILIES: tuple[Family, ...] = (
    "m2m100",
    "nllb",
    "mbart50",
    "mbart25",
    "small100",
    "marian",
    "marian-tags",
    "marian-separate",
)
LANGUAGES: dict[Family, tuple[str, str]] = {
    "m2m100": ("de", "fr"),
    "nllb": ("deu_Latn", "zho_Hans"),
    "mbart50": ("de_DE", "uk_UA"),
    "mbart25": ("de_DE", "ro_RO"),
    "small100": ("de", "fr"),
    "marian": ("de", "en"),
    "marian-tags": ("en", "fra"),
    "marian-separate": ("en", "de"),
}
"""Two languages of each family: one to translate from, one to translate into."""

_SYLLABLES = (
    "der die das und ein hau haus stra ße über the dog cat run ing tion le la monde jour bon при вет мир день "
    "你 好 世 界 こ ん に ち مر حبا नम स्ते é ü ñ a e i o u n t s r , . ! ? 1 2 3"
)
_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


@dataclass(frozen=True)
class Ids:
    """What transformers feeds and predicts: `labels[i]` is predicted from `decoder_input[: i + 1]`."""

    source: list[int]
    decoder_input: list[int]
    labels: list[int]


def make(family: Family, folder: Path, seed: int = 0) -> tuple[Path, Any, Any]:
    """Write a random model of this family; returns the folder, transformers' model (in eval mode) and tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    if family.startswith("marian"):
        tokenizer, vocabulary, decoder_vocabulary = _marian_tokenizer(family, folder)
    else:
        tokenizer, vocabulary = _multilingual_tokenizer(family, folder)
        decoder_vocabulary = vocabulary
    model = _network(family, vocabulary, decoder_vocabulary, seed)
    model.save_pretrained(folder)
    return folder, model, tokenizer


@cache
def cached(family: Family) -> tuple[Path, Any, Any]:
    """`make`, once a test run. The folder is shared: change only a copy of it."""
    return make(family, Path(_folder().name) / family)


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="hf-models-")


def ids(
    family: Family,
    model: Any,
    tokenizer: Any,
    source: str,
    target: str,
    source_language: str,
    target_language: str,
) -> Ids:
    """The encoder's input, the decoder's input and the labels for a pair of texts, by transformers' own code.

    mBART-25's labels end with the tag, from which its shift makes the decoder's start. What would be predicted
    *after* the end of sentence is cut off here.
    """
    import torch

    if family in ("marian", "marian-separate"):
        encoded = tokenizer(source, text_target=target)
    elif family == "marian-tags":
        encoded = tokenizer(f">>{target_language}<< {source}", text_target=target)
    elif family == "small100":
        # Its own tokenizer, which is not in transformers, takes the target's tag for the source and none after it.
        tokenizer.src_lang = target_language
        plain = tokenizer(target, add_special_tokens=False)["input_ids"]
        encoded = {"input_ids": tokenizer(source)["input_ids"], "labels": [*plain, tokenizer.eos_token_id]}
    else:
        tokenizer.src_lang, tokenizer.tgt_lang = source_language, target_language
        encoded = tokenizer(source, text_target=target)
    labels = list(encoded["labels"])
    # The function with which the model's own forward makes the decoder's input from labels.
    shift = sys.modules[type(model).__module__].shift_tokens_right
    start = () if family.startswith("mbart") else (model.config.decoder_start_token_id,)
    shifted = shift(torch.tensor([labels]), model.config.pad_token_id, *start)[0].tolist()
    if labels[-1] != tokenizer.eos_token_id:
        labels, shifted = labels[:-1], shifted[:-1]
    return Ids(list(encoded["input_ids"]), shifted, labels)


@cache
def sentencepiece_model(kind: str = "unigram", seed: int = 0, size: int = 300) -> bytes:
    """A SentencePiece model with its usual ids (`<unk>`, `<s>`, `</s>` first), trained on made-up words."""
    import sentencepiece

    generator = random.Random(seed)
    words = ["".join(generator.choices(_SYLLABLES.split(), k=generator.randint(1, 4))) for _ in range(600)]
    lines = [" ".join(generator.choices(words, k=8)) for _ in range(1500)]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=size,
        model_type=kind,
        character_coverage=1.0,
        minloglevel=2,
    )
    return model.getvalue()


def pieces(model: bytes) -> list[str]:
    """The pieces of a SentencePiece model without its three special ones."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(index) for index in range(3, processor.get_piece_size())]


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def edit(path: Path, **changes: object) -> None:
    """Change keys of a JSON file; None takes a key away."""
    table = json.loads(path.read_text()) | changes
    write_json(path, {key: value for key, value in table.items() if value is not None})


def _multilingual_tokenizer(family: Family, folder: Path) -> tuple[Any, int]:
    """Files of a tokenizer whose languages are tags of one vocabulary, and the number of embeddings."""
    import transformers

    model = sentencepiece_model("bpe" if family == "nllb" else "unigram")
    (folder / "sentencepiece.bpe.model").write_bytes(model)
    vocabulary = [*_SPECIAL, *pieces(model)]
    config: dict[str, object] = {}
    if family in ("m2m100", "small100"):
        write_json(folder / "vocab.json", {piece: index for index, piece in enumerate(vocabulary)})
        config["tokenizer_class"] = "SMALL100Tokenizer" if family == "small100" else "M2M100Tokenizer"
        write_json(folder / "tokenizer_config.json", config)
        # 100 languages, 8 made-up words
        return transformers.M2M100Tokenizer.from_pretrained(folder), len(vocabulary) + 108
    if family == "nllb":
        from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

        added = [*FAIRSEQ_LANGUAGE_CODES, "<mask>"]
        config["added_tokens_decoder"] = {
            str(len(vocabulary) + index): {"content": token, "special": True} for index, token in enumerate(added)
        }
        config |= {"additional_special_tokens": FAIRSEQ_LANGUAGE_CODES, "tokenizer_class": "NllbTokenizer"}
        write_json(folder / "tokenizer_config.json", config)
        # The released model has two rows that nothing uses, too.
        return transformers.NllbTokenizer.from_pretrained(folder), len(vocabulary) + len(added) + 2
    name = "MBart50Tokenizer" if family == "mbart50" else "MBartTokenizer"
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": name})
    return getattr(transformers, name).from_pretrained(folder), len(vocabulary) + (
        53 if family == "mbart50" else 26
    )


def _marian_tokenizer(family: Family, folder: Path) -> tuple[Any, int, int]:
    """Files of a Marian tokenizer, and the numbers of source and target embeddings."""
    import transformers

    models = sentencepiece_model(seed=1), sentencepiece_model(seed=2, size=320)
    for side, model in zip(("source", "target"), models, strict=True):
        (folder / f"{side}.spm").write_bytes(model)
    tags = [">>fra<<", ">>deu<<", ">>cmn_Hans<<"] if family == "marian-tags" else []
    config: dict[str, object] = {"tokenizer_class": "MarianTokenizer"}
    source_language, target_language = LANGUAGES[family]
    config |= {"source_lang": source_language, "target_lang": "mul" if tags else target_language}
    if family == "marian-separate":
        source, target = (["</s>", "<unk>", *pieces(model), "<pad>"] for model in models)
        write_json(folder / "target_vocab.json", {piece: index for index, piece in enumerate(target)})
        config["separate_vocabs"] = True
    else:
        # A few target pieces are left out: Marian's vocabulary is not SentencePiece's.
        both = sorted({*pieces(models[0]), *pieces(models[1])[:-5]})
        source = target = ["</s>", "<unk>", *tags, *both, "<pad>"]
    write_json(folder / "vocab.json", {piece: index for index, piece in enumerate(source)})
    write_json(folder / "tokenizer_config.json", config)
    return transformers.MarianTokenizer.from_pretrained(folder), len(source), len(target)


def _network(family: Family, vocabulary: int, decoder_vocabulary: int, seed: int) -> Any:
    """A random network in which every weight, bias and norm matters."""
    import torch
    import transformers

    options: dict[str, Any] = {
        "vocab_size": vocabulary,
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 1,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 40,
        "max_position_embeddings": 128,
    }
    model: Any
    if family.startswith("marian"):
        pad = vocabulary - 1
        options |= {
            "pad_token_id": pad,
            "decoder_start_token_id": pad,
            "eos_token_id": 0,
            "forced_eos_token_id": 0,
        }
        options |= {
            "decoder_vocab_size": decoder_vocabulary,
            "activation_function": "swish",
            "scale_embedding": True,
        }
        options |= {"share_encoder_decoder_embeddings": family != "marian-separate"}
        model = transformers.MarianMTModel(transformers.MarianConfig(**options))
    elif family.startswith("mbart"):
        options |= {"scale_embedding": True}
        model = transformers.MBartForConditionalGeneration(transformers.MBartConfig(**options))
    else:
        model = transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(**options))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name and name.endswith("weight"):
                weight.add_(0.1 * torch.randn(weight.shape, generator=generator))
            elif weight.requires_grad:  # not Marian's sinusoids
                weight.copy_(torch.randn(weight.shape, generator=generator) * (0.1 if weight.dim() == 1 else 0.25))
        if family in ("marian", "marian-separate", "mbart50"):
            model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=generator))
    return model.eval()
