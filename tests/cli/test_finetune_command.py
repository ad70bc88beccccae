"""`prism finetune` end to end."""

import signal
from pathlib import Path

import pytest
from made import SENTENCES, make_model

from prism_mt.cli.main import main
from prism_mt.evaluation.ranking_pairs import RankedSegment, write_ranked
from prism_mt.models.directory import ModelDirectory, write_model

CONFIG = """
name = "made-ft"
model = "base"
train = ["pairs.jsonl"]
valid = ["pairs.jsonl"]
device = "cpu"
[limits]
steps = 2
[validation]
every = 1
[checkpoints]
export = "last"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model(make_model(encoder_layers=1, decoder_layers=1), tmp_path / "base")
    outputs = (SENTENCES[1], SENTENCES[6], SENTENCES[11])
    segment = RankedSegment("en-de", "1", SENTENCES[0], SENTENCES[1], outputs, (0.0, -1.0, -5.0), ((0, 1), (0, 2)))
    write_ranked(tmp_path / "pairs.jsonl", [segment])
    (tmp_path / "finetune.toml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def test_ends_in_a_model_that_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["finetune", str(folder / "finetune.toml")]) == 0
    made = folder / "run" / "model"
    assert f"The model is in {made}" in capsys.readouterr().out
    base, tuned = ModelDirectory(folder / "base"), ModelDirectory(made)
    assert tuned.spec.architecture == base.spec.architecture
    assert tuned.digest != base.digest
    for side, text in (("cand", SENTENCES[6]), ("ref", SENTENCES[1])):
        (folder / side).write_text(text + "\n", encoding="utf-8")
    words = ["score", "--model", str(made), "--lang", "de", "--cand", str(folder / "cand"), "--ref"]
    assert main([*words, str(folder / "ref")]) == 0


def test_a_stopped_run_writes_no_model_until_asked_for_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["finetune", str(folder / "finetune.toml")]
    assert main([*words, "--export-only"]) == 2
    assert "has no checkpoint yet" in capsys.readouterr().err

    def terminated(*_: object) -> float:
        signal.raise_signal(signal.SIGTERM)
        return 1e-4

    with monkeypatch.context() as patch:
        patch.setattr("prism_mt.training.loop.learning_rate", terminated)
        assert main(words) == 130
    assert "Stopped at step 1" in capsys.readouterr().err
    made = folder / "run" / "model"
    assert not made.exists()
    assert main([*words, "--export-only"]) == 0
    assert ModelDirectory(made).digest != ModelDirectory(folder / "base").digest


@pytest.mark.parametrize(
    ("find", "replace", "message"),
    [
        ("pairs.jsonl", "none.jsonl", "none.jsonl"),
        ("steps = 2", "stepps = 2", "unknown key stepps"),
        ("every = 1", "every = 0", "validation: every must be at least 1"),
    ],
)
def test_mistakes_end_in_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], find: str, replace: str, message: str
) -> None:
    (folder / "finetune.toml").write_text(CONFIG.replace(find, replace), encoding="utf-8")
    assert main(["finetune", str(folder / "finetune.toml")]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "run" / "checkpoints").exists()
