"""Shared-task files with one output per line: WMT24's ESA and WMT25's table."""

import json
from pathlib import Path

from judging import write_rows

from prism_mt.evaluation.ratings import Error
from prism_mt.evaluation.readers import format_of, read_all_judgments, read_judgments

ESA = {
    "langs": "en-cs",
    "doc_id": "doc",
    "line_id": 3,
    "system": "A",
    "src": "one",
    "tgt": "jedna",
    "domain": "speech",
    "annotator": "anna",
    "esa_score": 80,
    "esa_spans": [{"start_i": 0, "end_i": 2, "severity": "minor", "error_type": None}],
}


def test_esa_with_one_output_a_line(tmp_path: Path) -> None:
    other = ESA | {"annotator": "otto", "esa_score": 60, "esa_spans": []}
    missing = ESA | {"system": "B", "esa_spans": [{"start_i": "missing", "end_i": "missing", "severity": "major"}]}
    path = write_rows(tmp_path / "wmt24_esa.jsonl", *(json.dumps(row) for row in (ESA, other, missing)))
    assert format_of(path).name == "wmt-outputs"
    judgments = read_judgments(path)
    assert (judgments.pair, judgments.systems, judgments.segments) == ("en-cs", ("A", "B"), ("doc::3",))
    assert (judgments.documents, judgments.domains) == (("doc",), ("speech",))
    assert judgments.scores.tolist() == [[70.0], [80.0]]
    assert judgments.ratings.errors == ((Error("", "minor", (0, 2)),), (), (Error("", "major"),))
    assert judgments.texts is not None
    assert judgments.texts.outputs["A"] == ("jedna",)


def test_outputs_of_wmt25_in_a_table(tmp_path: Path) -> None:
    header = [
        "doc_id",
        "segment_id",
        "source_lang",
        "target_lang",
        "set_id",
        "system_id",
        "source_segment",
        "hypothesis_segment",
        "reference_segment",
        "domain_name",
        "method",
        "overall",
    ]
    rows = [
        ["d", "1", "en", "ar_EG", "official", "A", "one", "x", "y", "news", "ESA", "70.5"],
        ["c", "9", "en", "ar_EG", "challenge", "A", "two", "x", "", "news", "ESA", ""],
    ]
    path = write_rows(tmp_path / "wmt25.tsv", "\t".join(header), *("\t".join(row) for row in rows))
    official, challenge = read_all_judgments([path])
    assert (official.name, official.pair, official.scores.tolist()) == ("wmt25", "en-ar_EG", [[70.5]])
    assert official.standard_reference == "ref"
    assert (challenge.name, len(challenge.ratings)) == ("challenge", 0)
