"""Words for counting."""

import pytest

from prism_mt.text.tokenize import word_splitter


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("de", "Ja, um 3.5 Uhr!", ["Ja", ",", "um", "3.5", "Uhr", "!"]),
        ("zh", "他2026年来了", ["他", "2026", "年", "来", "了"]),
        ("ja", "来た ね", ["来", "た", "ね"]),
        ("", "a  b", ["a", "b"]),
        ("en", "", []),
    ],
)
def test_words(language: str, text: str, wanted: list[str]) -> None:
    assert word_splitter(language)(text) == wanted
