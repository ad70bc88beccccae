import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hf_models import Family, cached

Copier = Callable[..., Path]


@pytest.fixture
def copied(tmp_path: Path) -> Copier:
    """Copies the model of a family into a folder of this name, to be changed by the test."""

    def copy(family: Family, name: str = "model") -> Path:
        return Path(shutil.copytree(cached(family)[0], tmp_path / name))

    return copy
