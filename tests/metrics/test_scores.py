"""The one result type: indexing, tables, pandas, files."""

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from prism_mt import PrismError, Scores, score

SYSTEMS = {"A": ["the cat sat", "a dog"], "B": ["the cat", "the dog runs"]}
REF = ["the cat sat down", "a dog runs"]


@pytest.fixture(scope="module")
def scores() -> Scores:
    return score(SYSTEMS, ref=REF, lang="en", metrics=["bleu", "chrf", "ter"])


def test_indexing(scores: Scores) -> None:
    assert list(scores) == ["bleu", "chrf", "ter"]
    assert scores.systems == ("A", "B")
    one = scores["chrf"]["A"]
    assert one.segments.shape == (2,)
    assert one.signature.startswith("chrf|")
    assert scores["ter"].lower_is_better
    with pytest.raises(KeyError, match="no system 'C'; there are A, B"):
        scores["chrf"]["C"]
    with pytest.raises(KeyError, match="no scores of 'comet'"):
        scores["comet"]
    with pytest.raises(PrismError, match="3 metrics and 2 systems"):
        scores.item()


def test_tables(scores: Scores) -> None:
    lines = repr(scores).splitlines()
    assert lines[0].split() == ["system", "bleu", "chrf", "ter"]
    assert len(lines) == 3
    assert "<td>A</td>" in scores._repr_html_()
    assert repr(scores["bleu"]) == "<scores of bleu: 2 systems, 2 segments>"
    assert repr(scores["bleu"]["A"]).startswith("<bleu of A: ")


def test_pandas_and_plain_values(scores: Scores) -> None:
    pandas = pytest.importorskip("pandas")
    frame = scores.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["metric", "system", "segment", "score"]
    assert len(frame) == 12
    plain = scores.to_dict()
    assert plain["metrics"][0]["systems"][1]["system"] == "B"
    assert plain["metrics"][1]["systems"][0]["segments"] == scores["chrf"]["A"].segments.tolist()


def test_save_and_load(scores: Scores, tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    scores.save(path)
    again = Scores.load(path)
    assert list(again) == list(scores)
    assert again.languages == scores.languages
    for name, own in scores.items():
        other = again[name]
        np.testing.assert_array_equal(other.segments, own.segments)
        np.testing.assert_array_equal(other.system_scores, own.system_scores)
        # Counts come back with the rule that makes a score of them.
        some = np.array([1])
        np.testing.assert_allclose(other.on(some), own.on(some))
        assert (other.signature, other.lower_is_better, other.needs) == (
            own.signature,
            own.lower_is_better,
            own.needs,
        )


def test_damaged_files_are_one_sentence(scores: Scores, tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    with pytest.raises(PrismError, match="cannot read"):
        Scores.load(path)
    scores.save(path)
    content = path.read_bytes()
    for damaged in (b"", content[:200], content[: len(content) // 2], b"x" * 1000):
        path.write_bytes(damaged)
        with pytest.raises(PrismError, match="not a scores file, or is damaged"):
            Scores.load(path)


def test_unknown_and_growing_archives_are_one_sentence(scores: Scores, tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    scores.save(path)
    content = path.read_bytes()
    entry = content.index(b"PK\x01\x02")
    path.write_bytes(content[: entry + 6] + b"\x75" + content[entry + 7 :])  # needs version 11.7 of the format
    with pytest.raises(PrismError, match="is damaged: zip file version"):
        Scores.load(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("scores.json", " " * 10_000_000)
    with pytest.raises(PrismError, match=r"scores.json is compressed"):
        Scores.load(path)


def test_a_huge_shape_takes_no_memory(scores: Scores, tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    scores.save(path)
    content = path.read_bytes()
    shape = re.search(rb"'shape': \(\d, \d\), \} {12}", content)
    assert shape
    path.write_bytes(content.replace(shape[0], b"'shape': (9999999999999,), } "[: len(shape[0])]))
    with pytest.raises(PrismError, match="damaged"):
        Scores.load(path)


def test_errors_point_upwards(scores: Scores) -> None:
    turned = scores["ter"].higher
    np.testing.assert_array_equal(turned.segments, -scores["ter"].segments)
    np.testing.assert_allclose(turned.on(slice(None)), -scores["ter"].system_scores)
    assert scores["bleu"].higher is scores["bleu"]


def test_alignment(scores: Scores) -> None:
    aligned = scores["chrf"].align(["B", "C", "A"], ["2", "1", "7"])
    own = scores["chrf"].segments
    np.testing.assert_array_equal(aligned[0, :2], own[1, ::-1])
    np.testing.assert_array_equal(aligned[2, :2], own[0, ::-1])
    assert np.isnan(aligned[1]).all()
    assert np.isnan(aligned[:, 2]).all()
