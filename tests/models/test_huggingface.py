"""Every family against transformers' own tokenizer and model files."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import hf_models  # noqa: E402
from hf_models import FAMILIES, LANGUAGES, Family, cached, edit  # noqa: E402

from prism_mt.models import huggingface  # noqa: E402
from prism_mt.models.huggingface import codes  # noqa: E402
from prism_mt.models.spec import Architecture  # noqa: E402

Copier = Callable[..., Path]

TEXTS = [
    "der Hund läuft über die Straße 你好.",
    "  zwei   Leerzeichen  ",
    "",
    "😀 unknown Ω chars 😀😀 x",
    "bonjour le monde, 世界! привет",
    "<s> </s> <unk>",
]
# Half-width forms, ligatures, no-break spaces: SentencePiece normalizes them.
UNNORMALISED = ["ﬁnd ½ ① ｗｉｄｅ", "a\u00a0b\u3000c\td"]


@pytest.mark.parametrize("family", FAMILIES)
def test_sequences_are_those_of_transformers(family: Family) -> None:
    folder, network, tokenizer = cached(family)
    model = huggingface.read(folder)
    source_language, target_language = LANGUAGES[family]
    tags = model.spec.languages
    texts = TEXTS + UNNORMALISED
    # transformers 5 has its own code instead of SentencePiece for these three. It makes a piece of spaces at the
    # end, and for mBART-25 leaves out the normalization; SentencePiece is what the models were trained with.
    if family in ("nllb", "mbart50", "mbart25"):
        texts = [text.rstrip() for text in (TEXTS if family == "mbart25" else texts)]
    for source, target in zip(texts, reversed(texts), strict=True):
        if "<" in source + target:
            continue  # transformers takes special tokens in a text for themselves, which a text must not do
        expected = hf_models.ids(family, network, tokenizer, source, target, source_language, target_language)
        encoded = model.spec.conventions.encode_source(
            model.source.encode(source), tags[source_language], tags[target_language]
        )
        forced = model.spec.conventions.encode_target(model.target.encode(target), tags[target_language])
        assert list(encoded) == expected.source
        assert list(forced[:-1]) == expected.decoder_input
        assert list(forced[1:]) == expected.labels


@pytest.mark.parametrize("family", FAMILIES)
def test_special_tokens_in_a_text_are_text(family: Family) -> None:
    model = huggingface.read(cached(family)[0])
    conventions = model.spec.conventions
    special = {conventions.eos, conventions.pad, conventions.bos, *model.spec.languages.values()} - {None}
    for text in ("<s> </s>", "<pad>", "__de__", "deu_Latn", "de_DE", ">>fra<<"):
        assert not special & set(model.source.encode(text))


@pytest.mark.parametrize(
    ("family", "source", "target", "tags"),
    [
        # 300 SentencePiece pieces: 297 and four special ones in front, so the first tag is at 301
        (
            "m2m100",
            ("source-tag", "pieces", "eos"),
            ("eos", "target-tag", "pieces", "eos"),
            {"af": 301, "zu": 400},
        ),
        ("nllb", ("source-tag", "pieces", "eos"), ("eos", "target-tag", "pieces", "eos"), {"ace_Arab": 301}),
        ("mbart50", ("source-tag", "pieces", "eos"), ("eos", "target-tag", "pieces", "eos"), {"sl_SI": 352}),
        (
            "mbart25",
            ("pieces", "eos", "source-tag"),
            ("target-tag", "pieces", "eos"),
            {"ar_AR": 301, "zh_CN": 325},
        ),
        ("small100", ("target-tag", "pieces", "eos"), ("eos", "pieces", "eos"), {"af": 301, "zu": 400}),
        ("marian", ("pieces", "eos"), ("pad", "pieces", "eos"), {"de": None, "en": None}),
        (
            "marian-tags",
            ("target-tag", "pieces", "eos"),
            ("pad", "pieces", "eos"),
            {"en": None, "fra": 2, "deu": 3},
        ),
        ("marian-separate", ("pieces", "eos"), ("pad", "pieces", "eos"), {"en": None, "de": None}),
    ],
)
def test_conventions_and_tags(
    family: Family, source: tuple[str, ...], target: tuple[str, ...], tags: dict[str, int | None]
) -> None:
    spec = huggingface.read(cached(family)[0]).spec
    assert (spec.conventions.source, spec.conventions.target) == (source, target)
    assert {code: spec.languages[code] for code in tags} == tags


@pytest.mark.parametrize(
    ("family", "token"),
    [("m2m100", "__{}__"), ("small100", "__{}__"), ("nllb", "{}"), ("mbart50", "{}"), ("mbart25", "{}")],
)
def test_every_tag_has_the_id_of_transformers(family: Family, token: str) -> None:
    folder, network, tokenizer = cached(family)
    spec = huggingface.read(folder).spec
    assert (
        len(spec.languages) == {"m2m100": 100, "small100": 100, "nllb": 202, "mbart50": 52, "mbart25": 25}[family]
    )
    for code, index in spec.languages.items():
        assert index == tokenizer.convert_tokens_to_ids(token.format(code))
    conventions = spec.conventions
    assert (conventions.bos, conventions.pad, conventions.eos, conventions.unknown) == (0, 1, 2, 3)
    assert conventions.eos == network.config.eos_token_id


def test_marian_languages_have_a_direction() -> None:
    spec = huggingface.read(cached("marian")[0]).spec
    assert (spec.source_languages, spec.target_languages) == (("de",), ("en",))
    spec = huggingface.read(cached("marian-tags")[0]).spec
    assert (spec.source_languages, spec.target_languages) == (("en",), ("fra", "deu", "cmn_Hans"))


def test_codes_are_those_of_transformers() -> None:
    from transformers.models.m2m_100 import tokenization_m2m_100
    from transformers.models.mbart import tokenization_mbart
    from transformers.models.mbart50 import tokenization_mbart50
    from transformers.models.nllb import tokenization_nllb

    assert tokenization_m2m_100.FAIRSEQ_LANGUAGE_CODES == {"m2m100": codes.M2M100, "wmt21": codes.WMT21}
    assert tokenization_mbart.FAIRSEQ_LANGUAGE_CODES == codes.MBART25
    assert tokenization_mbart50.FAIRSEQ_LANGUAGE_CODES == codes.MBART50
    assert tokenization_nllb.FAIRSEQ_LANGUAGE_CODES == codes.NLLB200


M2M100 = Architecture(
    width=32,
    encoder_layers=2,
    decoder_layers=1,
    encoder_heads=4,
    decoder_heads=2,
    encoder_feed_forward=48,
    decoder_feed_forward=40,
    source_vocabulary=409,
    target_vocabulary=409,
    max_positions=128,
)
MBART = dataclasses.replace(M2M100, embedding_norm=True, activation="gelu", positions="learned", position_offset=0)
MARIAN = dataclasses.replace(
    M2M100, norm="post", final_norm=False, activation="swish", positions="marian", position_offset=0
)


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("m2m100", M2M100),
        ("nllb", M2M100),
        ("small100", M2M100),
        ("mbart50", dataclasses.replace(MBART, output_bias=True)),
        ("mbart25", MBART),
        ("marian", dataclasses.replace(MARIAN, output_bias=True)),
        ("marian-tags", MARIAN),
        ("marian-separate", dataclasses.replace(MARIAN, output_bias=True, tied_embeddings=False)),
    ],
)
def test_architecture(family: Family, expected: Architecture) -> None:
    folder, network, _ = cached(family)
    model = huggingface.read(folder)
    read = model.spec.architecture
    assert read == dataclasses.replace(
        expected, source_vocabulary=read.source_vocabulary, target_vocabulary=read.target_vocabulary
    )
    assert len(model.source) == network.get_encoder().embed_tokens.num_embeddings == read.source_vocabulary
    assert len(model.target) == network.lm_head.out_features == read.target_vocabulary
    assert model.spec.origin == f"huggingface:{network.config.model_type}"


@pytest.mark.parametrize("family", ["nllb", "mbart50", "mbart25"])
def test_families_without_a_named_tokenizer(family: Family, copied: Copier) -> None:
    folder = copied(family)
    (folder / "tokenizer_config.json").unlink()
    assert huggingface.read(folder).spec.languages == huggingface.read(cached(family)[0]).spec.languages
    assert huggingface.read(folder).spec.conventions == huggingface.read(cached(family)[0]).spec.conventions


def test_small100_by_name_or_file(copied: Copier) -> None:
    named = copied("m2m100", "SMaLL-100-tuned")
    assert huggingface.read(named).spec.conventions.source[0] == "target-tag"
    with_file = copied("m2m100", "other")
    assert huggingface.read(with_file).spec.conventions.source[0] == "source-tag"
    (with_file / "tokenization_small100.py").write_text("raise SystemExit('must never run')")
    assert huggingface.read(with_file).spec.conventions.source[0] == "target-tag"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("opus-mt-de-en", ("de", "en")),
        ("opus-mt-tc-big-zls-en", ("zls", "en")),
        ("models--Helsinki-NLP--opus-mt-de-fr/snapshots/0123abc", ("de", "fr")),
    ],
)
def test_marian_languages_from_the_name(name: str, expected: tuple[str, str], copied: Copier) -> None:
    folder = copied("marian", name)
    edit(folder / "tokenizer_config.json", source_lang=None, target_lang=None)
    spec = huggingface.read(folder).spec
    assert tuple(spec.languages) == expected
    assert spec.name == (name if "/" not in name else "Helsinki-NLP/opus-mt-de-fr")


def test_nllb_with_more_languages_and_legacy_tags(copied: Copier) -> None:
    folder = copied("nllb")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    config["added_tokens_decoder"][str(size - 1)] = {"content": "tyv_Cyrl"}
    hf_models.write_json(folder / "tokenizer_config.json", config | {"legacy_behaviour": True})
    spec = huggingface.read(folder).spec
    assert spec.languages["tyv_Cyrl"] == size - 1
    assert spec.conventions.source == ("pieces", "eos", "source-tag")
