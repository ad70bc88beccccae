"""Languages written in two scripts: keep one of them."""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from prism_mt._core.options import option
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Filter, check_names

Script = Literal["simplified", "traditional", "latin", "cyrillic"]


class ScriptFilter(Filter):
    """Drops rows with a side whose characters are mostly in the other script; nothing is converted."""

    kind = "script"

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        scripts: dict[str, Script] = option(
            'script of each language, as in `zh = "simplified"`, `sr = "cyrillic"`; other languages are not checked',
            {},
        )

    config: Config

    def check(self) -> None:
        """Check that the languages are known."""
        check_names(self.config.scripts, self.context.languages, "the language")

    def apply(self, rows: list[Row]) -> list[Row]:
        """Return the rows in the requested scripts."""
        return [row for row in rows if self._good(row.lang1, row.text1) and self._good(row.lang2, row.text2)]

    def _good(self, language: str, text: str) -> bool:
        wanted = self.config.scripts.get(language)
        if wanted is None:
            return True
        rivals = (
            ("simplified", "traditional") if wanted in ("simplified", "traditional") else ("latin", "cyrillic")
        )
        counts = dict.fromkeys(rivals, 0)
        for character in text:
            script = script_of(character)
            if script in counts:
                counts[script] += 1
        return counts[wanted] == max(counts.values())


@lru_cache(maxsize=1 << 16)
def script_of(character: str) -> str | None:
    """Return `simplified`, `traditional`, `latin` or `cyrillic`; None for an uninformative character.

    A Han character is simplified if the mainland standard GB 2312 has it and the Taiwanese Big5 does not.
    """
    if character.isascii():
        return "latin" if character.isalpha() else None
    if "\u4e00" <= character <= "\u9fff":
        mainland, taiwan = _encodable(character, "gb2312"), _encodable(character, "big5")
        if mainland == taiwan:
            return None
        return "simplified" if mainland else "traditional"
    name = unicodedata.name(character, "")
    return next((script for script in ("latin", "cyrillic") if name.startswith(script.upper())), None)


def _encodable(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
