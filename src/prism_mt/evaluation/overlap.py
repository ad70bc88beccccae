"""Detect models judged on segments that they were trained on."""

import hashlib
import logging
from collections.abc import Collection

from prism_mt.evaluation.judgments import Judgments

_LOG = logging.getLogger("prism_mt")


def segment_key(pair: str, source: str) -> str:
    """Identify a segment without keeping its text."""
    return hashlib.sha256(f"{pair}\t{source}".encode()).hexdigest()[:16]


def warn_of_overlap(learned: Collection[str], judgments: Judgments, model: str) -> None:
    """Warn if segments of these judgments are in the training data of `model`."""
    sources = judgments.texts.sources if judgments.texts is not None else ()
    shared = sum(source is not None and segment_key(judgments.pair, source) in learned for source in sources)
    if shared:
        _LOG.warning(
            "%s learns from %d of the %d segments of %s: its results on them say nothing about new ones",
            *(model, shared, len(sources), judgments.place),
        )
