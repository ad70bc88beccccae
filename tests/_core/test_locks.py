"""Locks on folders."""

import subprocess
import sys
from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt._core.locks import lock_folder

pytest.importorskip("fcntl", reason="this system has no such locks")

HOLD = """
import sys
from pathlib import Path
from prism_mt._core.locks import lock_folder
with lock_folder(Path(sys.argv[1]), "training"):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_is_dead(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "run"
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        refused = pytest.raises(PrismError, match="another process is training in .*run: wait for it")
        with refused, lock_folder(folder, "training"):
            pass
        holder.kill()
        holder.wait()
    with lock_folder(folder, "training"):
        assert folder.is_dir()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PrismError, match="cannot write"), lock_folder(tmp_path / "file" / "run", "training"):
        pass
