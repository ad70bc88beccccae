"""Pairs of texts to insert errors into: a small sample of every language from large files."""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.readers.fields import json_records, numbered_lines, stem
from prism_mt.text.languages import find_language
from prism_mt.text.words import words_of

_SHORTEST, _LONGEST = 5, 60
"""Words of a text; shorter ones have no room for errors, longer ones cost more than they teach."""


_Key = tuple[str, bool]
"""A language, and whether the pairs are paraphrases in it."""


@dataclass(frozen=True)
class TextPair:
    """A good translation, or paraphrase, of a text."""

    language: str
    text: str
    other_language: str
    other: str

    @property
    def is_paraphrase(self) -> bool:
        """Whether both texts are in one language."""
        return self.language == self.other_language


def sample_pairs(paths: Sequence[Path], languages: Collection[str], count: int, seed: int) -> list[TextPair]:
    """Draw `count` translations into every language, and as many paraphrases where there are any.

    Files are TSV (language, language, text, text), or JSONL with a text per language code. Every file that has a
    language gives the same number of its pairs, so that a large one does not crowd out the others.
    """
    generator = random.Random(seed)
    drawn: dict[_Key, list[list[TextPair]]] = {}
    for path in paths:
        for key, own in _sample_file(path, frozenset(languages), count, generator).items():
            drawn.setdefault(key, []).append(own)
    if not drawn:
        raise PrismError(f"no pairs of texts in {', '.join(sorted(languages))} in {', '.join(map(str, paths))}")
    found: list[TextPair] = []
    for key in sorted(drawn):
        in_turn = (pair for row in zip_longest(*drawn[key]) for pair in row if pair is not None)
        found += islice(in_turn, count)
    return found


def _sample_file(
    path: Path, languages: frozenset[str], count: int, generator: random.Random
) -> dict[_Key, list[TextPair]]:
    """Draw up to `count` pairs of every language and of both kinds by reservoir sampling."""
    drawn: dict[_Key, list[TextPair]] = {}
    seen: dict[_Key, int] = {}
    for one in _read(path, languages, generator):
        key = one.language, one.is_paraphrase
        own = drawn.setdefault(key, [])
        # Words, which are slow to find, are counted only in texts that would be kept; of the others just as large a
        # share is too short or too long.
        place = generator.randrange(seen[key] + 1) if len(own) == count else len(own)
        if place < count and not _has_room(one):
            continue
        seen[key] = seen.get(key, 0) + 1
        if place < count:
            own[place : place + 1] = [one]
    return drawn


def _has_room(pair: TextPair) -> bool:
    return all(
        _SHORTEST <= len(words_of(text, language)) <= _LONGEST
        for text, language in ((pair.text, pair.language), (pair.other, pair.other_language))
    )


def _read(path: Path, languages: frozenset[str], generator: random.Random) -> Iterator[TextPair]:
    if stem(path).endswith((".jsonl", ".json")):
        for _, record in json_records(path):
            known = [key for key in record if _code(key) in languages and isinstance(record[key], str)]
            if len(known) > 1:
                one, other = generator.sample(known, 2)
                yield TextPair(_code(one), record[one], _code(other), record[other])
        return
    for where, line in numbered_lines(path):
        row = line.split("\t")
        if len(row) != 4:
            raise PrismError(f"{where}: {len(row)} columns instead of 4 (language, language, text, text)")
        one, other = _code(row[0]), _code(row[1])
        if one not in languages or other not in languages:
            continue
        if generator.random() < 0.5:
            yield TextPair(one, row[2], other, row[3])
        else:
            yield TextPair(other, row[3], one, row[2])


_CODES: dict[str, str] = {}


def _code(name: str) -> str:
    """Remember codes, since files have few of them and many lines."""
    if name not in _CODES:
        found = find_language(name)
        _CODES[name] = found.code if found else name
    return _CODES[name]
