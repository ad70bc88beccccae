"""Groups of outputs that `tune.py` learns to order: judged ones, and synthetic ones in all languages.

A group is a reference and outputs of which some are known to be better than others: the outputs of one segment as the
raters of WMT20 saw them; a paraphrase above the same paraphrase with mistakes and above a sentence that only shares
words; a sentence above itself with one, two and four mistakes.
"""

import csv
import itertools
import json
import lzma
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import judgments as judged
import numpy as np

from prism_mt.text.perturb import CRITICAL, KINDS, Kind, perturb

Vote = tuple[int, int, float]
"""Places of a better and a worse output, and how much it counts."""
WITHOUT_SPACES = ("zh", "ja")


@dataclass(frozen=True)
class Group:
    """Outputs to be ordered, given one of the references."""

    language: str
    references: tuple[str, ...]
    outputs: tuple[str, ...]
    votes: tuple[Vote, ...]
    scores: tuple[float, ...] = field(default=())
    """Mean ratings, where outputs of different segments can be compared."""


def wmt20(data: Path) -> tuple[list[Group], list[Group]]:
    """Groups of WMT20, and those of the documents that are held out (the same as for `esim`)."""
    train: list[Group] = []
    dev: list[Group] = []
    for pair, rows, out in judged.wmt20(data):
        for row in rows:
            group = _judged(row, pair.split("-")[1])
            if group is not None:
                (dev if row["doc"] in out else train).append(group)
    return train, dev


def _judged(row: dict[str, Any], language: str) -> Group | None:
    systems = [name for name in row["mqm"] if not name.startswith("Human")]
    texts = [judged.clean(row["sys"][name]) for name in systems]
    votes: Counter[tuple[int, int]] = Counter()
    for (i, one), (j, other) in itertools.combinations(enumerate(systems), 2):
        for rater in row["mqm"][one].keys() & row["mqm"][other].keys():
            difference = row["mqm"][one][rater]["score"] - row["mqm"][other][rater]["score"]
            if abs(difference) > 0.1:
                votes[(i, j) if difference > 0 else (j, i)] += 1
    humans = [judged.clean(row["sys"].get(name)) for name in (judged.REFERENCE, "Human-B.0", "Human-P.0")]
    means = [float(np.mean([rating["score"] for rating in row["mqm"][name].values()])) for name in systems]
    if not all(texts) or not humans[0]:
        return None
    return Group(
        language,
        tuple(text for text in humans if text),
        tuple(texts),
        tuple((i, j, float(count)) for (i, j), count in votes.items()),
        tuple(means),
    )


def with_mistakes(
    texts: Sequence[str], language: str, seed: int, kinds: Sequence[Kind] = KINDS
) -> list[str | None]:
    """Each text with one mistake of a kind drawn from those that it allows."""
    found: dict[int, list[str]] = defaultdict(list)
    for made in perturb(texts, language, kinds=kinds, seed=seed):
        found[made.number].append(made.text)
    draw = random.Random(f"{seed} {language}")
    return [draw.choice(found[number]) if number in found else None for number in range(len(texts))]


def ladders(texts: Sequence[str], language: str, seed: int) -> Iterator[Group]:
    """A text above itself with one, two and four mistakes."""
    steps: list[list[str | None]] = [list(texts)]
    for number in range(4):
        before = [text if text is not None else "" for text in steps[-1]]
        steps.append(
            [
                made if text else None
                for made, text in zip(with_mistakes(before, language, 10 * seed + number), before, strict=True)
            ]
        )
    for whole, one, two, _, four in zip(*steps, strict=True):
        rungs = list(dict.fromkeys(text for text in (whole, one, two, four) if text))
        if whole and len(rungs) >= 3:
            votes = tuple((i, j, 1.0) for i, j in itertools.combinations(range(len(rungs)), 2))
            yield Group(language, (whole,), tuple(rungs), votes)


def paraphrased(
    pairs: Sequence[tuple[str, str]], pool: Sequence[str], language: str, seed: int
) -> Iterator[Group]:
    """A paraphrase above itself with mistakes, above a sentence that shares words, and above a wrong copy."""
    references, texts = [a for a, _ in pairs], [b for _, b in pairs]
    one = with_mistakes(texts, language, seed)
    two = with_mistakes([text or "" for text in one], language, seed + 1)
    copies = with_mistakes(references, language, seed + 2, [*CRITICAL, "antonym"])
    sharing = _Sharing(pool, language)
    draw = random.Random(f"sharing {seed} {language}")
    for row, (reference, text) in enumerate(pairs):
        outputs = [text]
        votes: list[Vote] = []
        for other, weight in (
            (one[row], 1.0),
            (two[row], 1.0),
            (sharing.find(reference, text, draw), 1.0),
            (copies[row], 0.3),
        ):
            if other and other not in (text, reference):
                votes.append((0, len(outputs), weight))
                outputs.append(other)
        if one[row] and two[row] and len(outputs) > 2 and outputs[1:3] == [one[row], two[row]]:
            votes.append((1, 2, 1.0))
        if votes:
            yield Group(language, (reference,), tuple(outputs), tuple(votes))


class _Sharing:
    """Finds sentences that share words with another."""

    def __init__(self, pool: Sequence[str], language: str) -> None:
        self._characters = language in WITHOUT_SPACES
        self._pool = [(text, self._words(text)) for text in pool]
        self._of: dict[str, list[int]] = defaultdict(list)
        for number, (_, words) in enumerate(self._pool):
            for word in words:
                self._of[word].append(number)

    def _words(self, text: str) -> set[str]:
        lower = text.lower()
        if self._characters:
            return {lower[i : i + 2] for i in range(len(lower) - 1)}
        return set(re.findall(r"\w+", lower))

    def find(self, reference: str, paraphrase: str, draw: random.Random) -> str | None:
        """One of the best of a sample; never the text itself or nearly so."""
        words, other = self._words(reference), self._words(paraphrase)
        seen: Counter[int] = Counter()
        for word in sorted(words):
            places = self._of.get(word, ())
            if 1 < len(places) < 2000:
                seen.update(draw.sample(places, min(30, len(places))))
        best: tuple[float, str] | None = None
        for number, _ in seen.most_common(40):
            text, own = self._pool[number]
            if text in (reference, paraphrase) or own in (words, other):
                continue
            share = len(own & words) / len(own | words)
            if share < 0.85 and (best is None or share > best[0]):
                best = share, text
        return best[1] if best and best[0] > 0.2 else None


def read_pairs(path: Path) -> Iterator[tuple[str, str, str, str]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if len(line) >= 4 and line[2].strip() and line[3].strip():
                yield line[0], line[1], judged.clean(line[2]), judged.clean(line[3])


Pairs = dict[tuple[str, str], list[tuple[str, str]]]
"""Texts and their translations by their languages."""


@dataclass
class Texts:
    """The bitext in memory: pairs for translation, and what synthetic groups are made of."""

    pairs: Pairs = field(default_factory=lambda: defaultdict(list))
    paraphrases: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    long: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    short: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def read_texts(folder: Path, languages: Sequence[str], seed: int = 1) -> Texts:
    """Read a sample of the bitext; two translations of one Tatoeba sentence are taken for paraphrases."""
    draw, texts, known = random.Random(seed), Texts(), set(languages)
    translations: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for one, other, first, second in read_pairs(folder / "tatoeba.tsv.xz"):
        if one not in known or other not in known or one == other:
            continue
        texts.pairs[one, other].append((first, second))
        if draw.random() < 0.35:
            translations[one, other, first].append(second)
            translations[other, one, second].append(first)
        for language, text in ((one, first), (other, second)):
            if draw.random() < 0.15:
                texts.short[language].append(text)
    for (_, language, _), found in translations.items():
        distinct = [text for text in dict.fromkeys(found) if len(text) > (5 if language in WITHOUT_SPACES else 14)]
        if len(distinct) > 1:
            one, other = draw.sample(distinct, 2)
            texts.paraphrases[language].append((one, other))
    for one, other, first, second in read_pairs(folder / "tatoeba_paraphrase.tsv.xz"):
        if one in known and one == other and first != second:
            texts.paraphrases[one].append((first, second))
            texts.pairs[one, one].append((first, second))
    for name in ("wmt_news_2014_2018", "kk_en_gov", "ca_softcatala"):
        for one, other, first, second in read_pairs(folder / f"{name}.tsv.xz"):
            if one in known and other in known:
                texts.pairs[one, other].append((first, second))
                texts.long[one].append(first)
                texts.long[other].append(second)
    for name, step in SHARES.items():
        _multiparallel(folder / f"{name}.jsonl.xz", step, known, texts, draw)
    return texts


SHARES: Mapping[str, int] = {
    "wmt_news_2008_2013": 1, "tico19": 1, "europarl7": 6, "wesnoth": 2, "multi30k": 4, "xquad_questions": 1,
    "docs_libreoffice_help": 6, "docs_libreoffice_ui": 6, "docs_gnome_help": 6, "docs_debian_ddtp": 6,
}  # fmt: skip
"""Every how many rows of a file are read."""


def _multiparallel(path: Path, step: int, known: set[str], texts: Texts, draw: random.Random) -> None:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in itertools.islice(lines, 0, None, step):
            row = {code: judged.clean(text) for code, text in json.loads(line).items() if code in known and text}
            codes = sorted(code for code in row if row[code])
            if len(codes) < 2:
                continue
            for code in codes:
                if len(row[code]) > (12 if code in WITHOUT_SPACES else 25):
                    texts.long[code].append(row[code])
            for _ in range(min(4, len(codes) - 1)):
                one, other = draw.sample(codes, 2)
                texts.pairs[one, other].append((row[one], row[other]))


def synthetic(texts: Texts, per_language: int, seed: int) -> dict[str, list[Group]]:
    """Synthetic groups by language, half of them ladders where there are paraphrases for the rest."""
    draw = random.Random(seed)
    groups: dict[str, list[Group]] = {}
    for language in sorted(texts.long.keys() | texts.paraphrases.keys()):
        long = [text for text in texts.long[language] if len(text) < 260] or texts.short[language]
        chosen = draw.sample(long, min(per_language // 2, len(long)))
        found = list(ladders(chosen, language, seed))
        pairs = texts.paraphrases[language]
        pairs = draw.sample(pairs, min(per_language // 2, len(pairs)))
        pool = draw.sample(texts.short[language], min(8000, len(texts.short[language])))
        found += paraphrased(pairs, pool, language, seed)
        draw.shuffle(found)
        groups[language] = found
    return groups
