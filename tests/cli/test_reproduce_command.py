"""`prism reproduce` and `prism data`."""

import json
from pathlib import Path
from typing import Any

import pytest

from prism_mt.cli.main import main
from prism_mt.evaluation.studies.data import catalog


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PRISM_DATA", raising=False)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_list_shows_every_table_and_what_it_takes(capsys: Any, tmp_path: Path) -> None:
    code, out, _ = run(capsys, "reproduce", "list", "--data", str(tmp_path), "--format", "json")
    assert code == 0
    [table] = json.loads(out)
    rows = {row["study"]: row for row in table["rows"]}
    assert len(rows) == 52
    assert rows["vamvas2023/table3"]["data"] == "6 of 6 files missing"
    assert rows["vamvas2023/table3"]["cells"] == 40
    assert rows["thompson2020/example"]["state"] == "with a model (m39v1 for the published figures)"
    code, out, _ = run(capsys, "reproduce", "list", "wmt20")
    assert (code, out.count("wmt20/")) == (0, 8)


def test_missing_data_and_unknown_studies_are_one_sentence(capsys: Any, tmp_path: Path) -> None:
    code, _, err = run(capsys, "reproduce", "vamvas2023/table3", "--data", str(tmp_path))
    assert code == 2
    assert err.startswith("prism: error: wmt21_mqm_news_en-de.jsonl.xz is not in ")
    assert "`prism data get mt-metrics-eval-v2 --data" in err
    code, _, err = run(capsys, "reproduce", "thompson2020/example")
    assert (code, err.count("\n")) == (2, 1)
    assert "needs a translation model: give --model" in err
    code, _, err = run(capsys, "reproduce", "table3")
    assert (code, "there is no study 'table3'" in err) == (2, True)


def test_all_skips_what_has_no_data(capsys: Any, tmp_path: Path) -> None:
    code, out, err = run(capsys, "reproduce", "all", "--data", str(tmp_path))
    assert code == 0
    assert (
        out.splitlines()[-2] == "52 studies, 5,540 published cells: 0 equal, 0 close, 0 different, 5,540 not run"
    )
    assert err.count("\n") == 52
    assert "[52/52] wmt20/segments-from: 0 equal, 0 close, 0 different, 338 not run" in err


def test_the_example_with_a_model(capsys: Any, tmp_path: Path) -> None:
    words = ("reproduce", "thompson2020/example", "--model", "mini", "--format", "json")
    code, out, _ = run(capsys, *words)
    assert code == 0
    [study] = json.loads(out)["studies"]
    values = {cell["row"]: cell["ours"] for cell in study["cells"]}
    copy, berlin = (f"Jason went to school at the University of {name}." for name in ("Madrid", "Berlin"))
    assert values[copy] > values[berlin]
    assert study["model"] == "mini"


def test_data_list_and_get(capsys: Any, tmp_path: Path) -> None:
    code, out, _ = run(capsys, "data", "list", "vamvas2023/table2", "--data", str(tmp_path), "--format", "json")
    assert code == 0
    files, archives = json.loads(out)
    assert len(files["rows"]) == 12
    assert {row["state"] for row in files["rows"]} == {"missing"}
    assert [row["archive"] for row in archives["rows"]] == ["mt-metrics-eval-v2", "prism-finetuned"]
    words = ("data", "get", "--data", str(tmp_path))
    code, _, err = run(capsys, *words, "vamvas2023/table2", "--offline")
    assert (code, "--offline: not fetching" in err) == (2, True)
    code, _, err = run(capsys, *words, "mt-metrics-eval-v2", "--offline")
    assert (code, "data.statmt.org" in err) == (2, True)
    code, _, err = run(capsys, *words, "wmt17_da_sys.tsv.xz")
    assert (code, "--from URL" in err) == (2, True)
    code, _, err = run(capsys, *words, "wmt99")
    assert (code, "no data, study or paper is called 'wmt99'" in err) == (2, True)
    (tmp_path / catalog().file("prismft_predictions_wmt21.news_en-de.json.xz").instead).mkdir(parents=True)
    assert run(capsys, *words, "prismft_predictions_wmt21.news_en-de.json.xz")[:2] == (
        0,
        "prismft_predictions_wmt21.news_en-de.json.xz: there\n",
    )
    (tmp_path / "wmt17_da_sys.tsv.xz").write_bytes(b"other")
    code, _, err = run(capsys, *words, "wmt17_da_sys.tsv.xz")
    assert (code, "is not the file of the catalog" in err) == (2, True)
