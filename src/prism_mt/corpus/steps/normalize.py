"""Unicode and whitespace normalization."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from prism_mt._core.options import option
from prism_mt.corpus.rows import Row, oriented
from prism_mt.corpus.steps.base import Filter

# Zero-width space, byte order mark, soft hyphen, object replacement: invisible, and noise for a subword model.
_INVISIBLE = re.compile("[\u200b\ufeff\u00ad\ufffc]+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")


class Normalize(Filter):
    """Converts both sides to one Unicode form with single spaces; a row with an empty side is dropped."""

    kind = "normalize"

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        form: Literal["NFC", "NFKC"] = option("Unicode normalization form", "NFC")

    def apply(self, rows: list[Row]) -> list[Row]:
        """Return rows with normalized texts."""
        # The sides of a multi-parallel row recur in many pairs of the same chunk.
        clean: dict[str, str] = {}
        kept = []
        for row in rows:
            for text in (row.text1, row.text2):
                if text not in clean:
                    clean[text] = self._clean(text)
            text1, text2 = clean[row.text1], clean[row.text2]
            if text1 and text2:
                kept.append(oriented(row.source, row.line, (row.lang1, text1), (row.lang2, text2), row.margin))
        return kept

    def _clean(self, text: str) -> str:
        text = unicodedata.normalize(self.config.form, text)
        return " ".join(_CONTROL.sub(" ", _INVISIBLE.sub("", text)).split())
