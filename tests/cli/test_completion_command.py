"""`prism completion`: the scripts, and bash's in a real bash."""

import shutil
import subprocess
from pathlib import Path

import pytest

from prism_mt.cli.completion import all_flags
from prism_mt.cli.main import COMMANDS, main


def script(capsys: pytest.CaptureFixture[str], shell: str) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_every_command_and_its_options() -> None:
    found = dict(all_flags())
    assert set(COMMANDS) <= set(found)
    assert {"models show", "metaeval submit", "corpus prepare"} <= set(found)
    names = {name for flag in found["score"] for name in flag.names}
    assert {"--cand", "--metric", "-m", "--direction", "--device", "--debug", "--help"} <= names
    [formats] = [flag for flag in found["score"] if "--format" in flag.names]
    assert formats.values == ("text", "tsv", "json", "wmt")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sco"], "score"),
        (["score", "--dire"], "--direction"),
        (["score", "--metric", "ch"], "chrf chrf++"),
        (["score", "--metric", "bleu", "te"], "ter"),
        (["score", "--format", "j"], "json"),
        (["models", "sh"], "show"),
        (["models", "show", "--off"], "--offline"),
        (["metaeval", "x", "--protocol", "wmt24-s"], "wmt24-sys"),
        (["score", "--cand", "{folder}/ou"], "{folder}/out.txt"),
    ],
)
def test_bash(capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], expected: str) -> None:
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("no bash on this machine")
    (tmp_path / "out.txt").touch()
    path = tmp_path / "prism.bash"
    path.write_text(script(capsys, "bash"), encoding="utf-8")
    typed = " ".join(word.replace("{folder}", str(tmp_path)) for word in ["prism", *words])
    program = f"source {path}; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _prism; echo ${{COMPREPLY[*]}}"
    found = subprocess.run([bash, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == expected.replace("{folder}", str(tmp_path))
    assert found.stderr == ""


def test_zsh_and_fish(capsys: pytest.CaptureFixture[str]) -> None:
    assert "bashcompinit" in script(capsys, "zsh")
    fish = script(capsys, "fish").splitlines()
    assert "complete -c prism -n __fish_use_subcommand -f -a score -d" in " ".join(fish)
    assert any("-l format" in line and "-a 'text tsv json wmt'" in line for line in fish)
    assert all(line.count("'") % 2 == 0 for line in fish)


def test_an_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "shell: there is no 'tcsh'; choose one of bash, zsh, fish" in capsys.readouterr().err
