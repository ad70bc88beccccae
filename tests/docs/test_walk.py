"""The walk of `prism score` from argv to a number, as docs/design/walk.md tells it, is what happens."""

import re
import sys
from pathlib import Path
from types import FrameType

import pytest
from made import make_model

from prism_mt.cli.main import main
from prism_mt.models.directory import write_model

_ROOT = Path(__file__).parents[2]
_PACKAGE = _ROOT / "src" / "prism_mt"
_ELSEWHERE = {"entry", "score_text", "ScoreReport", "Scores"}
"""What the page names besides: the entry point before `main`, and the way without `--segments`."""


def hops() -> list[list[tuple[str, str]]]:
    """The functions of every hop, as module and name."""
    found = []
    for line in (_ROOT / "docs/design/walk.md").read_text("utf-8").splitlines():
        if re.match(r"\| \d+ \|", line):
            module, own = "", []
            for word in re.findall("`([^`]+)`", line.split("|")[2]):
                if word.endswith(".py"):
                    module = word
                elif word not in _ELSEWHERE:
                    own.append((module, word.split(".")[-1]))
            found.append(own)
    return found


def test_the_walk_is_true(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_model(make_model(), tmp_path / "made").folder
    for name in ("out.txt", "ref.txt"):
        (tmp_path / name).write_text("Hello world!\n", "utf-8")
    called: dict[tuple[str, str], int] = {}

    def notice(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(_PACKAGE):
            name = frame.f_code.co_name
            if name == "__init__":
                name = type(frame.f_locals["self"]).__name__
            called.setdefault((path.relative_to(_PACKAGE).as_posix(), name), len(called))

    files = ["--cand", str(tmp_path / "out.txt"), "--ref", str(tmp_path / "ref.txt")]
    sys.setprofile(notice)
    try:
        code = main(["score", *files, "--lang", "en", "--model", str(folder), "--segments"])
    finally:
        sys.setprofile(None)
    assert code == 0
    assert float(capsys.readouterr().out) < 0
    steps = hops()
    assert len(steps) == 14
    missing = [step for own in steps for step in own if step not in called]
    assert not missing
    # Later hops are pulled from: a generator starts after whatever reads from it.
    first = [min(called[step] for step in own) for own in steps[:6]]
    assert first == sorted(first)
