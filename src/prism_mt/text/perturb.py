"""Synthetic errors: omissions, additions, wrong numbers, names and words, negations, antonyms, word order.

The same seed makes the same mistakes. Omission, addition, number, word order and wrong word work in every language
whose words can be told apart; negation, antonym and name take their words from `perturb_words.tsv`.
"""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, get_args

from prism_mt.text.languages import find_language
from prism_mt.text.words import Span, has_spaces, words_of

Kind = Literal["omission", "addition", "number", "name", "negation", "antonym", "word-order", "wrong-word"]
Severity = Literal["minor", "major"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CRITICAL: frozenset[Kind] = frozenset({"number", "name", "negation"})
"""Kinds that turn what a sentence says into something else and still read well."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_MIN_LETTERS = 4
"""Shorter words are often articles and particles, which a good translation may do without."""
_TRIES = 20


@dataclass(frozen=True)
class Perturbed:
    """A text with one mistake, and where it is."""

    number: int
    """Index of the original among the texts, from 0."""
    kind: Kind
    original: str
    text: str
    wrong: tuple[Span, ...] = ()
    """What is wrong or added in the text."""
    missing: tuple[Span, ...] = ()
    """What of the original is missing in the text."""

    @property
    def severity(self) -> Severity:
        """Minor if all words are still there."""
        return "minor" if self.kind == "word-order" else "major"


def perturb(
    texts: Sequence[str], language: str, *, kinds: Sequence[Kind] = KINDS, seed: int = 0
) -> Iterator[Perturbed]:
    """Make one error of every kind in every text that allows it.

    Words that are added or put in the place of others come from the other texts.
    """
    has_spaces(language)  # an error where words cannot be told apart
    donors = [text for text in dict.fromkeys(texts) if text.strip()]
    for number, text in enumerate(texts):
        for kind in kinds:
            generator = random.Random(f"{seed} {language} {number} {kind}")
            sentence = _Sentence(text, language, donors, generator)
            edits = _EDITS[kind](sentence)
            made = None if edits is None else _apply(text, edits)
            if made is not None and made[0] != text:
                yield Perturbed(number, kind, text, *made)


@dataclass(frozen=True)
class _Edit:
    """Replace a span of the original; an empty replacement leaves it out."""

    start: int
    end: int
    replacement: str


@dataclass(frozen=True)
class _Sentence:
    """A text to perturb, and what is needed for it."""

    text: str
    language: str
    donors: Sequence[str]
    generator: random.Random

    @property
    def words(self) -> list[Span]:
        return words_of(self.text, self.language)

    @property
    def content_words(self) -> list[int]:
        """Places of words that are long enough to matter."""
        shortest = _MIN_LETTERS if has_spaces(self.language) else 1
        return [
            place
            for place, (start, end) in enumerate(self.words)
            if end - start >= shortest and self.text[start].isalpha()
        ]

    def known(self) -> set[str]:
        return {self.text[start:end].casefold() for start, end in self.words}

    def donated(self, count: int) -> list[str] | None:
        """So many neighboring lower-case words of another text, none of which this text has."""
        known = self.known()
        for _ in range(_TRIES if self.donors else 0):
            text = self.generator.choice(self.donors)
            words = words_of(text, self.language)
            if text == self.text or len(words) <= count:
                continue
            first = self.generator.randrange(len(words) - count)
            found = [text[start:end] for start, end in words[first : first + count]]
            shortest = _MIN_LETTERS if has_spaces(self.language) else 2
            plain = all(word.isalpha() or _has_marks(word) for word in found) and max(map(len, found)) >= shortest
            if plain and all(word == word.lower() and word.casefold() not in known for word in found):
                return found
        return None


def _has_marks(word: str) -> bool:
    """Whether a word is made of letters and vowel signs or points."""
    return not re.search(r"[\d\W_]", re.sub(r"[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0980-\u09ff]", "", word))


def _omission(sentence: _Sentence) -> list[_Edit] | None:
    """Leave out a word, with a neighbor half of the time."""
    text, words = sentence.text, sentence.words
    places = [place for place in sentence.content_words if place < len(words) - 1]
    if len(words) < 4 or not places:
        return None
    place = sentence.generator.choice(places)
    start, end = words[place]
    joined = text[end : words[place + 1][0]].strip() == "" and place + 2 < len(words)
    if joined and len(words) > 6 and sentence.generator.random() < 0.5:
        end = words[place + 1][1]
    return [_Edit(start, end, "")]


def _addition(sentence: _Sentence) -> list[_Edit] | None:
    """Insert one or two words of another text after a word."""
    words = sentence.words
    added = sentence.donated(sentence.generator.choice((1, 2)))
    if len(words) < 2 or added is None:
        return None
    place = sentence.generator.randrange(len(words) - 1)
    joint = " " if has_spaces(sentence.language) else ""
    end = words[place][1]
    return [_Edit(end, end, joint + joint.join(added))]


def _number(sentence: _Sentence) -> list[_Edit] | None:
    """Change one digit of a number, in the digits of its script."""
    numbers = list(_NUMBER.finditer(sentence.text))
    if not numbers:
        return None
    found = sentence.generator.choice(numbers)
    old = found.group()
    place = sentence.generator.choice([index for index, letter in enumerate(old) if letter.isdigit()])
    zero = ord(old[place]) - int(old[place])
    digits = [chr(zero + digit) for digit in range(0 if place else 1, 10)]
    new = sentence.generator.choice([digit for digit in digits if digit != old[place]])
    return [_Edit(*found.span(), old[:place] + new + old[place + 1 :])]


def _name(sentence: _Sentence) -> list[_Edit] | None:
    """Replace a well-known place by another; in scripts with capitals, any name inside the sentence."""
    table = _words("name", sentence.language) or _words("name", "en")
    names = list(table)
    edits = [(match.span(), match.group()) for match in _matches(sentence, table)]
    if not edits:
        edits = [(span, sentence.text[slice(*span)]) for span in _capitalized(sentence)]
    if not edits:
        return None
    (start, end), old = sentence.generator.choice(edits)
    return [_Edit(start, end, sentence.generator.choice([name for name in names if name != old]))]


def _capitalized(sentence: _Sentence) -> list[Span]:
    """Names inside a sentence, as runs of words with capitals; in German all nouns have them, and tell no name."""
    text = sentence.text
    found = find_language(sentence.language)
    if found and found.code == "de":
        return []
    spans: list[Span] = []
    for (_, before), (start, end) in zip(sentence.words, sentence.words[1:], strict=False):
        word = text[start:end]
        inside = not re.search(r"[.!?:;»«“”\"'„—–(\-]", text[before:start])
        if not (inside and len(word) > 2 and word[0].isupper() and word[1:].islower()):
            continue
        if spans and spans[-1][1] == before and text[before:start] == " ":
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    return spans


def _exchange(kind: Literal["negation", "antonym"]) -> "Callable[[_Sentence], list[_Edit] | None]":
    """Replace a word by its opposite."""

    def edits(sentence: _Sentence) -> list[_Edit] | None:
        table = _words(kind, sentence.language)
        places = list(_matches(sentence, table))
        if not places:
            return None
        found = sentence.generator.choice(places)
        return [_smallest(found.start(), found.group(), table[found.group()])]

    return edits


def _smallest(start: int, old: str, new: str) -> _Edit:
    """Add or take out words instead of replacing both forms, where one contains the other."""
    end = start + len(old)
    if new.startswith(f"{old} "):
        return _Edit(end, end, new[len(old) :])
    if new.endswith(f" {old}"):
        return _Edit(start, start, new[: -len(old)])
    if old.startswith(f"{new} "):
        return _Edit(start + len(new) + 1, end, "")
    if old.endswith(f" {new}"):
        return _Edit(start, end - len(new) - 1, "")
    return _Edit(start, end, new)


def _word_order(sentence: _Sentence) -> list[_Edit] | None:
    """Let two words with one to three others between them change places."""
    text, words = sentence.text, sentence.words
    pairs = [
        (i, j)
        for i in range(1, len(words))
        for j in range(i + 2, min(i + 5, len(words)))
        if text[slice(*words[i])].casefold() != text[slice(*words[j])].casefold()
        and text[words[i][0]].isalpha()
        and text[words[j][0]].isalpha()
    ]
    if not pairs:
        return None
    i, j = sentence.generator.choice(pairs)
    return [_Edit(*words[i], text[slice(*words[j])]), _Edit(*words[j], text[slice(*words[i])])]


def _wrong_word(sentence: _Sentence) -> list[_Edit] | None:
    """Replace a word by one of another text."""
    places, words = sentence.content_words, sentence.words
    donated = sentence.donated(1)
    if not places or donated is None:
        return None
    start, end = words[sentence.generator.choice(places)]
    new = donated[0].capitalize() if sentence.text[start].isupper() else donated[0]
    return [_Edit(start, end, new)]


_EDITS: Mapping[Kind, "Callable[[_Sentence], list[_Edit] | None]"] = {
    "omission": _omission,
    "addition": _addition,
    "number": _number,
    "name": _name,
    "negation": _exchange("negation"),
    "antonym": _exchange("antonym"),
    "word-order": _word_order,
    "wrong-word": _wrong_word,
}


def _apply(text: str, edits: Iterable[_Edit]) -> tuple[str, tuple[Span, ...], tuple[Span, ...]]:
    """Edit a text; what was put in is wrong, what was taken out without replacement is missing."""
    parts: list[str] = []
    wrong: list[Span] = []
    missing: list[Span] = []
    done = length = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        start, end = edit.start, edit.end
        if not edit.replacement:
            missing.append((start, end))
            # One of the two spaces around what is left out goes with it.
            if text[end : end + 1].isspace():
                end += 1
            elif text[start - 1 : start].isspace():
                start -= 1
        parts += [text[done:start], edit.replacement]
        length += start - done
        if word := edit.replacement.strip():
            first = length + edit.replacement.index(word)
            wrong.append((first, first + len(word)))
        length += len(edit.replacement)
        done = end
    return "".join([*parts, text[done:]]), tuple(wrong), tuple(missing)


def _matches(sentence: _Sentence, table: Mapping[str, str]) -> Iterator["re.Match[str]"]:
    """Find the table's words in the text; of two that begin at one place the longer one."""
    if not table:
        return iter(())
    pattern = "|".join(re.escape(word) for word in sorted(table, key=len, reverse=True))
    if not has_spaces(sentence.language):
        return re.finditer(pattern, sentence.text)
    starts, ends = {start for start, _ in sentence.words}, {end for _, end in sentence.words}
    found = re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", sentence.text)
    return (match for match in found if match.start() in starts and match.end() in ends)


@cache
def negations(language: str) -> frozenset[str]:
    """Words that negate a sentence on their own, such as "not" and "no"."""
    found: set[str] = set()
    for before, sign, after in _entries("negation", language):
        plain, negated = (before, after) if sign == "=" else (after, before)
        word = negated.removeprefix(f"{plain} ").removesuffix(f" {plain}")
        if " " not in word:
            found.add(word.casefold())
    return frozenset(found)


@cache
def _words(kind: str, language: str) -> Mapping[str, str]:
    """Words and what each becomes."""
    table: dict[str, str] = {}
    for before, sign, after in _entries(kind, language):
        table.setdefault(before, after)
        if sign == "=":
            table.setdefault(after, before)
    return table


def _entries(kind: str, language: str) -> Iterator[tuple[str, str, str]]:
    """Entries of a language: `a=b` goes both ways, `a>b` one way, and a name stands alone.

    Negations have the negated form on the right of `=` and on the left of `>`.
    """
    found = find_language(language)
    code = found.code if found else language
    text = (resources.files("prism_mt.text") / "perturb_words.tsv").read_text(encoding="utf-8")
    for line in text.splitlines()[1:]:
        own, own_kind, words = line.split("\t")
        if (own, own_kind) == (code, kind):
            for entry in words.split("; "):
                yield entry.partition("=" if "=" in entry else ">")
