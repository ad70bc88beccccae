import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import their makers of models


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Converted models go to a folder of the test run, never to the user's cache."""
    import os

    os.environ["PRISM_CACHE"] = str(tmp_path_factory.mktemp("cache"))
