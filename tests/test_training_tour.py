"""The commands of the training guides on the toy bitext, in order, with fewer steps."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from prism_mt.cli.main import main
from prism_mt.evaluation.readers import read_judgments

EXAMPLES = Path(__file__).parent.parent / "examples"
COMMANDS = """
corpus prepare corpus.toml
train train.toml
judgments pairs ../wmt21-en-de/judgments.jsonl --folder pairs --held-out 16
finetune finetune.toml
metric train metric.toml
metaeval ../wmt21-en-de/judgments.jsonl --metric chrf prism-ref --model run/model finetuned/model --draws 10
metaeval ../wmt21-en-de/judgments.jsonl --metric my-metric --model run/model --draws 10
"""


def write_metric_files(folder: Path) -> None:
    """Write outputs with their scores, for the learned metric."""
    judgments = read_judgments(EXAMPLES / "wmt21-en-de" / "judgments.jsonl")
    assert judgments.texts is not None
    rows = [
        f"{judgments.texts.references['ref'][segment]}\t{judgments.texts.outputs[system][segment]}\t{score}"
        for system, scores in zip(judgments.systems, judgments.scores, strict=True)
        for segment, score in enumerate(scores)
        if not np.isnan(score)
    ]
    for name, part in (("train", rows[40:80]), ("dev", rows[:40])):
        (folder / f"{name}.tsv").write_text("\n".join(["ref\thyp\tscore", *part, ""]), encoding="utf-8")


def test_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="needs the extra train")
    shutil.copytree(EXAMPLES / "wmt21-en-de", tmp_path / "wmt21-en-de")
    folder = shutil.copytree(EXAMPLES / "toy-bitext", tmp_path / "toy-bitext")
    for name in ("train.toml", "finetune.toml", "metric.toml"):
        text = (folder / name).read_text(encoding="utf-8")
        text = re.sub(r"^(steps|epochs) = .*$", r"\1 = 2", text, flags=re.M)
        (folder / name).write_text(re.sub(r"^every = .*$", "every = 1", text, flags=re.M), encoding="utf-8")
    write_metric_files(folder)
    monkeypatch.chdir(folder)
    for line in COMMANDS.strip().splitlines():
        assert main(shlex.split(line)) == 0, line
    written = capsys.readouterr().out
    for metric in ("chrf", "prism-ref[model=run/model]", "prism-ref[model=finetuned/model]", "my-metric"):
        assert metric in written
