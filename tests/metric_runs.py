"""Runs of `prism metric train` that take seconds."""

from pathlib import Path

import pytest
from tiny_bert import make_bert

from prism_mt.metrics.score import score

TRUTH = {"the dog barks": 1.0, "a dog barks": 0.6, "the black cat": -0.5, "cat": -1.1}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an encoder, judgments and a configuration."""
    pytest.importorskip("transformers", reason="needs the extra hf")
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    make_bert(tmp_path / "bert")
    rows = [f"the dog barks loudly\t{text}\t{score}\tx\n" for text, score in TRUTH.items()]
    for name in ("train.tsv", "dev.tsv"):
        (tmp_path / name).write_text("ref\thyp\tscore\tnote\n" + "".join(rows * 3), "utf-8")
    return tmp_path


def configure(folder: Path, **settings: object) -> Path:
    """A configuration; settings with a dot are those of tables."""
    values: dict[str, object] = {"train": ["train.tsv"], "dev": ["dev.tsv"], "output": "out"}
    values |= {"encoder": str(folder / "bert"), "device": "cpu", "hidden": 12, "batch": 4}
    values |= {"limits.epochs": 6, "limits.patience": 20, "optimizer.learning_rate": 0.01}
    values |= {name.replace("__", "."): value for name, value in settings.items()}
    path = folder / "run.toml"
    path.write_text("".join(f"{name} = {value!r}\n" for name, value in values.items()), "utf-8")
    return path


def scores_of(folder: Path, name: str = "out") -> list[float]:
    references = ["the dog barks loudly"] * len(TRUTH)
    return [
        float(one)
        for one in score(list(TRUTH), ref=references, lang="en", metrics=str(folder / name)).item().segments
    ]
