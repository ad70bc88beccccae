"""Judgments that are beside the checkout, or where PRISM_DATA says; each file is read once."""

import os
from functools import cache
from pathlib import Path

import pytest
from metaeval_data import Read

from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.readers import read_all_judgments


@pytest.fixture(scope="session")
def data() -> Path:
    default = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("PRISM_DATA", default)) / "judgments"
    if not folder.is_dir():
        pytest.skip(f"needs the human judgments in {folder}: set PRISM_DATA")
    return folder


@pytest.fixture(scope="session")
def read(data: Path) -> Read:
    """All judgments of a file by language pair."""

    @cache
    def read_once(name: str) -> dict[str, Judgments]:
        return {judgments.pair: judgments for judgments in read_all_judgments([data / name])}

    return read_once
