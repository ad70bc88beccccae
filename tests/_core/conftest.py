"""Every test has a cache of its own."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "home"))
    monkeypatch.delenv("PRISM_CACHE_LIMIT", raising=False)
    return tmp_path / "home"
