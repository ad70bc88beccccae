"""Languages and pairs that are too small to learn."""

from collections.abc import Mapping
from dataclasses import dataclass

from prism_mt._core.options import option
from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Cell, Corpus, Filter


class Minimum(Filter):
    """Drops language pairs, and all rows of languages, that have too few rows."""

    kind = "minimum"
    needs_corpus = True

    @dataclass(frozen=True)
    class Config:
        """Settings of the step."""

        pair: int = option("fewest rows of a language pair", 0)
        language: int = option("fewest rows of a language, over all its pairs that stay", 0)

    config: Config
    kept: frozenset[str] = frozenset()

    def prepare(self, corpus: Corpus) -> None:
        """Find the pairs that stay."""
        self.kept = large_pairs(corpus.sizes(), self.config.pair, self.config.language)

    def apply(self, rows: list[Row]) -> list[Row]:
        """Rows of the pairs that stay."""
        return [row for row in rows if row.pair in self.kept]


def large_pairs(sizes: Mapping[Cell, int], pair_minimum: int, language_minimum: int) -> frozenset[str]:
    """Pairs with enough rows whose languages have enough rows in the pairs that stay."""
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
        # A language that goes takes rows of others with it, which may now be too small themselves.
        pairs = {pair: size for pair, size in pairs.items() if not small & set(pair.split("-"))}
