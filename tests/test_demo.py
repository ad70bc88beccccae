"""The demo runs with the embedded model."""

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def test_demo() -> None:
    done = subprocess.run([sys.executable, "examples/demo.py"], cwd=_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("$ prism") == 4
    assert "prism-src" in done.stdout
    assert "6 translation systems compared" in (_ROOT / "build" / "report.html").read_text(encoding="utf-8")
    assert "prism-ref|model:mini@" in done.stdout
