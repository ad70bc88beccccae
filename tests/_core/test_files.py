import os
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt._core.files import path_exists, path_of, write_atomically


def test_the_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "out.txt"
    with write_atomically(path) as handle:
        handle.write("one\ntwo\n")
        assert not path.exists()
        assert [name.endswith(".partial") for name in os.listdir(path.parent)] == [True]
    assert path.read_bytes() == b"one\ntwo\n"
    assert os.listdir(path.parent) == ["out.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_keeps_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before")
    with pytest.raises(error), write_atomically(path) as handle:
        handle.write("half")
        raise error
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for name in ("file/out.txt", "folder"):
        with pytest.raises(PrismError, match="cannot write"), write_atomically(tmp_path / name) as handle:
            handle.write("x")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_links_pipes_and_folders(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old", encoding="utf-8")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with write_atomically(tmp_path / "link.txt") as handle:
        handle.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text(encoding="utf-8") == "new"
    reader, writer = os.pipe()
    with write_atomically(Path(f"/dev/fd/{writer}")) as handle:
        handle.write("through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    os.close(writer)
    for folder in (tmp_path, Path("")):
        with pytest.raises(PrismError, match="it is a folder"), write_atomically(folder):
            pass


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept", encoding="utf-8")
    (tmp_path / f"out.txt.{os.getpid()}.partial").symlink_to("precious")
    with write_atomically(tmp_path / "out.txt") as handle:
        handle.write("new")
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "kept"
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "new"
    assert sorted(os.listdir(tmp_path)) == ["out.txt", "precious"]


@pytest.mark.parametrize(("text", "message"), [("~nosuchuser/x", "a user that does not exist"), ("a\0b", "null")])
def test_names_that_are_no_paths(text: str, message: str) -> None:
    with pytest.raises(PrismError, match=message):
        path_of(text)
    assert not path_exists(Path("a\0b"))
    assert not path_exists(Path("a" * 10_000))
