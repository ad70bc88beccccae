"""Memory does not grow with the input."""

import os
import random
import subprocess
import sys
from pathlib import Path

from made import SENTENCES, make_model

from prism_mt.models.directory import write_model

WORDS = " ".join(SENTENCES).split()


def peak_megabytes(folder: Path, lines: int) -> float:
    """Peak resident memory of `prism score` on so many distinct pairs."""
    for name in ("cand", "ref"):
        generator = random.Random(name)
        with open(folder / name, "w", encoding="utf-8") as handle:
            for _ in range(lines):
                handle.write(" ".join(generator.choices(WORDS, k=generator.randint(2, 9))) + "\n")
    words = [
        "score",
        "--cand",
        "cand",
        "--ref",
        "ref",
        "--lang",
        "en",
        "--model",
        "model",
        "--direction",
        "forward",
    ]
    words += ["--segments", "--format", "json", "--output", "scores.json", "--no-language-check"]
    process = subprocess.Popen([sys.executable, "-m", "prism_mt", *words], cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_maxrss / (1 << 10 if sys.platform == "linux" else 1 << 20)


def test_a_hundred_thousand_pairs(tmp_path: Path) -> None:
    write_model(
        make_model(width=8, encoder_layers=1, decoder_layers=1, encoder_feed_forward=8), tmp_path / "model"
    )
    peak_megabytes(tmp_path, 1)  # converts the model, once, which is not what is measured
    assert peak_megabytes(tmp_path, 100_000) < peak_megabytes(tmp_path, 1_000) + 100
