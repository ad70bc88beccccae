"""Heavy packages are loaded only where they are used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from made import make_model

from prism_mt.models.directory import write_model

HEAVY = {"torch", "ctranslate2", "transformers", "sacrebleu", "scipy", "matplotlib", "sentencepiece"}


@pytest.mark.parametrize(
    "statement",
    [
        "import prism_mt",
        "from prism_mt.cli.main import main; main(['--help'])",
        "from prism_mt.cli.main import main; main([])",
        "from prism_mt.cli.main import main; main(['score', '--help'])",
        "from prism_mt.cli.main import main; main(['models', 'list'])",
    ],
)
def test_imports(statement: str) -> None:
    program = f"""
import sys
try:
    {statement}
except SystemExit:
    pass
print("loaded", *sorted({HEAVY!r} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"


def test_scoring_with_a_new_model_loads_no_torch(tmp_path: Path) -> None:
    model = write_model(make_model(), tmp_path / "made").folder
    (tmp_path / "text").write_text("Hello\n")
    text = str(tmp_path / "text")
    words = ["score", "--model", str(model), "--cand", text, "--ref", text, "--lang", "en"]
    program = f"""
import sys
from prism_mt.cli.main import main
main({words!r})
print("loaded", *sorted({HEAVY!r} & set(sys.modules)))
"""
    own = {**os.environ, "PRISM_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=own)
    assert done.stdout.splitlines()[-1] == "loaded ctranslate2 sentencepiece"
