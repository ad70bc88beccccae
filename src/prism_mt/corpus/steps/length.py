"""Limits of length, and of the ratio of the two lengths."""

from dataclasses import dataclass

from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Filter

# How many characters of an alphabet one character of these languages is worth.
_WEIGHTS = {"zh": 3.0, "ja": 2.0}


class Length(Filter):
    """Drops rows with a side that is too short or too long, or sides of too different length."""

    kind = "length"

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        min_characters: int = 1
        max_characters: int = 1000
        max_words: int = 200
        max_ratio: float = 3.0
        """Longer side over shorter side, in characters; a Chinese character counts for 3, a Japanese one for 2."""
        ratio_from: int = 20
        """The ratio is looked at only when the longer side has more characters than this."""

    config: Config

    def apply(self, rows: list[Row]) -> list[Row]:
        """Rows within the limits."""
        return [row for row in rows if self._good(row)]

    def _good(self, row: Row) -> bool:
        config = self.config
        for text in (row.text1, row.text2):
            if not config.min_characters <= len(text) <= config.max_characters:
                return False
            if len(text.split()) > config.max_words:
                return False
        length1 = len(row.text1) * _WEIGHTS.get(row.lang1, 1.0)
        length2 = len(row.text2) * _WEIGHTS.get(row.lang2, 1.0)
        longer, shorter = max(length1, length2), min(length1, length2)
        return longer <= config.ratio_from or longer <= config.max_ratio * shorter
