"""LASER: a bidirectional LSTM over subword pieces, maximum over positions; LASER2 and the original of 93 languages."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from prism_mt._core.errors import MissingExtra
from prism_mt.encoders.base import batches_by_length, reading
from prism_mt.encoders.bpe import PairEncoding
from prism_mt.encoders.sentence import Vectors, unit_length
from prism_mt.engines.budgets import LASER_ENCODING

_END, _UNKNOWN = 2, 3
_FIRST_PIECE = 4
LASER2, LASER1 = "laser2.pt", "bilstm.93langs.2018-12-26.pt"
"""The files with the weights."""
_CODES, _COUNTS = "93langs.fcodes", "93langs.fvocab"
Pieces = Callable[[str], list[str]]
"""Splits a text into pieces."""


class Laser:
    """Weights from a folder with `laser2.pt`, `laser2.spm` and, if the checkpoint has no dictionary, `laser2.cvocab`.

    Or the original encoder of 93 languages: `bilstm.93langs.2018-12-26.pt`, `93langs.fcodes` and `93langs.fvocab`.
    Text is lower-cased, as it was in training. LASER2 also unifies quotes and dashes with Moses rules; its
    SentencePiece model does most of the same. For the original, a tokenizer of sacreBLEU stands in for those of
    Moses and jieba, and Greek and Japanese are taken as they are.
    """

    languages: frozenset[str] | None = None

    def __init__(self, folder: Path) -> None:
        try:
            import torch
        except ImportError:
            raise MissingExtra("the encoder laser", "train") from None
        original = not (folder / LASER2).is_file()
        with reading(folder, f"a complete {'LASER' if original else 'LASER2'} encoder"):
            weights = folder / (LASER1 if original else LASER2)
            checkpoint = torch.load(weights, map_location="cpu", weights_only=True)
            self._ids: Mapping[str, int] = checkpoint.get("dictionary") or _read_dictionary(
                folder / "laser2.cvocab"
            )
            self._pieces = _paired(folder) if original else _sentencepiece(folder)
            self._embedding, self._lstm = _build(checkpoint["params"], checkpoint["model"])

    def encode(self, texts: list[str]) -> Vectors:
        """One vector per text."""
        import torch

        encoded = [self._encode_text(text) for text in texts]
        vectors = np.empty((len(texts), 2 * self._lstm.hidden_size), dtype=np.float32)
        with torch.inference_mode():
            for places in batches_by_length([len(ids) for ids in encoded], LASER_ENCODING):
                vectors[places] = self._forward([encoded[place] for place in places])
        return unit_length(vectors)

    def _encode_text(self, text: str) -> list[int]:
        return [self._ids.get(piece, _UNKNOWN) for piece in self._pieces(text.lower())] + [_END]

    def _forward(self, batch: list[list[int]]) -> Any:
        """Maximum over the positions of each sentence; the batch is sorted from long to short."""
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

        ids = pad_sequence([torch.tensor(row) for row in batch], batch_first=True)
        packed = pack_padded_sequence(self._embedding(ids), [len(row) for row in batch], batch_first=True)
        states, _ = pad_packed_sequence(self._lstm(packed)[0], batch_first=True, padding_value=float("-inf"))
        return states.amax(dim=1).numpy()


def _build(params: dict[str, Any], weights: dict[str, Any]) -> tuple[Any, Any]:
    """The embedding and the LSTM with their weights."""
    import torch

    embedding = torch.nn.Embedding(params["num_embeddings"], params["embed_dim"])
    lstm = torch.nn.LSTM(
        params["embed_dim"],
        params["hidden_size"],
        num_layers=params["num_layers"],
        bidirectional=params["bidirectional"],
        batch_first=True,
    )
    if not params["bidirectional"]:
        raise ValueError("the LSTM is not bidirectional")
    embedding.load_state_dict({"weight": weights["embed_tokens.weight"]})
    lstm.load_state_dict({name[5:]: value for name, value in weights.items() if name.startswith("lstm.")})
    return embedding.eval(), lstm.eval()


def _sentencepiece(folder: Path) -> Pieces:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "laser2.spm"))
    return lambda text: [str(piece) for piece in processor.encode(text, out_type=str)]


def _paired(folder: Path) -> Pieces:
    """Words, Chinese characters each of their own, then byte-pair encoding."""
    from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

    known = [line.rsplit(" ", 1)[0] for line in (folder / _COUNTS).read_text("utf-8").splitlines()]
    encoding = PairEncoding(folder / _CODES, known)
    words: Callable[[str], str] = TokenizerZh()  # type: ignore[no-untyped-call]
    return lambda text: [piece for word in words(text).split() for piece in encoding.split(word)]


def _read_dictionary(path: Path) -> dict[str, int]:
    """Pieces in the order of the file, after the four special tokens."""
    lines = path.read_text("utf-8").splitlines()
    return {line.rsplit(" ", 1)[0]: _FIRST_PIECE + place for place, line in enumerate(lines)}
