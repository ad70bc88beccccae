"""Words of a text for counting and showing, not for scoring: as BLEU splits them, or characters without spaces."""

from collections.abc import Callable
from functools import cache
from typing import Any

_UNSPACED = frozenset({"ja", "th", "lo", "km", "my", "bo"})
"""Languages that are written without spaces and need a package to be split."""


@cache
def word_splitter(language: str) -> Callable[[str], list[str]]:
    """Return the function that splits texts of a language (a code, or empty where it is not known)."""
    if language in _UNSPACED:
        return lambda text: [letter for letter in text if not letter.isspace()]
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

    kind: Any = TokenizerZh if language == "zh" else Tokenizer13a
    tokenizer = kind()
    return lambda text: str(tokenizer(text)).split()
