import pytest

from prism_mt import PrismError
from prism_mt.text.words import has_spaces, words_of


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("“Hello,” she said – twice.", "en", ["Hello", "she", "said", "twice"]),
        ("Er kam um 10:30 Uhr.", "de", ["Er", "kam", "um", "10:30", "Uhr"]),
        ("নতুন স্ট্যান্ডার্ড।", "bn", ["নতুন", "স্ট্যান্ডার্ড"]),
        ("他买了3.5个iPhone。", "zh", ["他买", "了", "3.5", "个", "iPhone"]),
        ("キューバの首都で1959年に", "ja", ["キューバ", "の", "首都", "で", "1959", "年", "に"]),
        ("", "en", []),
    ],
)
def test_words(text: str, language: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in words_of(text, language)] == words


def test_a_language_whose_words_are_unknown() -> None:
    with pytest.raises(PrismError, match="word boundaries of Thai are unknown"):
        has_spaces("th")
    assert has_spaces("German")
    assert not has_spaces("zh-TW")
