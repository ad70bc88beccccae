"""`prism bench`: what it measures and says, not how fast anything is."""

import json
from pathlib import Path
from typing import Any

import pytest
from made import make_model

from prism_mt.cli.bench import made_up_pairs
from prism_mt.cli.main import main
from prism_mt.models.directory import ModelDirectory, write_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return write_model(make_model(max_positions=64), tmp_path_factory.mktemp("bench") / "made")


def test_every_engine_and_number_format(model: ModelDirectory, capsys: Any) -> None:
    words = ["--model", str(model.folder), "-n", "8", "--device", "cpu", "--threads", "1", "--format", "json"]
    assert main(["bench", *words]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    found = {(row["engine"], row["numbers"]): row for row in rows}
    assert next(iter(found)) == ("ct2", "float32")
    assert {("ct2", "int8"), ("torch", "float32")} <= set(found)
    assert found["ct2", "float32"]["mean_error"] == 0
    assert found["torch", "float32"]["mean_error"] < 1e-4
    assert 1e-4 < found["ct2", "int8"]["mean_error"] < 0.5
    assert all(row["texts_per_second"] > 0 for row in rows)


def test_made_up_texts(model: ModelDirectory) -> None:
    pairs = made_up_pairs(model, 400, 20)
    assert pairs == made_up_pairs(model, 400, 20)
    lengths = [len(pair.source) for pair in pairs]
    assert 19 < sum(lengths) / len(lengths) < 24  # two of them are not pieces
    assert max(lengths) <= 64
    assert min(lengths) < 12


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-n", "0"], "segments must be between 1 and 10,000,000, not 0"),
        (["--segments", str(10**20)], "segments must be between 1 and 10,000,000"),
        (["--device", "tpu"], "runs on cpu or cuda, not on tpu"),
    ],
)
def test_mistakes(model: ModelDirectory, words: list[str], message: str, capsys: Any, tmp_path: Path) -> None:
    assert main(["bench", "--model", str(model.folder), *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("bfloat16", "int8", "choice"),
    [
        (True, True, "int8_bfloat16 with the torch"),
        (True, False, "bfloat16 with the torch"),
        (False, True, "float32 with the ct2"),
    ],
)
def test_it_says_what_auto_takes(
    bfloat16: bool, int8: bool, choice: str, model: ModelDirectory, capsys: Any, monkeypatch: Any
) -> None:
    from prism_mt.engines import config

    monkeypatch.setattr(config, "has_bfloat16", lambda: bfloat16)
    monkeypatch.setattr(config, "has_int8", lambda: int8)
    assert main(["bench", "--model", str(model.folder), "-n", "4", "--device", "cpu", "--threads", "1"]) == 0
    assert f"--precision auto takes {choice} engine here" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("amd", [True, False])
def test_mkl_on_amd_is_warned_of(amd: bool, model: ModelDirectory, caplog: Any, monkeypatch: Any) -> None:
    from prism_mt.cli import bench

    monkeypatch.setenv("CT2_USE_MKL", "1")
    monkeypatch.setattr(bench, "is_amd", lambda: amd)
    assert main(["bench", "--model", str(model.folder), "-n", "1", "--device", "cpu", "--threads", "1"]) == 0
    assert ("unset it" in caplog.text) == amd


def test_overflow_of_8_bits_is_warned_of_once(model: ModelDirectory, caplog: Any, monkeypatch: Any) -> None:
    from prism_mt.engines import local

    local._warn_of_overflow.cache_clear()
    monkeypatch.setattr(local, "overflows_in_8_bits", lambda: True)
    words = ["bench", "--model", str(model.folder), "-n", "2", "--device", "cpu", "--threads", "1"]
    assert main(words) == main(words) == 0
    assert caplog.text.count("int8 overflows on this processor, which lacks VNNI") == 1
