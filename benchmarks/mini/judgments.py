"""The training data of the embedded learned metrics, as `prism metric train` reads them.

    python benchmarks/mini/judgments.py --data DIR --output DIR

Judgments of WMT20 (MQM averaged over raters, and DA) for English-German and Chinese-English, DA of WMT15 and WMT16,
and references with mistakes made on purpose in many languages. An eighth of the documents of WMT20 is held out to
validate on. Nothing of WMT17, WMT19, WMT21 or the held-out sets is used.
"""

import argparse
import csv
import json
import lzma
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PAIRS, REFERENCE = ("en-de", "zh-en"), "Human-A.0"
PERFECT, SLIGHT, BAD = 1.6, -0.2, -1.8
"""Scores of a copy, of one mistake and of many, in standard deviations of the judgments."""
LOWEST, HIGHEST = -3.0, 2.0
MANY = ("en", "de", "ru", "zh", "cs", "fr")


class Row(NamedTuple):
    """A line of the output."""

    ref: str
    hyp: str
    score: float
    group: str


def read(path: Path) -> list[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_table(path: Path) -> list[dict[str, str]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def clean(text: str | None) -> str:
    return " ".join((text or "").split())


def held_out(rows: Sequence[dict[str, Any]], draw: random.Random) -> set[str]:
    documents = sorted({row["doc"] for row in rows})
    draw.shuffle(documents)
    return set(documents[: max(1, len(documents) // 8)])


def mqm(rows: Sequence[dict[str, Any]], pair: str, draw: random.Random) -> Iterator[tuple[str, Row]]:
    """Document and row of each output; penalties are squashed, since a few segments have very large ones."""
    scores = {}
    for row in rows:
        for system, ratings in row["mqm"].items():
            if not system.startswith("Human"):
                squashed = [-np.log1p(-rating["score"]) for rating in ratings.values()]
                scores[row["seg_id"], system] = float(np.mean(squashed))
    values = np.array(list(scores.values()))
    for row in rows:
        reference, group = clean(row["sys"][REFERENCE]), f"{pair}:{row['seg_id']}"
        for system, text in row["sys"].items():
            if (row["seg_id"], system) in scores:
                score = (scores[row["seg_id"], system] - values.mean()) / values.std()
                yield row["doc"], Row(reference, clean(text), float(score), group)
        if draw.random() < 0.5:
            yield row["doc"], Row(reference, reference, PERFECT, group)


def direct_assessments(
    table: Sequence[dict[str, str]], rows: Sequence[dict[str, Any]], pair: str
) -> Iterator[tuple[str, Row]]:
    segments = {f"{row['doc']}::{row['doc_seg']}": row for row in rows}
    for line in table:
        row = segments.get(line["docseg"])
        if line["lp"] == pair and row and line["system"] in row["sys"] and not line["system"].startswith("Human"):
            score = float(np.clip(float(line["z"]), LOWEST, HIGHEST))
            texts = (clean(row["sys"][REFERENCE]), clean(row["sys"][line["system"]]))
            yield row["doc"], Row(*texts, score, f"da:{pair}:{row['seg_id']}")


def wmt20(data: Path) -> Iterator[tuple[str, list[dict[str, Any]], set[str]]]:
    """Each pair with the rows of WMT20 MQM and the documents that are held out, the same for all that is trained."""
    draw = random.Random(1)
    for pair in PAIRS:
        rows = read(data / "judgments" / f"wmt20_mqm_{pair}.jsonl.xz")
        documents = held_out(rows, draw)
        for _ in mqm(rows, pair, draw):
            pass  # draws as often as `main`, so that the documents of the next pair are the same
        yield pair, rows, documents


def perturb(words: Sequence[str], count: int, others: Sequence[str], draw: random.Random) -> list[str]:
    """Drop, add, replace or swap words, `count` times."""
    found = list(words)
    for _ in range(count):
        kind, place = draw.random(), draw.randrange(len(found))
        if kind < 0.4 and len(found) > 3:
            del found[place]
        elif kind < 0.6:
            found.insert(place, draw.choice(others))
        elif kind < 0.8:
            found[place] = draw.choice(others)
        else:
            other = draw.randrange(len(found))
            found[place], found[other] = found[other], found[place]
    return found


def perturbed(texts: dict[str, list[str]], draw: random.Random) -> Iterator[Row]:
    """Each text as it is, with one mistake and with many."""
    for language, found in sorted(texts.items()):
        joint, shortest, longest = ("", 15, 100) if language in ("zh", "ja") else (" ", 40, 300)
        chosen = [text for text in dict.fromkeys(found) if shortest < len(text) < longest]
        draw.shuffle(chosen)
        chosen = chosen[: 700 if language in MANY else 150]
        cut = [list(text) if not joint else text.split() for text in chosen]
        others = [word for words in cut[:200] for word in words]
        for number, (text, words) in enumerate(zip(chosen, cut, strict=True)):
            if len(words) >= 5:
                for count, score in ((0, PERFECT), (1, SLIGHT), (max(3, len(words) // 4), BAD)):
                    changed = joint.join(perturb(words, count, others, draw))
                    yield Row(text, changed, score, f"perturbed:{language}:{number}")


def bitext(folder: Path) -> dict[str, list[str]]:
    """News, health and parliament by language."""
    found: dict[str, list[str]] = defaultdict(list)
    with lzma.open(folder / "wmt_news_2014_2018.tsv.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            first, second, one, other = line.rstrip("\n").split("\t")[:4]
            found[first].append(clean(one))
            found[second].append(clean(other))
    for name, step in (("tico19", 1), ("europarl7", 60)):
        for row in read(folder / f"{name}.jsonl.xz")[::step]:
            for language, text in row.items():
                if language != "_id":
                    found[language].append(clean(text))
    return found


def write(path: Path, rows: Sequence[Row]) -> None:
    with open(path, "w", encoding="utf-8") as handle:
        handle.write("\t".join(Row._fields) + "\n")
        for row in rows:
            if row.ref and row.hyp:
                handle.write(f"{row.ref}\t{row.hyp}\t{row.score:.4f}\t{row.group}\n")
    print(f"{path}: {len(rows):,} outputs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with judgments/ and bitext/")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    judgments, draw = options.data / "judgments", random.Random(1)
    options.output.mkdir(parents=True, exist_ok=True)
    table = read_table(judgments / "wmt20_da_seg.tsv.xz")
    train: list[Row] = []
    assessed: list[Row] = []
    dev: list[Row] = []
    for pair in PAIRS:
        rows = read(judgments / f"wmt20_mqm_{pair}.jsonl.xz")
        out = held_out(rows, draw)
        for document, row in mqm(rows, pair, draw):
            if document not in out:
                train.append(row)
            elif row.ref != row.hyp:
                dev.append(row)
        assessed += [row for document, row in direct_assessments(table, rows, pair) if document not in out]
    old = [
        Row(clean(line["ref"]), clean(line["hyp"]), float(np.clip(float(line["da_z"]), LOWEST, HIGHEST)), "")
        for line in read_table(judgments / "wmt15-16_da_seg.tsv.xz")
    ]
    write(options.output / "mqm.tsv", train)
    write(options.output / "da20.tsv", assessed)
    write(options.output / "da1516.tsv", old)
    write(options.output / "perturbed.tsv", list(perturbed(bitext(options.data / "bitext"), draw)))
    write(options.output / "dev.tsv", dev)


if __name__ == "__main__":
    main()
