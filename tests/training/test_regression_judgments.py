"""Judged outputs as `prism metric train` reads them."""

from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.training.regression.judgments import JudgedOutput, read_judged_outputs


def test_long_texts_and_lone_carriage_returns(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    long = "a" * 140_000
    path.write_bytes(f'ref\thyp\tscore\n{long}\tb\rc\t0.5\n"\tb\t1\r\n'.encode())
    assert list(read_judged_outputs(path)) == [JudgedOutput(long, "b\rc", 0.5), JudgedOutput('"', "b", 1.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1 must name"),
        ("ref\thyp\tscore\na\tb\n", "line 2: 2 columns"),
        ("ref\thyp\tscore\na\tb\tnan", "nan"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.tsv").write_text(text)
    with pytest.raises(PrismError, match=message):
        list(read_judged_outputs(tmp_path / "x.tsv"))
