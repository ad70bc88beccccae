"""The converted model in the cache: whatever happens to it, the scores stay the same."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import SENTENCES, make_model

from prism_mt._core.cache import Store
from prism_mt._core.files import sha256_of
from prism_mt.engines.base import Pair, TokenScores
from prism_mt.engines.ct2 import CT2Engine
from prism_mt.engines.ct2_model import converted
from prism_mt.models.directory import ModelDirectory, write_model

DAMAGED = "is damaged or was changed: converting it again"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return write_model(make_model(), tmp_path_factory.mktemp("converted") / "made")


@pytest.fixture
def folder(model: ModelDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The converted model in a cache of its own."""
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    return converted(model, "float32", 1.0)


@pytest.fixture(scope="module")
def wanted(model: ModelDirectory) -> list[TokenScores]:
    return scores(model)


def scores(model: ModelDirectory) -> list[TokenScores]:
    encoded = [tuple(model.source.encode(text)) for text in SENTENCES[:3]]
    pairs = [Pair((4, *ids, 2), (2, 5, *ids, 2)) for ids in encoded]
    return CT2Engine(model, device="cpu", threads=1).submit(pairs)()


def assert_same(found: list[TokenScores], wanted: list[TokenScores]) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def zero_a_page(folder: Path) -> None:
    binary = folder / "model.bin"
    data = bytearray(binary.read_bytes())
    data[8192 : 8192 + 4096] = bytes(4096)
    binary.write_bytes(data)


def random_bytes(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(random.Random(1).randbytes((folder / name).stat().st_size))

    return damage


def other_unknown(folder: Path) -> None:
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace('"unk_token": "3"', '"unk_token": "7"'))


def swapped_vocabulary(folder: Path) -> None:
    [path] = folder.glob("*vocabulary*")
    words = json.loads(path.read_text())
    words[20], words[21] = words[21], words[20]
    path.write_text(json.dumps(words))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "zeroed page": zero_a_page,
    "random weights": random_bytes("model.bin"),
    "random config": random_bytes("config.json"),
    "random manifest": random_bytes("manifest.json"),
    "cut off": lambda folder: os.truncate(folder / "model.bin", 100),
    "empty": lambda folder: os.truncate(folder / "model.bin", 0),
    "missing weights": lambda folder: (folder / "model.bin").unlink(),
    "missing manifest": lambda folder: (folder / "manifest.json").unlink(),
    "manifest of another kind": lambda folder: (folder / "manifest.json").write_text("[1, 2]"),
    "nested manifest": lambda folder: (folder / "manifest.json").write_text("[" * 100_000),
    "config": other_unknown,
    "vocabulary": swapped_vocabulary,
    "further file": lambda folder: (folder / "source_vocabulary.txt").write_text("a"),
    "further folder": lambda folder: (folder / "more").mkdir(),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_damaged_is_converted_again(
    model: ModelDirectory, folder: Path, wanted: list[TokenScores], name: str, caplog: Any
) -> None:
    DAMAGES[name](folder)
    assert_same(scores(model), wanted)
    assert caplog.text.count(DAMAGED) == 1
    assert_same(scores(model), wanted)
    assert caplog.text.count(DAMAGED) == 1  # the new one is whole
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_damage_with_the_old_times_is_found_too(
    model: ModelDirectory, folder: Path, wanted: list[TokenScores], caplog: Any
) -> None:
    status = (folder / "model.bin").stat()
    zero_a_page(folder)
    os.utime(folder / "model.bin", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert_same(scores(model), wanted)
    assert DAMAGED in caplog.text


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are hashed."""
    hashed: list[str] = []

    def noting(path: Path) -> str:
        hashed.append(path.name)
        return sha256_of(path)

    monkeypatch.setattr("prism_mt._core.manifest.sha256_of", noting)
    return hashed


def age(folder: Path, seconds: float) -> None:
    """Make the last verification older."""
    table = json.loads((folder / "manifest.json").read_text())
    table["verified"] -= seconds
    (folder / "manifest.json").write_text(json.dumps(table))


def test_a_folder_is_hashed_once_a_day(model: ModelDirectory, folder: Path, hashed: list[str]) -> None:
    assert converted(model, "float32", 1.0) == folder
    assert hashed == []
    age(folder, 100_000)
    assert converted(model, "float32", 1.0) == folder
    assert "model.bin" in hashed
    hashed.clear()
    assert converted(model, "float32", 1.0) == folder
    assert hashed == []
    age(folder, -100_000)  # a clock that was wrong
    assert converted(model, "float32", 1.0) == folder
    assert "model.bin" in hashed


def test_a_touched_or_copied_folder_is_hashed_and_kept(
    model: ModelDirectory, folder: Path, hashed: list[str], caplog: Any
) -> None:
    os.utime(folder / "model.bin")
    before = (folder / "model.bin").stat().st_ino
    converted(model, "float32", 1.0)
    assert "model.bin" in hashed
    assert (folder / "model.bin").stat().st_ino == before
    assert caplog.text == ""


def test_scores_of_a_decayed_folder_are_not_kept(
    model: ModelDirectory, folder: Path, wanted: list[TokenScores], caplog: Any
) -> None:
    Store("scores").put([(b"key", b"perhaps computed from damaged weights")])
    zero_a_page(folder)
    status = (folder / "model.bin").stat()
    table = json.loads((folder / "manifest.json").read_text())
    # As if the disk itself had lost the page: neither size nor times tell of it.
    table["files"]["model.bin"]["stamp"] |= {"modified": status.st_mtime_ns, "changed": status.st_ctime_ns}
    (folder / "manifest.json").write_text(json.dumps(table))
    age(folder, 100_000)
    assert_same(scores(model), wanted)
    assert DAMAGED in caplog.text
    assert Store("scores").get([b"key"]) == {}


def test_weights_that_cannot_be_loaded_are_verified_however_recent(
    model: ModelDirectory, folder: Path, wanted: list[TokenScores]
) -> None:
    os.truncate(folder / "model.bin", 100)
    status = (folder / "model.bin").stat()
    table = json.loads((folder / "manifest.json").read_text())
    table["files"]["model.bin"]["stamp"] = {
        "size": 100,
        "modified": status.st_mtime_ns,
        "changed": status.st_ctime_ns,
    }
    (folder / "manifest.json").write_text(json.dumps(table))
    assert_same(scores(model), wanted)


def test_a_folder_that_cannot_be_replaced(
    model: ModelDirectory, folder: Path, wanted: list[TokenScores], monkeypatch: Any, caplog: Any
) -> None:
    zero_a_page(folder)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("prism_mt.engines.ct2_model.make_cache_folder", refuse)
    assert_same(scores(model), wanted)
    assert "cannot write the converted model" in caplog.text


def test_temperatures_have_folders_of_their_own(model: ModelDirectory, folder: Path) -> None:
    others = [converted(model, "float32", temperature) for temperature in (0.7, 0.7000001)]
    assert len({folder, *others}) == 3
