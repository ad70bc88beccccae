"""Drop languages and pairs that are too small to learn."""

from collections.abc import Mapping
from dataclasses import dataclass

from prism_mt._core.options import option
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Cell, Corpus, Filter


class Minimum(Filter):
    """Drops language pairs with too few rows, and all rows of languages with too few."""

    kind = "minimum"
    counts = ("pair", "language")
    needs_corpus = True

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        pair: int = option("minimum number of rows per language pair", 0)
        language: int = option("minimum number of rows per language, over all its remaining pairs", 0)

    config: Config
    kept: frozenset[str] = frozenset()

    def prepare(self, corpus: Corpus) -> None:
        """Find the pairs to keep."""
        self.kept = large_pairs(corpus.sizes(), self.config.pair, self.config.language)

    def apply(self, rows: list[Row]) -> list[Row]:
        """Return rows of the pairs to keep."""
        return [row for row in rows if row.pair in self.kept]


def large_pairs(sizes: Mapping[Cell, int], pair_minimum: int, language_minimum: int) -> frozenset[str]:
    """Find the pairs with enough rows whose languages have enough rows among the remaining pairs."""
    pairs: dict[str, int] = {}
    for (_, pair), size in sizes.items():
        pairs[pair] = pairs.get(pair, 0) + size
    pairs = {pair: size for pair, size in pairs.items() if size >= pair_minimum}
    while True:
        languages: dict[str, int] = {}
        for pair, size in pairs.items():
            for language in set(pair.split("-")):
                languages[language] = languages.get(language, 0) + size
        small = {language for language, size in languages.items() if size < language_minimum}
        if not small:
            return frozenset(pairs)
        # Dropping a language also drops rows of others, which may now be too small themselves.
        pairs = {pair: size for pair, size in pairs.items() if not small & set(pair.split("-"))}
