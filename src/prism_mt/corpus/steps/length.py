"""Limits on length and length ratio."""

from dataclasses import dataclass

from prism_mt._core.options import option
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Filter

# Number of alphabetic characters that one character of these languages is worth.
_WEIGHTS = {"zh": 3.0, "ja": 2.0}


class Length(Filter):
    """Drops rows with a side that is too short or too long, or with sides of too different lengths."""

    kind = "length"

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        min_characters: int = option("minimum number of characters on either side", 1)
        max_characters: int = option("maximum number of characters on either side", 1000)
        max_words: int = option("maximum number of words on either side", 200)
        max_ratio: float = option(
            "longer side over shorter side, in characters; a Chinese character counts as 3, a Japanese one as 2",
            3.0,
        )
        ratio_from: int = option("check the ratio only if the longer side has more characters than this", 20)

    config: Config

    def apply(self, rows: list[Row]) -> list[Row]:
        """Return the rows within the limits."""
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
