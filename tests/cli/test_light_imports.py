"""Heavy packages are loaded only where they are used."""

import subprocess
import sys

import pytest

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
