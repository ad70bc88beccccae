"""`prism completion` in real shells: what is typed before the Tab key, and what then stands in the line."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from prism_mt.cli.completion import all_commands
from prism_mt.cli.main import COMMANDS, main

TYPED = {
    "sco": "score",
    "--vers": "--version",
    "score --dire": "score --direction",
    "score --metric chrf+": "score --metric chrf++",
    "score --metric bleu te": "score --metric bleu ter",
    "score --metric bleu --form": "score --metric bleu --format",
    "score --format j": "score --format json",
    "score --format=j": "score --format=json",
    "compare --lang z": "compare --lang zh",
    "models sh": "models show",
    "models show --off": "models show --offline",
    "models show min": "models show mini",
    "metaeval x --protocol wmt24-s": "metaeval x --protocol wmt24-sys",
    "completion z": "completion zsh",
    "translate --model mini two": "translate --model mini two.txt",
    "score --cand fir": "score --cand first.txt",
    "score --cand A=fir": "score --cand A=first.txt",
    "compare --draws fir": "compare --draws fir",
}
"""What is typed, and the command that is then run; a number cannot be completed."""

ANSWER = "prism() { echo cal''led: \"<$*>\"; }"


def script(capsys: pytest.CaptureFixture[str], shell: str) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files to complete, and a `prism` that says how it was called."""
    for name in ("first.txt", "two.txt"):
        (tmp_path / name).touch()
    return tmp_path


def in_terminal(command: Sequence[str], folder: Path, setup: str, lines: Sequence[str]) -> list[str]:
    """Start an interactive shell, type each line and the Tab key, and return what `prism` was called with."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe(command[0], list(command), {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(folder)})
    screen = ""

    def wait_for(pattern: str) -> str:
        nonlocal screen
        deadline = time.monotonic() + 20
        while not (found := re.search(pattern, screen)):
            ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"{command[0]} does not show {pattern}: {screen[-2000:]}")
            screen += os.read(terminal, 65536).decode(errors="replace")
        screen = screen[found.end() :]
        return found[1]

    try:
        # The words are in two pieces, so that the echo of what is typed is not taken for the answer.
        os.write(terminal, f"{setup}; echo rea''dy: yes\n".encode())
        wait_for("ready: (yes)")
        called = []
        for line in lines:
            os.write(terminal, f"prism {line}\t\n".encode())
            called.append(wait_for("called: <([^>]*)>").strip())
        return called
    finally:
        os.write(terminal, b"\x03exit\n")
        os.close(terminal)
        os.waitpid(child, 0)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_tab_key(capsys: pytest.CaptureFixture[str], folder: Path, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine")
    (folder / "script").write_text(script(capsys, shell), encoding="utf-8")
    starts = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
    before = {"bash": "true", "zsh": "autoload -U compinit && compinit -u -d dump && setopt nobeep"}
    found = in_terminal(starts[shell], folder, f"{before[shell]}; source ./script; {ANSWER}", list(TYPED))
    assert dict(zip(TYPED, found, strict=True)) == TYPED


def test_zsh_from_the_folder_of_completions(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    if not shutil.which("zsh"):
        pytest.skip("no zsh on this machine")
    (folder / "functions").mkdir()
    (folder / "functions" / "_prism").write_text(script(capsys, "zsh"), encoding="utf-8")
    setup = f"fpath=(./functions $fpath); autoload -U compinit && compinit -u -d dump; {ANSWER}"
    # The first use loads the function.
    lines = ["score --dire", "score --dire"]
    assert in_terminal(["zsh", "-f", "-i"], folder, setup, lines) == ["score --direction"] * 2


def test_fish(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    fish = shutil.which("fish")
    if not fish:
        pytest.skip("no fish on this machine")
    (folder / "script").write_text(script(capsys, "fish"), encoding="utf-8")
    asked = "".join(f"echo '# {line}'; complete -C 'prism {line}'\n" for line in TYPED)
    done = subprocess.run(
        [fish, "--no-config", "-c", f"source script\n{asked}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    assert done.stderr == ""
    found = {}
    for part in done.stdout.split("# ")[1:]:
        line, *offered = part.splitlines()
        words = line.split(" ")
        found[line] = " ".join([*words[:-1], offered[0].partition("\t")[0] if offered else words[-1]])
    assert found == TYPED
    assert "--direction\tforward: the output given the reference or source\n" in done.stdout


def test_every_command_and_its_options() -> None:
    found = dict(all_commands())
    assert set(COMMANDS) <= set(found)
    assert {"models show", "metaeval submit", "corpus prepare"} <= set(found)
    assert "show" in found["models"].subcommands
    flags = {name: flag for flag in found["score"].flags for name in flag.names}
    assert {"--cand", "--metric", "-m", "--direction", "--device", "--debug", "--help"} <= set(flags)
    formats = flags["--format"].words
    assert formats is not None
    assert formats.names == ("text", "tsv", "json", "wmt")
    assert flags["--debug"].words is None


def test_an_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "shell: invalid choice 'tcsh'; choose one of bash, zsh, fish" in capsys.readouterr().err
