"""Install the core without extras on every Python of this machine from 3.10 on, and run a slice of the tests there.

Run by `make test-pythons`. It needs a network or a mirror for the packages, and nothing but Python's own library.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = (3, 10), (3, 13)
SLICE = (
    *(
        "tests/_core",
        "tests/stats",
        "tests/text/test_lines.py",
        "tests/text/test_streams.py",
        "tests/metrics/test_scores.py",
    ),
    *("tests/metrics/test_sacrebleu.py", "tests/metrics/test_mini.py", "tests/evaluation/test_compare.py"),
    *("tests/evaluation/test_judge.py", "tests/report/test_table.py", "tests/cli/test_compare_command.py"),
)
"""Scoring with the embedded model, comparing and judging: what the core can do."""
PACKAGES = ("pytest", "hypothesis")


def pythons() -> dict[tuple[int, int], Path]:
    """One executable for every version: on the PATH, or installed by pyenv or uv."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    folders += sorted(Path.home().glob(".local/share/uv/python/*/bin"))
    found: dict[tuple[int, int], Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("python3*")):
            if re.fullmatch(r"python3(\.\d+)?", path.name) and (version := _version(path)):
                found.setdefault(version, path)
    return {version: path for version, path in sorted(found.items()) if OLDEST <= version <= NEWEST}


def _version(path: Path) -> tuple[int, int] | None:
    code = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run([path, "-c", code], capture_output=True, text=True, timeout=30)
        major, minor = answer.stdout.split()
        return int(major), int(minor)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None  # a shim of a version that is not installed


def test(python: Path) -> bool:
    """Whether the slice passes in a new environment with the core alone."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "venv" / "bin" / "python"
        steps: tuple[list[str | Path], ...] = (
            [python, "-m", "venv", own.parents[1]],
            [own, "-m", "pip", "install", "-q", "--disable-pip-version-check", ROOT, *PACKAGES],
            [own, "-c", "import importlib.util as u; assert not u.find_spec('torch')"],
            [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SLICE],
        )
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        return all(subprocess.run(step, cwd=ROOT, env=environment).returncode == 0 for step in steps)


def main() -> int:
    """Test all, and say which failed."""
    results = {}
    for version, path in pythons().items():
        print(f"Python {version[0]}.{version[1]} ({path})", flush=True)
        results[version] = test(path)
    for (major, minor), passed in results.items():
        print(f"Python {major}.{minor}: {'passed' if passed else 'FAILED'}")
    if not results:
        print("no Python from 3.10 to 3.13 here")
    return 0 if results and all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
