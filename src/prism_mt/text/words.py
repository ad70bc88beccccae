"""Where the words of a text are: between spaces, or short runs of one script in Chinese and Japanese."""

import re
import unicodedata

from prism_mt._core.errors import PrismError
from prism_mt.text.languages import find_language

Span = tuple[int, int]
"""Characters of a text from the first to the one after the last."""

_CHARACTERS = frozenset({"ja", "zh", "yue", "wuu"})
"""Languages without spaces whose characters stand in for words."""
_UNKNOWN = frozenset({"bo", "dz", "km", "lo", "my", "th"})
"""Languages without spaces whose letters are too small to be words."""
_SPACED = re.compile(r"\S+")
_UNSPACED = re.compile(
    r"[0-9０-９]+(?:[.,][0-9０-９]+)*|[A-Za-z]+|[ァ-ヺー]+|[ぁ-ゖ]{1,2}|[^\W\dA-Za-z_ァ-ヺーぁ-ゖ]{1,2}"
)
"""Numbers, Latin letters and katakana stay together; of other letters two of one script are a word."""


def has_spaces(language: str) -> bool:
    """Whether spaces separate the words of a language; an error where word boundaries are unknown."""
    found = find_language(language)
    code = found.code if found else language
    if code in _UNKNOWN:
        name = found.name if found else language
        raise PrismError(
            f"the word boundaries of {name} are unknown, since it writes no spaces: "
            "choose a language with spaces, Chinese or Japanese"
        )
    return code not in _CHARACTERS


def words_of(text: str, language: str) -> list[Span]:
    """Find the words of a text, without the punctuation around them."""
    if not has_spaces(language):
        return [match.span() for match in _UNSPACED.finditer(text)]
    spans = (_trimmed(text, *match.span()) for match in _SPACED.finditer(text))
    return [span for span in spans if span[0] < span[1]]


def _trimmed(text: str, start: int, end: int) -> Span:
    # `\w` would not do: the vowel signs of Bengali and the points of Hebrew are marks, not letters.
    while start < end and _is_punctuation(text[start]):
        start += 1
    while start < end and _is_punctuation(text[end - 1]):
        end -= 1
    return start, end


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"
