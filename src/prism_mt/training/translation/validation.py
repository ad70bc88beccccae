"""Validation loss per direction."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from prism_mt.corpus.data_directory import ShardDataset
from prism_mt.training.distributed import World
from prism_mt.training.translation.batches import Collator
from prism_mt.training.translation.config import TrainConfig
from prism_mt.training.translation.cross_entropy import TranslationLoss
from prism_mt.training.translation.stream import TARGET_EXTRA, Plan, cut, group_rows

ALL = "all"
Losses = dict[str, tuple[float, int]]
"""Mean negative log-likelihood per token and number of tokens, by direction and under `all`."""


def validation_plans(
    data: ShardDataset, config: TrainConfig, count: int, source_extra: int
) -> list[tuple[str, Plan]]:
    """Batches of the first `count` rows of each language pair, in both directions and without noise."""
    translation = config.kind == "translation"
    plans: list[tuple[str, Plan]] = []
    for group in group_rows(data, config.batches.max_length):
        if group.single and translation:
            continue
        rows = group.rows[:count]
        for reverse in (False,) if group.single else (False, True):
            first, _, second = group.pair.partition("-")
            source, target = (second, first) if reverse else (first, second or first)
            name = f"{source}-{target}" if translation else target
            plans += ((name, plan) for plan in _plans(data, rows, reverse, config.batches.tokens, source_extra))
    return plans


def _plans(data: ShardDataset, rows: np.ndarray, reverse: bool, tokens: int, source_extra: int) -> Iterator[Plan]:
    given, written = (1, 0) if reverse else (0, 1)
    source = data.source_lengths[given, rows].astype(np.int64)
    target = data.target_lengths[written, rows].astype(np.int64)
    order = np.lexsort((source, target))
    for start, end in cut(source[order] + source_extra, target[order] + TARGET_EXTRA, tokens):
        part = order[start:end]
        no, swap = np.zeros(len(part), dtype=np.bool_), np.full(len(part), reverse)
        yield Plan(rows[part], swap, no, target[part], (0,))


def validate(loss: TranslationLoss, plans: Iterable[tuple[str, Plan]], collate: Collator, world: World) -> Losses:
    """Losses of the current model; every process takes its share of the batches."""
    plans = list(plans)
    totals = {name: 0.0 for name, _ in plans}
    for name, plan in islice(plans, world.rank, None, world.size):
        _, likelihood = loss(collate(plan).to(world.device))
        totals[name] += float(likelihood)
    names = sorted(totals)
    sums = dict(zip(names, world.sums([totals[name] for name in names]), strict=True))
    tokens: dict[str, int] = defaultdict(int)
    for name, plan in plans:
        tokens[name] += plan.predicted
    losses = {name: (sums[name] / tokens[name], tokens[name]) for name in names}
    every = sum(tokens.values())
    return {ALL: (sum(sums.values()) / every, every), **losses}
