"""The source pieces of `mini`: those of e5 that the 39 languages need, with their unigram scores.

    python benchmarks/mini/prune.py ROOT [--size 96000]

ROOT has the folder bitext; the model is written to ROOT/e5-96k.model, where mini-corpus.toml looks for it. A piece
counts by its mean share in the languages, plus a small part of its share under e5's own unigram model, which knows
words that the bitext does not have.
"""

import argparse
import json
import lzma
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from prism_mt.encoders.e5 import e5_path
from prism_mt.encoders.e5_file import E5File
from prism_mt.models.zoo import find
from prism_mt.text.subwords import Vocabulary
from prism_mt.text.unigram import Specials, unigram_model

SHARE, TEXTS, PRIOR = 0.3, 30_000, 0.3
MASK = b"<mask>"


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """Language and text of every side of a file."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if path.name.endswith("jsonl.xz"):
                yield from json.loads(line).items()
            else:
                first, second, one, other = line.rstrip("\n").split("\t")[:4]
                yield from ((first, one), (second, other))


def sample(folder: Path) -> dict[str, list[str]]:
    """Texts of each language at random."""
    known = find("m39v1")
    assert known is not None
    draw = random.Random(1)
    found: dict[str, list[str]] = {language: [] for language in known.languages.split()}
    for path in sorted(folder.glob("*.xz")):
        for language, text in texts(path):
            if language in found and draw.random() < SHARE:
                found[language].append(text)
    for rows in found.values():
        draw.shuffle(rows)
        del rows[TEXTS:]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--size", type=int, default=96_000)
    options = parser.parse_args()
    file = E5File(e5_path())
    masks = [index for index, piece in enumerate(file.pieces) if piece == MASK]
    vocabulary = Vocabulary(unigram_model(file.pieces, file.scores, file.specials, masks))
    shares = np.zeros(len(file.pieces))
    languages = sample(options.root / "bitext")
    for rows in languages.values():
        ids = np.concatenate([np.array(one, dtype=np.int64) for one in vocabulary.processor.encode(rows)])
        counts = np.bincount(ids, minlength=len(shares))
        shares += counts / counts.sum() / len(languages)
    prior = np.exp(file.scores.astype(np.float64))
    special = [*file.specials, *masks]
    order = [int(place) for place in np.argsort(-(shares + PRIOR * prior / prior.sum())) if place not in special]
    kept = [*range(4), *sorted(order[: options.size - 4])]
    model = unigram_model([file.pieces[place] for place in kept], file.scores[kept], Specials(0, 1, 2, 3))
    (options.root / "e5-96k.model").write_bytes(model)
    print(f"{len(kept):,} pieces cover {100 * shares[kept].sum():.1f} % of the sample, languages alike")


if __name__ == "__main__":
    main()
