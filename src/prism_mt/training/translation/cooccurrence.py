"""Initial embeddings from co-occurrence: pieces of mutual translations start close together.

Small models and short runs spend most of their steps finding out which words mean the same. Counting does it in a
minute: two pieces belong together to the extent that they occur on the two sides of a sentence pair more often than
by chance (positive pointwise mutual information), and the leading eigenvectors of that table are the vectors.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from prism_mt._core.errors import PrismError
from prism_mt.corpus.data_directory import ShardDataset

ROWS = 1_000_000
"""Maximum number of sentence pairs to count, spread evenly over the data."""
LARGEST = 40_000
"""Maximum vocabulary size: the table of all pairs of pieces has to fit into memory, a few times."""
_CHUNK = 40_000
_SPREAD = 0.25
"""Exponent of the eigenvalues: 1 would let the most frequent topics dominate, 0 makes all directions equal."""
_RANDOM = 0.25
"""Share of a vector's squared length that is random, so that synonyms remain distinguishable."""


def cooccurrence_vectors(data: ShardDataset, random: Tensor, seed: int) -> Tensor:
    """Vectors for all pieces that occur, mixed into the `random` ones (vocabulary, width), which the others keep."""
    size, width = random.shape
    if size > LARGEST:
        raise PrismError(
            f'embeddings = "cooccurrence" counts all pairs of pieces and takes at most {LARGEST:,} pieces; '
            f"{data.folder} has {size:,}"
        )
    table = torch.from_numpy(count_pairs(data))
    directions, values = _leading(_information(table), width, seed)
    learned = directions * values**_SPREAD
    learned = torch.nn.functional.pad(learned, (0, width - learned.shape[1]))
    mixed = torch.nn.functional.normalize(learned) * (1 - _RANDOM) ** 0.5 + random * _RANDOM**0.5
    return torch.where(table.sum(1, keepdim=True) > 0, mixed, random)


def _leading(table: Tensor, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Eigenvectors of the largest positive eigenvalues of a symmetric table, as columns, and these eigenvalues.

    The negative ones would push translations apart: they encode which language a piece belongs to.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        basis, _, _ = torch.svd_lowrank(table, q=min(2 * count + 64, len(table)), niter=3)
    values, vectors = torch.linalg.eigh(basis.T @ (table @ basis))
    values, vectors = values.flip(0)[:count].clamp_min(0), vectors.flip(1)[:, :count]
    return basis @ vectors, values


def count_pairs(data: ShardDataset) -> NDArray[np.float32]:
    """Count how often two pieces occur on the two sides of a pair; long sentences, which say less, weigh less."""
    size = data.meta.vocabulary
    table = np.zeros((size, size), dtype=np.float32)
    for source, target in _sides(data):
        weights = 1 / np.maximum(np.diff(source.indptr), np.diff(target.indptr))
        counted = (sparse.diags(weights.astype(np.float32)) @ source).T @ target
        found = counted.tocoo()
        table[found.row, found.col] += found.data
    table += table.T
    return table


def _information(table: Tensor) -> Tensor:
    totals = table.sum(1).clamp_min(1e-6)
    expected = totals[:, None] * (totals / totals.sum())[None, :]
    # A single observation proves little: it counts according to its weight.
    trust = table / (table + 1)
    return torch.log(table / expected + 1e-12).clamp_min_(0) * trust


def _sides(data: ShardDataset) -> Iterator[tuple[Any, Any]]:
    """Which pieces occur in sources and targets, as sparse 0/1 matrices of some rows each."""
    step = max(1, -(-len(data) // ROWS))
    for first in range(0, len(data), step * _CHUNK):
        pairs = [data.pair(row) for row in range(first, min(first + step * _CHUNK, len(data)), step)]
        yield tuple(_incidence([pair[side] for pair in pairs], data.meta.vocabulary) for side in (0, 1))


def _incidence(sentences: list[NDArray[Any]], size: int) -> Any:
    distinct = [np.unique(sentence) for sentence in sentences]
    ends = np.cumsum([0, *(len(pieces) for pieces in distinct)])
    ones = np.ones(ends[-1], dtype=np.float32)
    return sparse.csr_matrix((ones, np.concatenate(distinct), ends), shape=(len(sentences), size))
