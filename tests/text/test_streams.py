import gzip
import io
import os
import sys
import threading
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.text import streams
from prism_mt.text.lines import open_lines
from prism_mt.text.streams import open_stream


@pytest.fixture
def standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_stdin_taken", False)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"eins\nzwei\r\ndrei"), encoding="ascii"))


@pytest.mark.usefixtures("standard_input")
def test_standard_input_can_be_counted_and_read_again() -> None:
    lines = open_lines("-")
    assert lines.name == "standard input"
    assert lines.count() == 3
    assert list(zip(lines, lines, strict=True)) == [("eins", "eins"), ("zwei", "zwei"), ("drei", "drei")]


@pytest.mark.usefixtures("standard_input")
def test_standard_input_is_there_once() -> None:
    open_stream("-")
    with pytest.raises(PrismError, match="can be used only once"):
        open_stream(Path("-"))


@pytest.mark.usefixtures("standard_input")
def test_no_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(PrismError, match="there is no standard input"):
        open_stream("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a Unix thing")
@pytest.mark.parametrize(("name", "pack"), [("pipe", bytes), ("pipe.gz", gzip.compress)])
def test_a_named_pipe_can_be_read_twice(tmp_path: Path, name: str, pack: type[bytes]) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(pack(b"a\nb\n" * 50_000),))
    writer.start()
    lines = open_lines(path)
    writer.join()
    assert lines.count() == 100_000
    assert list(lines) == ["a", "b"] * 50_000


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.txt", "cannot read .*missing.txt: No such file or directory"),
        ("", "is a folder: name a file in it"),
        ("no\0name", "is not a file name"),
    ],
)
def test_what_is_not_a_file(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(PrismError, match=message):
        open_stream(str(tmp_path / name))


def test_a_file_that_disappears(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"a\n")
    lines = open_lines(path)
    path.unlink()
    with pytest.raises(PrismError, match=r"cannot read .*text: No such file"):
        lines.count()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices here")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
def test_devices_that_never_end(device: str) -> None:
    with pytest.raises(PrismError, match=f"{device} is a device, not a text"):
        open_stream(device)
    assert list(open_lines(os.devnull)) == []
