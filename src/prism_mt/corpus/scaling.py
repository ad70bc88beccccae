"""Scale a configuration down to less bitext than it was written for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prism_mt.corpus.config import CorpusConfig
from prism_mt.corpus.steps.registry import KINDS


def scaled(config: CorpusConfig) -> CorpusConfig:
    """Put the configuration's `scale` into effect: smaller counts of rows, smaller vocabularies.

    Vocabularies shrink with the square root, about as the number of different words does.
    """
    scale = config.scale
    if scale >= 1:
        return config
    vocabulary = replace(
        config.vocabulary,
        size=_shrunk(config.vocabulary.size, scale**0.5),
        sentences=_shrunk(config.vocabulary.sentences, scale),
    )
    steps = [_scaled_step(table, scale) for table in config.step]
    return replace(config, step=steps, vocabulary=vocabulary, scale=1.0)


def _scaled_step(table: Mapping[str, Any], scale: float) -> dict[str, Any]:
    """Shrink what a step's table counts, its defaults included."""
    step = KINDS.get(str(table.get("kind")))
    if step is None:
        return dict(table)  # an error that names the step comes when it is built
    found = dict(table)
    for names, factor in ((step.counts, scale), (step.vocabularies, scale**0.5)):
        for name in names:
            value = table.get(name, getattr(step.Config, name, None))
            if isinstance(value, int) and not isinstance(value, bool):
                found[name] = _shrunk(value, factor)
    return found


def _shrunk(count: int, factor: float) -> int:
    """A count of 0 means that there is none, and stays."""
    return max(1, round(count * factor)) if count > 0 else count
