"""Sentinels: what pooled correlations give to metrics that cannot tell one output from another."""

import json
from pathlib import Path

import prism_mt as prism

SYSTEMS = {"A": ["ab", "abcd", "abcdef"], "B": ["abc", "a", "abcde"]}
SOURCES = ["x", "xxx", "xxxxx"]
REFERENCES = ["yy", "yyyy", "yyyyyy"]


def test_scores_are_lengths_in_characters() -> None:
    names = ["sentinel-hyp-length", "sentinel-ref-length", "sentinel-src-length"]
    found = prism.score(SYSTEMS, ref=REFERENCES, src=SOURCES, metrics=names)
    assert found["sentinel-hyp-length"]["B"].segments.tolist() == [3, 1, 5]
    for system in SYSTEMS:
        assert found["sentinel-ref-length"][system].segments.tolist() == [2, 4, 6]
        assert found["sentinel-src-length"][system].segments.tolist() == [1, 3, 5]


def test_difficulty_alone_correlates_when_pooled_and_not_within_segments(tmp_path: Path) -> None:
    """Longer sources have more errors here, whatever the system."""
    rows = [
        {
            "seg_id": place + 1,
            "lp": "en-de",
            "src": source,
            "ref": REFERENCES[place],
            "sys": {system: texts[place] for system, texts in SYSTEMS.items()},
            "mqm": {
                system: {"rater": {"score": -5.0 * place - worse, "errors": []}}
                for worse, system in enumerate(SYSTEMS)
            },
        }
        for place, source in enumerate(SOURCES)
    ]
    path = tmp_path / "judgments.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    text = str(prism.judge(prism.read_judgments(path), ["sentinel-src-length"], protocol="wmt21-mqm", draws=20))
    [row] = [line.split() for line in text.splitlines() if line.startswith("sentinel-src-length ")]
    # 12 of 15 pairs of outputs are ordered as by people, 3 (the same segment) are ties: 12 / sqrt(12 * 15).
    assert row[1].rstrip("†") == "0.894"
    assert row[-1] == "0.000"  # accuracy in segments; their tau-b is undefined
