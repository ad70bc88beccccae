from pathlib import Path

import pytest

from prism_mt.encoders import factory


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    factory._sentence_encoder.cache_clear()
