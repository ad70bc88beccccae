"""Manifests: which changes to a folder are found, and when files are read."""

import os
import random
from pathlib import Path

import pytest

from prism_mt._core import manifest
from prism_mt._core.manifest import MANIFEST, check_manifest, write_manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "derived"
    folder.mkdir()
    for name in ("weights", "config"):
        (folder / name).write_bytes(random.Random(name).randbytes(3000))
    write_manifest(folder)
    return folder


def test_an_untouched_folder_is_intact(folder: Path) -> None:
    assert check_manifest(folder) == "intact"
    assert check_manifest(folder, thorough=True) == "intact"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["derived"]


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """The same with one other byte."""
    place = chance.randrange(len(whole))
    return whole[:place] + bytes([whole[place] ^ chance.randrange(1, 256)]) + whole[place + 1 :]


def test_one_other_byte_is_found(folder: Path) -> None:
    path, chance = folder / "weights", random.Random(1)
    whole = path.read_bytes()
    for _ in range(40):
        path.write_bytes(damaged(whole, chance))
        assert check_manifest(folder) == "changed"
    path.write_bytes(whole)
    assert check_manifest(folder) == "intact"


def test_no_damage_to_the_manifest_hides_damage_to_the_files(folder: Path) -> None:
    path, chance = folder / MANIFEST, random.Random(2)
    whole = path.read_bytes()
    (folder / "weights").write_bytes(damaged((folder / "weights").read_bytes(), chance))
    for _ in range(200):
        path.write_bytes(damaged(whole, chance))
        assert check_manifest(folder) != "intact"


def test_the_same_content_with_other_times_is_intact(folder: Path) -> None:
    os.utime(folder / "weights", (0, 0))
    assert check_manifest(folder) == "intact"
    assert check_manifest(folder) == "intact"


def test_a_folder_that_cannot_be_written_is_intact(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    os.utime(folder / "weights", (0, 0))
    monkeypatch.setattr(manifest, "_save", refuse)
    assert check_manifest(folder) == "intact"


def test_no_folder_at_all(tmp_path: Path) -> None:
    assert check_manifest(tmp_path / "nowhere") == "changed"
