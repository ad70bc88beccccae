from pathlib import Path

import numpy as np
import pytest
import torch

from prism_mt._core.errors import PrismError
from prism_mt.corpus.data_directory import ShardDataset
from prism_mt.corpus.shard_writer import ShardWriter
from prism_mt.training.translation import cooccurrence
from prism_mt.training.translation.cooccurrence import cooccurrence_vectors, count_pairs

A, B, C, D, OTHER = 10, 11, 12, 13, 14


@pytest.fixture
def data(sentencepiece: bytes, tmp_path: Path) -> ShardDataset:
    """A is translated by B and C by D; OTHER stands everywhere."""
    with ShardWriter(tmp_path, sentencepiece, ["de", "en"]) as writer:
        for _ in range(30):
            writer.add("train", "de", "en", [A, OTHER], [B, OTHER])
            writer.add("train", "de", "en", [C, C, OTHER], [OTHER, D])
    return ShardDataset(tmp_path)


def test_counts_by_hand(data: ShardDataset) -> None:
    # Two distinct pieces on each side, so that each pair weighs a half; a repeated piece counts once.
    table = count_pairs(data)
    assert table[A, B] == table[B, A] == table[C, D] == 15
    assert table[A, OTHER] == 15
    assert table[OTHER, OTHER] == 60  # both directions
    assert table[A, D] == table[A, C] == 0
    assert np.array_equal(table, table.T)


def test_rows_are_spread_evenly(data: ShardDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "ROWS", 30)
    monkeypatch.setattr(cooccurrence, "_CHUNK", 7)
    table = count_pairs(data)
    assert table[A, B] == 15  # every second row: all of the first kind
    assert table[C, D] == 0


def test_translations_begin_close_and_others_stay(data: ShardDataset) -> None:
    torch.manual_seed(1)
    random = torch.randn(data.meta.vocabulary, 32) * 32**-0.5
    vectors = cooccurrence_vectors(data, random, seed=1)
    unit = torch.nn.functional.normalize(vectors)
    similar = unit @ unit.T
    assert min(similar[A, B], similar[C, D]) > 0.5
    assert max(similar[A, D], similar[C, B]) < 0.4
    unseen = [index for index in range(len(random)) if index not in (A, B, C, D, OTHER)]
    assert torch.equal(vectors[unseen], random[unseen])
    assert torch.equal(vectors, cooccurrence_vectors(data, random, seed=1))


def test_a_large_vocabulary_is_refused(data: ShardDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "LARGEST", 59)
    with pytest.raises(PrismError, match="at most 59 pieces; .* has 60"):
        cooccurrence_vectors(data, torch.zeros(60, 8), seed=1)
