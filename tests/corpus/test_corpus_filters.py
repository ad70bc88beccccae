from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Context
from prism_mt.corpus.steps.copies import CopyFilter, overlap
from prism_mt.corpus.steps.decontaminate import Decontaminate
from prism_mt.corpus.steps.language import LanguageFilter
from prism_mt.corpus.steps.length import Length
from prism_mt.corpus.steps.margin import MarginColumn
from prism_mt.corpus.steps.normalize import Normalize
from prism_mt.corpus.steps.script import ScriptFilter, script_of


def row(text1: str, text2: str, languages: str = "de-en", margin: float | None = None) -> Row:
    lang1, lang2 = languages.split("-")
    return Row(0, 1, lang1, lang2, text1, text2, margin)


@pytest.mark.parametrize(
    ("form", "before", "after"),
    [
        ("NFC", "  cafe\u0301\t\u00a0au\u200b lait\n", "café au lait"),
        ("NFC", "ﬁn\u0007e", "ﬁn e"),
        ("NFKC", "ﬁne ①", "fine 1"),
        ("NFC", "co\u00adoperate\ufeff", "cooperate"),
    ],
)
def test_normalize(context: Context, form: str, before: str, after: str) -> None:
    step = Normalize(Normalize.Config(form=form), context)  # type: ignore[arg-type]
    assert [kept.text1 for kept in step.apply([row(before, "x")])] == [after]


def test_normalize_drops_a_side_that_vanishes(context: Context) -> None:
    assert Normalize(Normalize.Config(), context).apply([row("\u200b", "x")]) == []


@pytest.mark.parametrize(
    ("text1", "text2", "pair", "kept"),
    [
        ("a" * 30, "b" * 10, "de-en", True),  # exactly 3.0
        ("a" * 31, "b" * 10, "de-en", False),
        ("a" * 20, "b", "de-en", True),  # too short to ask for the ratio
        ("a" * 21, "b", "de-en", False),
        ("a" * 90, "中" * 10, "en-zh", True),  # 90 against 30
        ("a" * 91, "中" * 10, "en-zh", False),
        ("a" * 100, "b" * 100, "de-en", True),
        ("a" * 101, "b" * 101, "de-en", False),
        ("a b c d e f g h i j", "x" * 19, "de-en", True),
        ("a b c d e f g h i j k", "x" * 21, "de-en", False),
        ("a", "bb", "de-en", False),
    ],
)
def test_length_limits(context: Context, text1: str, text2: str, pair: str, kept: bool) -> None:
    config = Length.Config(min_characters=1, max_characters=100, max_words=10, max_ratio=3.0, ratio_from=20)
    if text1 == "a":
        config = replace(config, min_characters=2)
    assert bool(Length(config, context).apply([row(text1, text2, pair)])) is kept


@pytest.mark.parametrize(
    ("character", "script"),
    [("们", "simplified"), ("們", "traditional"), ("人", None), ("a", "latin"), ("š", "latin"), ("ш", "cyrillic")],
)
def test_script_of_a_character(character: str, script: str | None) -> None:
    assert script_of(character) == script


@pytest.mark.parametrize(
    ("text", "kept"),
    [("我们爱学习", True), ("我們愛學習", False), ("人人", True), ("我们愛", True), ("我們愛们", False)],
)
def test_simplified_only(context: Context, text: str, kept: bool) -> None:
    step = ScriptFilter(ScriptFilter.Config(scripts={"zh": "simplified"}), context)
    assert bool(step.apply([row("hello", text, "en-zh")])) is kept


def fake_identifier(text: str) -> str:
    """English when the window contains an `e`."""
    return "en" if "e" in text else "de"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("e a a a a a", True),  # 1 of 2 windows: exactly half
        ("e a a a a a a", False),  # 1 of 3
        ("a a a a e a a a", True),  # 4 of 4
        ("a a a a a a e", False),  # 1 of 3
        ("a a a a a a e a", True),  # 2 of 4: exactly half
        ("a e", True),  # identified as a whole
        ("a a a", False),
    ],
)
def test_half_of_the_word_5_grams_must_agree(context: Context, text: str, kept: bool) -> None:
    step = LanguageFilter(LanguageFilter.Config(), context, identify=fake_identifier)
    assert step.agrees("en", text) is kept


def test_languages_without_spaces_use_character_windows(context: Context) -> None:
    step = LanguageFilter(LanguageFilter.Config(characters=4), context)
    assert step.windows("zh", "一二三四五六") == ["一二三四", "二三四五", "三四五六"]
    assert step.windows("zh", "一二") == ["一二"]
    assert step.windows("de", "eins zwei drei vier fünf sechs") == [
        "eins zwei drei vier fünf",
        "zwei drei vier fünf sechs",
    ]


def test_the_bundled_identifier_keeps_what_is_in_its_language(context: Context) -> None:
    pytest.importorskip("fasttext", reason="needs the extra lid")
    step = LanguageFilter(LanguageFilter.Config(), context)
    german = "Der Ausschuss hat gestern über den neuen Vorschlag abgestimmt."
    english = "The committee voted on the new proposal yesterday afternoon."
    chinese = "委员会昨天对新的提案进行了表决，结果将在明天公布。"
    rows = [row(german, english), row(english, german), row(english, chinese, "en-zh")]
    assert step.apply(rows) == [rows[0], rows[2]]


@pytest.mark.parametrize(
    ("text1", "text2", "n", "share"),
    [
        ("a b c d e", "a b c d e", 3, 1.0),
        ("a b c d e f g", "a b c d e x y z", 3, 3 / 5),
        ("a b c d e f g h", "a b c d e x y", 3, 3 / 5),
        ("a b a b a b", "a b a x", 3, 1 / 2),  # distinct 3-grams of the shorter side: aba, bax
        ("a b", "a b", 3, 0.0),
    ],
)
def test_overlap_is_over_distinct_ngrams_of_the_shorter_side(text1: str, text2: str, n: int, share: float) -> None:
    assert overlap(text1.split(), text2.split(), n) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text1", "text2", "kept"),
    [
        # 3 of 5 3-grams (60 %) and 2 of 4 4-grams (50 %): too many 4-grams
        ("a b c d e f g", "a b c d e x y z", False),
        # 7 pieces: 3 of 5 3-grams are exactly 60 %, 1 of 4 4-grams is 25 %
        ("a b c d e f g", "a b c d z c d e w", True),
        # 4 of 6 3-grams (67 %), 2 of 5 4-grams (40 %)
        ("a b c d e f g h", "a b c d z e f g h", False),
        # 3 of 6 3-grams (50 %), 2 of 5 4-grams: exactly 40 %
        ("a b c d e f g h", "a b c d e x y z w", True),
        # 4 of 7 3-grams (57 %), 3 of 6 4-grams (50 %)
        ("a b c d e f g h i", "a b c d e f x y z w", False),
        ("ja", "ja", False),
    ],
)
def test_copies_at_the_thresholds(context: Context, text1: str, text2: str, kept: bool) -> None:
    def words(text: str) -> Sequence[str]:
        return text.split()

    step = CopyFilter(CopyFilter.Config(), context, tokenize=words)
    assert bool(step.apply([row(text1, text2)])) is kept


def test_decontamination_ignores_case_spaces_and_punctuation(context: Context, tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('{"_id": "Same id", "en": "It rains, again!"}\n', "utf-8")
    (tmp_path / "test.tsv").write_text("de\ten\tDer Hund bellt.\tThe dog barks.\n", "utf-8")
    step = Decontaminate(
        Decontaminate.Config(), replace(context, heldout=(tmp_path / "test.jsonl", tmp_path / "test.tsv"))
    )
    clean = [row("Same id", "It rains"), row("de", "en")]
    assert step.apply([row("Es regnet", "it rains again"), row("der hund BELLT", "x"), *clean]) == clean


def test_unreadable_held_out_file_names_the_line(context: Context, tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('{"en": "fine"}\nbroken\n', "utf-8")
    step = Decontaminate(Decontaminate.Config(), replace(context, heldout=(tmp_path / "test.jsonl",)))
    with pytest.raises(PrismError, match=r"test\.jsonl, line 2"):
        step.apply([row("a", "b")])


def test_precomputed_margins(context: Context) -> None:
    rows = [row("a", "b", margin=1.04), row("c", "d", margin=1.0399), row("e", "f")]
    assert MarginColumn(MarginColumn.Config(threshold=1.04), context).apply(rows) == [rows[0], rows[2]]
