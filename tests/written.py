"""A model whose probabilities are written down, for searches that can be worked by hand."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

END, A, B, C, START = 0, 1, 2, 3, 4
TINY = 1e-9


class Written:
    """A stepper that looks probabilities up. All sentences have the same model."""

    def __init__(self, probabilities: Mapping[tuple[int, ...], Sequence[float]]) -> None:
        self.probabilities = probabilities
        self.rows: list[tuple[int, ...]] = []

    def step(self, tokens: Tensor) -> Tensor:
        new = [tuple(row) for row in tokens.tolist()]
        if not self.rows:
            self.rows = [() for _ in new]
        else:
            self.rows = [old + row for old, row in zip(self.rows, new, strict=True)]
        default = (0.4, 0.2, 0.2, 0.2)
        table = [[*self.probabilities.get(row, default), TINY] for row in self.rows]
        return torch.tensor(table, dtype=torch.float64).log()

    def select(self, rows: Tensor, sentences: Tensor | None) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]
