import signal
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from metric_runs import TRUTH, configure, scores_of  # noqa: E402

from prism_mt._core.errors import PrismError  # noqa: E402
from prism_mt.cli.main import main  # noqa: E402
from prism_mt.encoders.cached import StoredEncoder  # noqa: E402
from prism_mt.metrics.registry import make_metric  # noqa: E402
from prism_mt.metrics.score import score  # noqa: E402
from prism_mt.training.checkpoints import CheckpointFolder  # noqa: E402
from prism_mt.training.distributed import World  # noqa: E402
from prism_mt.training.regression.config import load_metric_config  # noqa: E402
from prism_mt.training.regression.judgments import JudgedOutput  # noqa: E402
from prism_mt.training.regression.objective import RegressionObjective, make_batches  # noqa: E402


@pytest.mark.parametrize(("kind", "loss"), [("esim", "mse"), ("bilstm", "ranking"), ("bilstm-attention", "mse")])
def test_a_trained_metric_has_learned(run: Path, kind: str, loss: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metric", "train", str(configure(run, kind=kind, loss=loss, limits__epochs=12))]) == 0
    assert "dev Pearson" in capsys.readouterr().out
    found = scores_of(run)
    assert np.corrcoef(found, list(TRUTH.values()))[0, 1] > 0.8
    assert (
        score(["a"], ref=["b"], lang="en", metrics=str(run / "out"))
        .item()
        .signature.startswith(f"{kind}|weights:")
    )


def test_a_resumed_run_is_the_same_run(run: Path) -> None:
    assert main(["metric", "train", str(configure(run, limits__epochs=4, output="whole"))]) == 0
    assert main(["metric", "train", str(configure(run, limits__epochs=2))]) == 0
    assert main(["metric", "train", str(configure(run, limits__epochs=4))]) == 0
    whole, halves = (CheckpointFolder(run / name / "checkpoints", 1, 0).load() for name in ("whole", "out"))
    assert whole is not None
    assert halves is not None
    assert whole[1]["progress"] == halves[1]["progress"]
    for name, tensor in whole[0].items():
        assert torch.equal(tensor, halves[0][name]), name
    read = [(run / name / "valid.csv").read_text("utf-8") for name in ("whole", "out")]
    assert read[0] == read[1]


def test_batches_are_of_about_the_same_length_and_never_cut_a_group() -> None:
    rng = np.random.default_rng(0)
    groups = [
        [JudgedOutput("r" * length, "h" * length, float(n))] * 2
        for n, length in enumerate(rng.integers(1, 99, 50))
    ]
    batches = make_batches(groups, 5, np.random.default_rng(1))
    assert {len(batch) for batch in batches[:-1]} <= {4, 6}  # three groups, or what was left
    assert sorted(row.score for batch in batches for row in batch) == sorted(2 * list(map(float, range(50))))
    for batch in batches:
        assert all(batch.count(row) == 2 for row in batch)
        lengths = [len(row.other) for row in batch]
        assert max(lengths) - min(lengths) < 35  # at random about 50
    starts = [batch[0].score for batch in batches]
    assert starts != [batch[0].score for batch in make_batches(groups, 5, np.random.default_rng(2))]
    assert starts == [batch[0].score for batch in make_batches(groups, 5, np.random.default_rng(1))]
    means = [np.mean([len(row.other) for row in batch]) for batch in batches]
    assert means != sorted(means)  # short texts do not come first


def test_a_signal_ends_the_encoding(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take hours: only a step of the training may end first."""

    def terminate(*_: object) -> NoReturn:
        raise SystemExit(143)

    monkeypatch.setattr(StoredEncoder, "prepare", lambda *_: signal.raise_signal(signal.SIGTERM))
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with pytest.raises(SystemExit, match="143"):
            main(["metric", "train", str(configure(run, limits__epochs=1))])
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_run_can_start_from_another_metric(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metric", "train", str(configure(run, limits__epochs=12, output="first"))]) == 0
    before = scores_of(run, "first")
    assert (
        main(
            [
                "metric",
                "train",
                str(configure(run, limits__epochs=1, optimizer__learning_rate=1e-9, start="first")),
            ]
        )
        == 0
    )
    np.testing.assert_allclose(scores_of(run), before, atol=1e-4)
    assert main(["metric", "train", str(configure(run, kind="bilstm", start="first", output="other"))]) == 2
    assert "its kind is esim, not bilstm" in capsys.readouterr().err


def test_the_precision_is_that_of_the_encoder_as_well(run: Path) -> None:
    names = []
    for precision in ("float32", "bfloat16"):
        config = load_metric_config(
            configure(run, encoder="model", layer=-1, precision=precision, output=precision)
        )
        names.append(RegressionObjective(config, World(0, 1, torch.device("cpu"))).encoder.name)
    assert names == ["mini", "mini-bfloat16"]


def test_training_on_sources(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metric", "train", str(configure(run, limits__epochs=1, side="src"))]) == 2
    assert "must name the columns src, hyp, score; src is missing" in capsys.readouterr().err
    for name in ("train.tsv", "dev.tsv"):
        text = (run / name).read_text("utf-8")
        (run / name).write_text(text.replace("ref\t", "src\t"), "utf-8")
    assert main(["metric", "train", str(configure(run, limits__epochs=1, side="src"))]) == 0
    assert make_metric(str(run / "out")).needs == {"src"}
    assert score(["a cat"], src=["the dog"], lang="en", metrics=str(run / "out")).item().score < 9


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ref\thyp\n", "score is missing"),
        ("ref\thyp\tscore\na\tb\tgood\n", "line 2: the score 'good' is not a number"),
        ("ref\thyp\tscore\na\tb\n", "line 2: 2 columns, expected 3"),
        ("ref\thyp\tscore\na\tb\t1\n", "at least 2 judgments"),
    ],
)
def test_bad_judgments(run: Path, content: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "train.tsv").write_text(content, "utf-8")
    assert main(["metric", "train", str(configure(run))]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("settings", [{"optimizer__learning_rate": -1.0}, {"hidden": 0}, {"limits__patience": -1}])
def test_bad_settings(run: Path, settings: dict[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metric", "train", str(configure(run, **settings))]) == 2
    assert next(iter(settings)).rpartition("__")[2] in capsys.readouterr().err


def test_other_settings_and_other_encoders_are_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metric", "train", str(configure(run, limits__epochs=1))]) == 0
    assert main(["metric", "train", str(configure(run, limits__epochs=1, hidden=5))]) == 2
    assert "from a run with other settings (hidden)" in capsys.readouterr().err
    config = run / "bert" / "config.json"
    config.write_text(config.read_text("utf-8") + "\n", "utf-8")
    with pytest.raises(PrismError, match="is not the one that the metric was trained with"):
        scores_of(run)
    assert main(["metric", "train", str(configure(run, limits__epochs=2))]) == 2
    assert "from a run with other settings (encoder)" in capsys.readouterr().err


def test_other_judgments_are_another_run_but_another_folder_is_not(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["metric", "train", str(configure(run, limits__epochs=1))]) == 0
    monkeypatch.chdir(run)
    assert main(["metric", "train", "run.toml"]) == 0
    rows = (run / "train.tsv").read_text("utf-8").replace("\t0", "\t7", 1)
    (run / "train.tsv").write_text(rows + "a\tb\t3\tx\n", "utf-8")
    capsys.readouterr()
    assert main(["metric", "train", "run.toml"]) == 2
    assert "from a run with other settings (train)" in capsys.readouterr().err


def test_judgments_that_are_all_the_same(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "dev.tsv").write_text("ref\thyp\tscore\n" + "the dog\ta cat\t1\n" * 4, "utf-8")
    assert main(["metric", "train", str(configure(run, limits__epochs=1))]) == 2
    assert "either they are all equal" in capsys.readouterr().err
