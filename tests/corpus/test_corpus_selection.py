from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from prism_mt._core.errors import PrismError
from prism_mt.corpus.hashing import HashSet, fraction, hash64, sentence_key
from prism_mt.corpus.rows import Row, by_cell
from prism_mt.corpus.steps.base import Cell, Context, Ordered
from prism_mt.corpus.steps.cap import Cap, capped_sizes
from prism_mt.corpus.steps.deduplicate import Deduplicate
from prism_mt.corpus.steps.minimum import Minimum, large_pairs
from prism_mt.corpus.steps.near import NearDuplicates, _minimums
from prism_mt.corpus.steps.quota import Quota, spread
from prism_mt.corpus.steps.sample import Sample


class Rows:
    """A corpus in memory."""

    def __init__(self, rows: list[Row], directory: Path) -> None:
        self._rows = rows
        self.directory = directory

    def sizes(self) -> Mapping[Cell, int]:
        return {cell: len(rows) for cell, rows in by_cell(self._rows).items()}

    def rows(self) -> Iterator[Row]:
        return iter(self._rows)


def numbered(source: int, pair: str, count: int) -> list[Row]:
    lang1, lang2 = pair.split("-")
    return [Row(source, i, lang1, lang2, f"Satz {i}", f"sentence {i}", i / count) for i in range(count)]


def decide(step: Ordered, rows: list[Row], chunk: int = 1000) -> list[Row]:
    """Take rows through an ordered step in chunks."""
    kept = []
    for start in range(0, len(rows), chunk):
        cells = by_cell(rows[start : start + chunk])
        grouped = [row for group in cells.values() for row in group]
        copies = step.decide(step.keys(grouped), [(cell, len(group)) for cell, group in cells.items()])
        kept += [row for row, times in zip(grouped, copies.tolist(), strict=True) for _ in range(times)]
    return kept


def test_hashes_never_change() -> None:
    assert hash64("Prism") == 14213589932713007753
    assert fraction(1, "a") == pytest.approx(0.966598113)


@pytest.mark.parametrize(
    ("text1", "text2", "same"),
    [("It's 5 o'clock!", "its 5 O CLOCK", True), ("5 dogs", "6 dogs", False), ("...", "!!!", False)],
)
def test_sentence_key(text1: str, text2: str, same: bool) -> None:
    assert (sentence_key(text1) == sentence_key(text2)) is same


def test_hash_set_finds_what_was_added_in_any_number_of_runs() -> None:
    generator = np.random.default_rng(1)
    numbers = generator.permutation(10_000).astype(np.uint64)
    found = HashSet()
    for part in np.split(numbers[:5000], 50):
        assert not found.contains(part).any()
        found.add(part)
    assert len(found) == 5000
    assert found.contains(numbers).tolist() == [True] * 5000 + [False] * 5000


def test_the_first_of_equal_rows_stays(context: Context) -> None:
    rows = [
        Row(0, 1, "de", "en", "Hund", "dog"),
        Row(0, 2, "de", "en", "Hund", "dog"),
        Row(0, 3, "de", "en", "Hund", "Dog"),
        Row(1, 1, "de", "en", "Hund", "dog"),
        Row(1, 2, "de", "nl", "Hund", "dog"),
    ]
    for chunk in (1, 2, 5):
        step = Deduplicate(Deduplicate.Config(), context)
        assert [(row.source, row.line) for row in decide(step, rows, chunk)] == [(0, 1), (0, 3), (1, 2)]


def test_near_duplicates(context: Context) -> None:
    first = "The committee adopted the report on the situation of fundamental rights in the Union"
    texts = [
        (first, True),
        (first + "!", False),
        (first.upper() + " 2009", False),
        ("The committee adopted the report on the situation of agriculture in the whole Union", True),
        ("Wir danken allen", True),
        ("Wir loben niemand", True),
    ]
    rows = [Row(0, i, "de", "en", f"Der Ausschuss {text}", text) for i, (text, _) in enumerate(texts)]
    for chunk in (1, 10):
        kept = decide(NearDuplicates(NearDuplicates.Config(), context), rows, chunk)
        assert [row.line for row in kept] == [i for i, (_, stays) in enumerate(texts) if stays]


def test_signatures_agree_as_often_as_5_grams_are_shared() -> None:
    factors = np.array([hash64(f"factor {i}") | 1 for i in range(2000)], dtype=np.uint64)
    # "wir danken allen" has 12 5-grams, "wir danken all es" 13, and 10 are the same: 10 of 15
    agree = _minimums("wir danken allen", factors) == _minimums("WIR danken, all 7 es!", factors)
    assert agree.mean() == pytest.approx(10 / 15, abs=0.04)


def test_near_duplicates_differ_between_language_pairs(context: Context) -> None:
    rows = [Row(0, 1, "de", "en", "Ein Hund", "A dog"), Row(0, 2, "de", "fr", "Ein Hund", "A dog")]
    assert decide(NearDuplicates(NearDuplicates.Config(), context), rows) == rows


@pytest.mark.parametrize(("size", "wanted"), [(100, 30), (100, 0), (100, 100), (100, 250), (7, 1), (0, 0)])
def test_quota_is_met_exactly(size: int, wanted: int) -> None:
    quota = Quota(size, wanted)
    chances = np.random.default_rng(1).random(size)
    copies = np.concatenate([quota.take(part) for part in np.array_split(chances, 3)])
    assert copies.sum() == wanted
    assert copies.max(initial=0) - copies.min(initial=copies.max(initial=0)) <= 1


def test_every_row_has_the_same_chance() -> None:
    generator = np.random.default_rng(1)
    times = sum(Quota(10, 3).take(generator.random(10)) for _ in range(2000))
    assert isinstance(times, np.ndarray)
    # 600 expected, standard deviation 20.5
    assert times.min() > 520
    assert times.max() < 680


@pytest.mark.parametrize(
    ("total", "weights", "limits", "expected"),
    [
        (100, [1, 3], [1000, 1000], [25, 75]),
        (100, [1, 3], [1000, 60], [40, 60]),
        (100, [1, 3], [10, 60], [10, 60]),
        (100, [1, 1, 2], [10, 1000, 1000], [10, 30, 60]),
    ],
)
def test_spread(total: int, weights: list[float], limits: list[float], expected: list[int]) -> None:
    cells = [(0, f"p{place}") for place in range(len(weights))]
    shares = spread(total, dict(zip(cells, weights, strict=True)), dict(zip(cells, limits, strict=True)))
    assert list(shares.values()) == expected


@pytest.mark.parametrize(
    ("pair", "language", "expected"),
    [
        (0, 0, {"de-en", "en-fr", "fr-it"}),
        (50, 0, {"de-en", "en-fr"}),
        (0, 20, {"de-en", "en-fr"}),  # it has 10; fr keeps 60
        (0, 65, {"de-en"}),  # it goes, then fr has 60 and goes
        (200, 0, set()),
    ],
)
def test_minimum_by_pair_and_language(pair: int, language: int, expected: set[str]) -> None:
    sizes = {(0, "de-en"): 60, (1, "de-en"): 40, (0, "en-fr"): 60, (0, "fr-it"): 10}
    assert large_pairs(sizes, pair, language) == expected


def test_minimum_drops_the_rows(context: Context, tmp_path: Path) -> None:
    rows = numbered(0, "de-en", 30) + numbered(0, "de-zh", 5)
    step = Minimum(Minimum.Config(pair=10), context)
    step.prepare(Rows(rows, tmp_path))
    assert {row.pair for row in step.apply(rows)} == {"de-en"}


@pytest.mark.parametrize(
    ("pair", "language", "expected"),
    [
        (50, 0, [30, 20, 50]),
        (0, 0, [60, 40, 100]),
        # de has 100, en 200, fr 100: en is halved
        (0, 100, [30, 20, 50]),
        (0, 150, [45, 30, 75]),
    ],
)
def test_cap_by_pair_and_language(pair: int, language: int, expected: list[int]) -> None:
    sizes = {(0, "de-en"): 60, (1, "de-en"): 40, (0, "en-fr"): 100}
    assert list(capped_sizes(sizes, pair, language).values()) == expected


def test_random_cap_of_one_group_leaves_the_others(context: Context, tmp_path: Path) -> None:
    rows = numbered(0, "de-en", 100) + numbered(1, "de-en", 50)
    step = Cap(Cap.Config(pair=20, groups=["news"]), context)
    step.prepare(Rows(rows, tmp_path))
    kept = decide(step, rows, 30)
    assert [sum(row.source == source for row in kept) for source in (0, 1)] == [20, 50]


def test_a_cap_may_name_a_pair_either_way(context: Context, tmp_path: Path) -> None:
    rows = numbered(0, "de-en", 100)
    for pair in ("de-en", "en-de"):
        step = Cap(Cap.Config(pair=20, pairs=[pair]), context)
        step.check()
        step.prepare(Rows(rows, tmp_path / pair))
        assert len(decide(step, rows, 30)) == 20
    with pytest.raises(PrismError, match="xx"):
        Cap(Cap.Config(pair=20, pairs=["xx-de"]), context).check()


def test_cap_by_margin_keeps_the_best(context: Context, tmp_path: Path) -> None:
    rows = numbered(0, "de-en", 10)
    rows += [Row(1, 99, "de", "en", "x", "y", 0.7), Row(0, 0, "de", "zh", "x", "y")]
    step = Cap(Cap.Config(pair=4, pairs=["de-en"], by="margin"), context)
    step.prepare(Rows(rows, tmp_path))
    # 0.9, 0.8 and two at 0.7; the pair without margins is not concerned
    assert [(row.pair, row.line) for row in decide(step, rows, 3)] == [
        ("de-en", 7),
        ("de-en", 8),
        ("de-en", 9),
        ("de-en", 99),
        ("de-zh", 0),
    ]


def test_cap_by_margin_without_margins_is_an_error(context: Context, tmp_path: Path) -> None:
    step = Cap(Cap.Config(pair=1, by="margin"), context)
    with pytest.raises(PrismError, match="needs margins, and de-en"):
        step.prepare(Rows([Row(0, 1, "de", "en", "a", "b")], tmp_path))


def sampled(context: Context, rows: list[Row], **settings: object) -> dict[Cell, int]:
    step = Sample(Sample.Config(**settings), context)  # type: ignore[arg-type]
    step.prepare(Rows(rows, Path()))
    return {cell: len(group) for cell, group in by_cell(decide(step, rows, 77)).items()}


def test_temperature_flattens_the_sizes_of_pairs(context: Context) -> None:
    rows = numbered(0, "de-en", 900) + numbered(0, "en-zh", 100)
    assert sampled(context, rows, total=100) == {(0, "de-en"): 90, (0, "en-zh"): 10}
    assert sampled(context, rows, total=100, temperature=2) == {(0, "de-en"): 75, (0, "en-zh"): 25}


def test_shares_language_factors_and_repetition(context: Context) -> None:
    rows = numbered(0, "de-en", 100) + numbered(0, "en-zh", 100) + numbered(1, "de-en", 20)
    assert sampled(
        context, rows, total=200, shares={"news": 3, "web": 1}, languages={"zh": 2}, max_repeat=1.5
    ) == {
        (0, "de-en"): 50,
        (0, "en-zh"): 100,
        (1, "de-en"): 30,
    }


def test_shares_must_name_the_groups(context: Context) -> None:
    with pytest.raises(PrismError, match="differ: film, web"):
        sampled(context, numbered(1, "de-en", 5), total=2, shares={"film": 1})
