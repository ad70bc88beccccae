from pathlib import Path

import pytest
from made_corpus import SMALL_BLOCKS, make_corpus, run
from toy_training import sentencepiece  # noqa: F401

from prism_mt.corpus.steps.base import Context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(seed=1, languages=("de", "en", "zh"), groups=("news", "web"), root=tmp_path)


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("prism_mt.corpus.readers._BLOCK_BYTES", SMALL_BLOCKS)
    return make_corpus(tmp_path)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of an uninterrupted run in one process."""
    folder = make_corpus(tmp_path_factory.mktemp("whole"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prism_mt.corpus.readers._BLOCK_BYTES", SMALL_BLOCKS)
        run(folder, folder / "out")
    return folder / "out"
