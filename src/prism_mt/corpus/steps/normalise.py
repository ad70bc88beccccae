"""Unicode and white-space normalisation."""

import unicodedata
from dataclasses import dataclass
from typing import Literal

from prism_mt.corpus.rows import Row, oriented
from prism_mt.corpus.steps.base import Filter

# Zero-width space, byte-order mark, soft hyphen, object replacement: invisible, and noise to a subword model.
_INVISIBLE = dict.fromkeys((0x200B, 0xFEFF, 0x00AD, 0xFFFC))
_CONTROL = dict.fromkeys((*range(32), *range(127, 160)), " ")


class Normalise(Filter):
    """Brings both sides into one Unicode form with single spaces; a row with a side that vanishes is dropped."""

    kind = "normalise"

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        form: Literal["NFC", "NFKC"] = "NFC"

    def apply(self, rows: list[Row]) -> list[Row]:
        """Rows with normalised texts."""
        kept = []
        for row in rows:
            text1, text2 = self._clean(row.text1), self._clean(row.text2)
            if text1 and text2:
                kept.append(oriented(row.source, row.line, (row.lang1, text1), (row.lang2, text2), row.margin))
        return kept

    def _clean(self, text: str) -> str:
        text = unicodedata.normalize(self.config.form, text)
        return " ".join(text.translate(_CONTROL).translate(_INVISIBLE).split())
