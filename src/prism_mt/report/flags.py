"""Warnings about suspicious outputs: empty ones, the same output for different segments, the wrong language."""

from collections.abc import Sequence

from prism_mt._core.errors import PrismError
from prism_mt.text.languages import LanguageCheck, language

EMPTY, REPEATED, FOREIGN = "empty", "repeated", "another language"
# Short outputs ("Yes.") may well be right for several segments.
_LONG_ENOUGH = 20


def flag(outputs: Sequence[str], sources: Sequence[str], expected: str | None) -> dict[int, list[str]]:
    """Warnings by segment index (from 0). An output is repeated if a segment with a different source has it, too."""
    check = _check(expected)
    first: dict[str, str] = {}
    found: dict[int, list[str]] = {}
    for place, (output, source) in enumerate(zip(outputs, sources, strict=True)):
        words = []
        if not output.strip():
            words.append(EMPTY)
        elif len(output) >= _LONG_ENOUGH and first.setdefault(output, source) != source:
            words.append(REPEATED)
        if check and check.add(output):
            words.append(FOREIGN)
        if words:
            found[place] = words
    return found


def _check(expected: str | None) -> LanguageCheck | None:
    try:
        return LanguageCheck(language(expected)) if expected else None
    except PrismError:
        return None  # a language missing in our table, though the model may support it
