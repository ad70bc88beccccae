"""The command as a process: streams that are closed or full, names and encodings of all kinds."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prism_mt.cli.main import main

SCORE = "score --metric chrf --no-language-check"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    (tmp_path / "cand.txt").write_text("Привет, мир\n", encoding="utf-8")
    (tmp_path / "ref.txt").write_text("Привет, мой мир\n", encoding="utf-8")
    return tmp_path


def prism(words: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    command = f"{sys.executable} -m prism_mt {words}"
    known = {**os.environ, **environment}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=known, capture_output=True, timeout=100)


def test_closed_standard_error(texts: Path) -> None:
    found = prism(f"{SCORE} --cand cand.txt --ref ref.txt --segments 2>&-", texts)
    assert (found.returncode, len(found.stdout.split())) == (0, 1)


@pytest.mark.parametrize("output", [">&-", ">/dev/full"])
def test_results_do_not_vanish(texts: Path, output: str) -> None:
    if output == ">/dev/full" and not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    found = prism(f"{SCORE} --cand cand.txt --ref ref.txt {output}", texts)
    assert found.returncode == 2
    assert found.stderr.startswith(b"prism: error: ")
    assert found.stderr.count(b"\n") == 1


def test_output_is_utf8(texts: Path) -> None:
    words = "score --input made.tsv --fields ref cand=Система --metric chrf --lang ru"
    (texts / "made.tsv").write_text("Привет\tПривет\n", encoding="utf-8")
    found = prism(words, texts, PYTHONIOENCODING="latin-1")
    assert "Система" in found.stdout.decode("utf-8")


@pytest.mark.parametrize(
    "output", ["--format json", "--format tsv -o out.tsv", "--segments", "--format json -o x"]
)
def test_file_names_that_are_not_utf8(texts: Path, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(texts)
    name = os.fsdecode(b"bad\xff.txt")
    try:
        Path(name).write_text("Привет\n", encoding="utf-8")
    except OSError:
        pytest.skip("this file system has UTF-8 names only")
    words = [*SCORE.split(), "--cand", name, "cand.txt", "--ref", "ref.txt", *output.split()]
    assert main(words) == 0


def test_no_control_character_reaches_the_terminal(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*SCORE.split(), "--cand", f"A\r\x1b[2J={texts / 'cand.txt'}", "--ref", str(texts / "ref.txt")]
    assert main(words) == 0
    assert main([*words, "--model", "x\x1b[2J\ry", "--metric", "prism-ref", "--lang", "en"]) == 2
    told = capsys.readouterr()
    assert r"A\r\x1b[2J" in told.out
    assert r"x\x1b[2J\ry" in told.err
    assert "\x1b" not in told.out + told.err
    assert "\r" not in told.out + told.err


def test_a_very_early_interrupt_is_silent() -> None:
    code = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *rest):
        if name == "prism_mt.cli.main":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from prism_mt.__main__ import entry
entry()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=100)
    assert (found.returncode, found.stdout, found.stderr) == (-signal.SIGINT, b"", b"")


def test_an_interrupt_while_a_command_is_imported_is_one_sentence() -> None:
    code = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *rest):
        if name == "prism_mt.cli.score":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
sys.argv = ["prism", "score"]
from prism_mt.__main__ import entry
entry()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=100)
    assert (found.returncode, found.stderr) == (130, b"prism: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_unfinished_file(tmp_path: Path, number: int) -> None:
    code = """
import time
from pathlib import Path
from prism_mt.cli import main
from prism_mt._core.files import write_atomically
def hang():
    with write_atomically(Path("out.txt")) as handle:
        print("ready", flush=True)
        time.sleep(100)
main.main = hang
main.entry()
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert [path.suffix for path in tmp_path.iterdir()] == [".partial"]
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert list(tmp_path.iterdir()) == []
