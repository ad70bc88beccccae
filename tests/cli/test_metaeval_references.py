"""The command that compares metrics under machine-translated references."""

import json
from pathlib import Path

import numpy as np
import pytest

from prism_mt.cli.main import main


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    for lp in ("en-de", "zh-en"):
        with (tmp_path / f"made_{lp}.jsonl").open("w", encoding="utf-8") as handle:
            for segment in range(8):
                texts = {name: f"text {rng.integers(9)} of {name}" for name in ("ref-A", "A", "B", "C")}
                scores = {name: -float(rng.integers(2)) for name in "ABC"}
                handle.write(json.dumps({"sid": segment, "src": "s", "sys": texts, "scores": scores}) + "\n")
    files = [str(path) for path in sorted(tmp_path.glob("*.jsonl"))]
    assert main(["metaeval", "references", *files, "-m", "chrf", "--level", "systems", "--format", "json"]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert [table["caption"].split(":")[0] for table in tables] == [
        "made_en-de",
        "made_zh-en",
        "All language pairs",
    ]
    assert tables[0]["rows"][0]["metric"] == "chrf"
    assert set(tables[2]["rows"][0]) == {
        *("metric", "en-de standard", "en-de machine", "zh-en standard", "zh-en machine"),
        *("mean standard", "mean machine"),
    }
    words = ["metaeval", "references", *files, "-m", "chrf"]
    (tmp_path / "families.tsv").write_text("A\tteam\nB\tteam\n", encoding="utf-8")
    assert main([*words, "--families", str(tmp_path / "families.tsv")]) == 0
    assert "family team: A, B" in capsys.readouterr().out
    assert main([*words, "--plot", str(tmp_path / "effects.svg")]) == 0
    assert "en-de" in (tmp_path / "effects.svg").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main([*words, "--humans"]) == 2
    assert "omit --humans" in capsys.readouterr().err
    assert main(["metaeval", "references", *files]) == 2
    assert "name a metric with --metric or --scores" in capsys.readouterr().err
    assert main(["metaeval", "references", *files, "-m", "prism-src", "--model", "nowhere"]) == 2
