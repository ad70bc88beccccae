"""Give a model the pieces that it writes as the pieces that it reads, from which it copies best.

    python benchmarks/mini/share_pieces.py OUTPUT [--model mini]

The embedding of a source piece is e5's; pieces that e5 does not have get the mean of those of their text. Everything is
rounded to the 4 bits that it will be stored in, which changes nothing of e5's own.
"""

import argparse
import dataclasses
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_mt.encoders.factory import read_encoder
from prism_mt.encoders.tokens import SubwordTokenizer
from prism_mt.models.directory import write_model
from prism_mt.models.resolve import open_model
from prism_mt.models.storage import pack, unpack
from prism_mt.text.subwords import Vocabulary
from prism_mt.training.translation.initial import piece_rows

EMBEDDING = "encoder.embedding.weight"


def embedding(pieces: Vocabulary) -> NDArray[np.float32]:
    """A row of e5 for every piece."""
    e5 = read_encoder("e5")
    assert isinstance(e5.tokenizer, SubwordTokenizer)
    rows = piece_rows(pieces, e5.tokenizer.vocabulary, e5.load()[EMBEDDING])
    return unpack(pack({EMBEDDING: rows}, "int4"))[EMBEDDING]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", default="mini")
    options = parser.parse_args()
    model = open_model(options.model).load()
    architecture = dataclasses.replace(model.spec.architecture, source_vocabulary=len(model.target))
    spec = dataclasses.replace(model.spec, architecture=architecture, name=options.output.name)
    weights = {**model.weights, EMBEDDING: embedding(model.target)}
    shared = dataclasses.replace(
        model, spec=spec, weights=weights, source=model.target, card="", judged=frozenset()
    )
    write_model(shared, options.output)


if __name__ == "__main__":
    main()
