from pathlib import Path

import pytest

from prism_mt.training.log import CsvLog, ProgressLine, Recorder, duration


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (3599, "59 min"), (3900, "1 h 05 min")]
)
def test_duration(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_a_log_forgets_what_came_after_the_step_it_goes_on_from(tmp_path: Path) -> None:
    path = tmp_path / "run" / "log.csv"
    log = CsvLog(path, ("step", "loss"), after=0)
    for step in (10, 20, 30):
        log.add({"step": step, "loss": 1 / step})
    with open(path, "a") as handle:
        handle.write("4")  # a row cut by a kill
    CsvLog(path, ("step", "loss"), after=20).add({"step": 30, "loss": 0.5})
    assert path.read_text() == "step,loss\n10,0.1\n20,0.05\n30,0.5\n"


def test_progress_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 104.0, 110.0, 130.0])
    monkeypatch.setattr("prism_mt.training.log.time.monotonic", lambda: next(clock))
    line = ProgressLine(seconds=10, total=1000)
    line.update(501, 3.2, 1e-3, 4000, 0.5)
    assert capsys.readouterr().err == ""
    line.update(502, 3.125, 1e-3, 6000, 0.51)
    expected = "step 502/1,000  epoch 0.51  loss 3.125  lr 1.00e-03  1,000 tokens/s  41 min left\n"
    assert capsys.readouterr().err == expected
    line.update(503, 3.125, 1e-3, 6000, 0.51)
    assert "  300 tokens/s  1 h 22 min left" in capsys.readouterr().err


def test_tensorboard_gets_every_figure(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    tables = {"valid": ("pair", "loss"), "translations": ("pair", "bleu", "chrf")}
    recorder = Recorder(tmp_path, after=-1, tokens=0, terms=["loss"], tables=tables, tensorboard=True)
    recorder.train(
        {"step": 10, "epoch": 0.1, "loss": 4.5, "learning_rate": 1e-3, "gradient_norm": 2.0, "tokens": 99}
    )
    recorder.validation(10, {"valid": [{"pair": "all", "loss": 3.5}]})
    recorder.validation(10, {"translations": [{"pair": "de-en", "bleu": 12.5, "chrf": 40.25}]})
    recorder.close()
    board = EventAccumulator(str(tmp_path / "tensorboard"))
    board.Reload()
    found = {tag: [(event.step, event.value) for event in board.Scalars(tag)] for tag in board.Tags()["scalars"]}
    assert found.pop("train/tokens_per_second")[0][0] == 10
    assert found == {
        "train/loss": [(10, 4.5)],
        "train/learning_rate": [(10, pytest.approx(1e-3))],
        "train/gradient_norm": [(10, 2.0)],
        "valid/loss/all": [(10, 3.5)],
        "translations/bleu/de-en": [(10, 12.5)],
        "translations/chrf/de-en": [(10, 40.25)],
    }
    assert (tmp_path / "translations.csv").read_text() == "step,pair,bleu,chrf\n10,de-en,12.5,40.25\n"
