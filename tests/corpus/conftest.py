from pathlib import Path

import pytest

from prism_mt.corpus.steps.base import Context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(seed=1, languages=("de", "en", "zh"), groups=("news", "web"), root=tmp_path)
