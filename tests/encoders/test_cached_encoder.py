from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from prism_mt.encoders.base import PieceVectors, batches_by_length
from prism_mt.encoders.cached import StoredEncoder


def test_batches_are_by_length_and_within_the_budget() -> None:
    assert list(batches_by_length([2, 5, 0, 3, 9], budget=10)) == [[4], [1, 3], [0, 2]]
    assert list(batches_by_length([20], budget=10)) == [[0]]


class CountingEncoder:
    name, digest, layer, layers, width, room = "counting", "f" * 64, "all", 2, 3, 512

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> list[PieceVectors]:
        self.seen.extend(texts)
        return [np.full((2, len(text.split()), 3), 1 / 3, dtype=np.float32) for text in texts]


def test_stored_vectors_are_computed_once_and_rounded_alike() -> None:
    encoder = CountingEncoder()
    first = StoredEncoder(encoder, "all").encode(["a b", "c", "a b", ""])
    again = StoredEncoder(encoder, "all").encode(["c", "d e f", ""])
    assert encoder.seen == ["a b", "c", "", "d e f"]
    assert [vectors.shape for vectors in first] == [(2, 2, 3), (2, 1, 3), (2, 2, 3), (2, 0, 3)]
    assert (first[1] == again[0]).all()
    assert first[0][0, 0, 0] == np.float32(np.float16(1 / 3))


def test_a_cache_that_cannot_be_used_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder", "utf-8")
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "file"))
    encoder = CountingEncoder()
    stored = StoredEncoder(encoder, "all")
    first, again = stored.encode(["a b", "c"]), stored.encode(["c"])
    assert encoder.seen == ["a b", "c", "c"]
    assert (first[1] == again[0]).all()
    assert first[0][0, 0, 0] == np.float32(np.float16(1 / 3))
    assert caplog.text.count("cannot use the encodings cache") == 1


def test_the_last_layer_is_kept_by_itself() -> None:
    encoder = CountingEncoder()
    stored = StoredEncoder(encoder)
    assert stored.layers == 1
    assert stored.encode(["a b"])[0].shape == (1, 2, 3)
    StoredEncoder(encoder, "all").encode(["a b"])
    assert encoder.seen == ["a b", "a b"]


def test_layers_do_not_share_vectors() -> None:
    encoder, other = CountingEncoder(), CountingEncoder()
    encoder.layer, other.layer = "1", "2"
    for one in (encoder, other, encoder, other):
        assert StoredEncoder(one).layer == one.layer
        StoredEncoder(one).encode(["a b"])
    assert (encoder.seen, other.seen) == (["a b"], ["a b"])


def test_a_mix_of_layers_is_kept_by_itself() -> None:
    encoder = CountingEncoder()
    mix = np.array([0.5, 4.0], np.float32)
    stored = StoredEncoder(encoder, mix=mix)
    assert stored.layers == 1
    assert stored.encode(["a b"])[0] == pytest.approx(np.full((1, 2, 3), 1.5), abs=1e-3)
    StoredEncoder(encoder, mix=mix).encode(["a b"])
    assert encoder.seen == ["a b"]
    StoredEncoder(encoder, mix=2 * mix).encode(["a b"])
    assert encoder.seen == ["a b", "a b"]
