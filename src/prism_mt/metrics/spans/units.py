"""The words of a text as groups of pieces: the units that are marked as errors."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from prism_mt.text.words import Span, has_spaces, words_of

_LOOKAHEAD = 8
"""Characters that a normalizer may have dropped before the next one it kept."""


@dataclass(frozen=True)
class Unit:
    """A word, or a piece where a language writes no spaces, and the places of its pieces."""

    start: int
    end: int
    pieces: tuple[int, ...]


def piece_spans(text: str, pieces: Sequence[str]) -> list[Span]:
    """Find the characters of a text behind its SentencePiece pieces, whatever was normalized."""
    kept = [
        (letter, place)
        for place, character in enumerate(text)
        if not character.isspace()
        for letter in unicodedata.normalize("NFKC", character)
        if not letter.isspace()
    ]
    spans: list[Span] = []
    done = 0
    for piece in pieces:
        first, last = None, None
        for letter in piece.replace("▁", ""):
            ahead = next((k for k in range(done, min(done + _LOOKAHEAD, len(kept))) if kept[k][0] == letter), None)
            if ahead is None:
                continue
            first = kept[ahead][1] if first is None else first
            last, done = kept[ahead][1], ahead + 1
        start = first if first is not None else (spans[-1][1] if spans else 0)
        spans.append((start, last + 1 if last is not None else start))
    return spans


def find_units(text: str, pieces: Sequence[str], language: str) -> list[Unit]:
    """Group pieces by words; punctuation belongs to none."""
    spans = piece_spans(text, pieces)
    if not has_spaces(language):
        return [
            Unit(start, end, (place,))
            for place, (start, end) in enumerate(spans)
            if any(letter.isalnum() for letter in text[start:end])
        ]
    units = []
    first = 0
    for start, end in words_of(text, language):
        while first < len(spans) and spans[first][1] <= start:
            first += 1
        place, own = first, []
        while place < len(spans) and spans[place][0] < end:
            if spans[place][0] < spans[place][1]:
                own.append(place)
            place += 1
        if own:
            units.append(Unit(start, end, tuple(own)))
    return units


def matching_pieces(spans: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """Find the pieces of another vocabulary with the same characters, as first place and place after the last.

    A piece without characters of its own gets the nearest one.
    """
    found: list[Span] = []
    first = 0
    for start, end in spans:
        while first < len(others) - 1 and others[first][1] <= start:
            first += 1
        last = first + 1
        while last < len(others) and others[last][0] < end:
            last += 1
        found.append((first, last))
    return found
