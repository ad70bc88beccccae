"""What the readers of judgments share."""

from pathlib import Path

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.readers.fields import json_records


@pytest.mark.parametrize("text", [r'{"sys": {"\ud800": "a"}}', r'{"src": "\uDC00"}'])
def test_half_a_character_in_a_name_or_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(PrismError, match="line 1: .* surrogate"):
        list(json_records(tmp_path / "x.jsonl"))


def test_whole_characters_written_as_pairs(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(r'{"src": "\ud83d\ude00"}')
    [(_, record)] = json_records(tmp_path / "x.jsonl")
    assert record == {"src": "😀"}
