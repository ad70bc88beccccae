"""Error spans of requests."""

from pathlib import Path

import pytest
from made import make_model

from prism_mt import PrismError, PrismRef, PrismSrc, Runtime
from prism_mt.metrics.base import Segment
from prism_mt.models.directory import write_model
from prism_mt.serve.lanes import Task
from prism_mt.serve.scorer import ScoringThreads
from prism_mt.text.parallel import Languages


def test_a_model_without_weights_says_so(tmp_path: Path) -> None:
    folder = str(write_model(make_model(), tmp_path / "made").folder)
    scorer = ScoringThreads(Runtime(), [folder])
    try:
        segments = [Segment("A red hall.", ("A large hall.",), "Ein Saal.")]
        task = Task(PrismRef(model=folder), Languages("en"), 1, spans=True)
        with pytest.raises(PrismError, match="has no weights for error spans"):
            scorer.submit(task, segments).answer.result(timeout=60)
        task = Task(PrismSrc(model=folder), Languages("en"), 1, error_free=True)
        with pytest.raises(PrismError, match="cannot find error spans"):
            scorer.submit(task, segments).answer.result(timeout=60)
    finally:
        scorer.close()
