"""Small mistakes made on purpose: each takes a sentence and returns it with one, or None where it cannot."""

import random
import re
from collections.abc import Callable

Perturbation = Callable[[str, str, random.Random], str | None]

_UNSPACED = {"zh", "ja"}
_NUMBER = re.compile(r"\d+")
_NAMES = {
    "ru": ["Иванов", "Берлин", "Мадрид", "Токио", "Анна"],
    "zh": ["北京", "柏林", "马德里", "东京", "安娜"],
}
_LATIN_NAMES = ["Miller", "Berlin", "Madrid", "Tokyo", "Anna"]


def _units(text: str, language: str) -> tuple[list[str], str]:
    """Words, or runs of two characters where words are not separated; and what joins them again."""
    if language in _UNSPACED:
        return re.findall(r"..?", text), ""
    return text.split(" "), " "


def drop_word(text: str, language: str, generator: random.Random) -> str | None:
    """A word that is not the last is left out."""
    units, joint = _units(text, language)
    places = [index for index, unit in enumerate(units[:-1]) if any(map(str.isalpha, unit))]
    if len(places) < 3:
        return None
    place = generator.choice(places)
    return joint.join(units[:place] + units[place + 1 :])


def change_number_or_name(text: str, language: str, generator: random.Random) -> str | None:
    """A number becomes another one of the same length; without numbers, a name in the sentence becomes another."""
    numbers = list(_NUMBER.finditer(text))
    if numbers:
        found = generator.choice(numbers)
        old = found.group()
        first = generator.choice([digit for digit in "123456789" if digit != old[0]])
        return text[: found.start()] + first + old[1:] + text[found.end() :]
    if language in _UNSPACED:
        return None
    words = text.split(" ")
    # German capitalizes every noun, so a capital inside a sentence does not tell a name there.
    if language == "de":
        return None
    places = [index for index, word in enumerate(words) if index and re.fullmatch(r"[^\W\d_]\w{2,}[,.]?", word)]
    places = [index for index in places if words[index][0].isupper() and not words[index].isupper()]
    if not places:
        return None
    place = generator.choice(places)
    ending = words[place][-1] if words[place][-1] in ",." else ""
    names = [name for name in _NAMES.get(language, _LATIN_NAMES) if name not in words[place]]
    words[place] = generator.choice(names) + ending
    return " ".join(words)


def swap_words(text: str, language: str, generator: random.Random) -> str | None:
    """Two neighboring words inside the sentence change places."""
    units, joint = _units(text, language)
    places = [
        index
        for index in range(len(units) - 2)
        if units[index] != units[index + 1] and units[index].isalnum() and units[index + 1].isalnum()
    ]
    if not places:
        return None
    place = generator.choice(places)
    units[place], units[place + 1] = units[place + 1], units[place]
    return joint.join(units)


PERTURBATIONS: dict[str, Perturbation] = {
    "dropped": drop_word,
    "changed": change_number_or_name,
    "swapped": swap_words,
}
