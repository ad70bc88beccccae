"""LASER2: a bidirectional LSTM over SentencePiece pieces, maximum over positions."""

from pathlib import Path
from typing import Any

import numpy as np

from prism_mt._core.errors import MissingExtra
from prism_mt.encoders.base import batches_by_length, reading
from prism_mt.encoders.sentence import Vectors, unit_length
from prism_mt.engines.budgets import LASER_ENCODING

_END, _UNKNOWN = 2, 3
_FIRST_PIECE = 4


class Laser:
    """Weights from a folder with `laser2.pt`, `laser2.spm` and, if the checkpoint has no dictionary, `laser2.cvocab`.

    Text is lower-cased, as it was in training. The original also unifies quotes and dashes with Moses rules; its
    SentencePiece model does most of the same.
    """

    languages: frozenset[str] | None = None

    def __init__(self, folder: Path) -> None:
        try:
            import torch
        except ImportError:
            raise MissingExtra("the encoder laser", "train") from None
        import sentencepiece

        with reading(folder, "a complete LASER2 encoder"):
            checkpoint = torch.load(folder / "laser2.pt", map_location="cpu", weights_only=True)
            self._pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "laser2.spm"))
            self._ids = checkpoint.get("dictionary") or _read_dictionary(folder / "laser2.cvocab")
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
        pieces = self._pieces.encode(text.lower(), out_type=str)
        return [self._ids.get(piece, _UNKNOWN) for piece in pieces] + [_END]

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


def _read_dictionary(path: Path) -> dict[str, int]:
    """Pieces in the order of the file, after the four special tokens."""
    lines = path.read_text("utf-8").splitlines()
    return {line.rsplit(" ", 1)[0]: _FIRST_PIECE + place for place, line in enumerate(lines)}
