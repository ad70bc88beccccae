"""`prism rerank` with plain-text lists and with pseudo-references of their own."""

import os
from pathlib import Path

import pytest
from sacrebleu.metrics.chrf import CHRF

from prism_mt.cli.main import main
from prism_mt.evaluation.rerank import rerank

CANDIDATES = [["a cat sat", "the cat sat", "cats"], ["one dog", "the dogs", "a dog"]]
REFERENCES = [["the cats sat", "the cat sits"], ["a dog", "the big dog"]]


def write(path: Path, *lists: list[str]) -> str:
    path.write_text("".join(f"{text}\n" for texts in lists for text in texts), encoding="utf-8")
    return str(path)


def best(candidates: list[str], references: list[str]) -> str:
    """The candidate with the highest mean sentence chrF, by sacreBLEU."""
    chrf = CHRF()
    means = [
        sum(chrf.sentence_score(one, [other]).score for other in references) / len(references)
        for one in candidates
    ]
    return candidates[means.index(max(means))]


def test_plain_text_lists(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "candidates.txt", *CANDIDATES)
    assert main(["rerank", path, "--candidates", "3", "--metric", "chrf"]) == 0
    assert capsys.readouterr().out.splitlines() == [best(texts, texts) for texts in CANDIDATES]
    assert main(["rerank", path, "--candidates", "4", "--metric", "chrf"]) == 2
    assert "has 6 lines, which is no multiple of 4 candidates a segment" in capsys.readouterr().err


def test_plain_text_that_is_not_announced_names_the_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "candidates.txt", *CANDIDATES)
    assert main(["rerank", path, "--metric", "chrf"]) == 2
    assert f"{path} is plain text, not lists in JSONL: set --candidates to the number" in capsys.readouterr().err
    damaged = write(tmp_path / "lists.jsonl", ["{", "{}"])
    assert main(["rerank", damaged, "--metric", "chrf"]) == 2
    assert "line 1 is not valid JSON" in capsys.readouterr().err


def test_pseudo_references(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wanted = [best(*both) for both in zip(CANDIDATES, REFERENCES, strict=True)]
    assert wanted != [best(texts, texts) for texts in CANDIDATES]
    candidates, references = (
        write(tmp_path / name, *lists) for name, lists in (("c", CANDIDATES), ("r", REFERENCES))
    )
    words = ["rerank", candidates, "--candidates", "3", "--pseudo-refs"]
    assert main([*words, references, "--metric", "chrf"]) == 0
    assert capsys.readouterr().out.splitlines() == wanted
    lists = tmp_path / "r.jsonl"
    lists.write_text(
        '{"translations": ["the cats sat", "the cat sits"]}\n{"translations": ["a dog", "the big dog"]}\n',
        encoding="utf-8",
    )
    assert main([*words, str(lists), "--metric", "chrf"]) == 0
    assert capsys.readouterr().out.splitlines() == wanted
    found = rerank(CANDIDATES, pseudo_refs=REFERENCES, metric="chrf")
    assert [one[0].text for one in found] == wanted


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes have no names here")
def test_pseudo_references_from_a_pipe(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """As the shell passes them with <(…): they can be read only once."""
    candidates, references = (
        write(tmp_path / name, *lists) for name, lists in (("c", CANDIDATES), ("r", REFERENCES))
    )
    reading, writing = os.pipe()
    os.write(writing, Path(references).read_bytes())
    os.close(writing)
    words = ["rerank", candidates, "--candidates", "3", "--pseudo-refs", f"/dev/fd/{reading}", "--metric", "chrf"]
    assert main(words) == 0
    os.close(reading)
    wanted = [best(*both) for both in zip(CANDIDATES, REFERENCES, strict=True)]
    assert capsys.readouterr().out.splitlines() == wanted


def test_sources_of_plain_lists(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    candidates = write(tmp_path / "c", ["Das ist ein Haus.", "xq zv kk"])
    sources = write(tmp_path / "s", ["This is a house."])
    words = ["rerank", candidates, "--candidates", "2", "--metric", "prism-src", "--to", "de", "--src", sources]
    assert main(words) == 0
    assert capsys.readouterr().out == "Das ist ein Haus.\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--pseudo-refs", "{folder}/five", "--metric", "chrf"],
            "has 5 lines, which is no multiple of 2 segments",
        ),
        (
            ["--pseudo-refs", "{folder}/c", "--metric", "sentinel-hyp-length"],
            "uses no reference: omit --pseudo-refs",
        ),
        (["--src", "{folder}/five", "--metric", "chrf"], "has candidates of 2 segments, but"),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], message: str) -> None:
    write(tmp_path / "c", *CANDIDATES)
    write(tmp_path / "five", ["x"] * 5)
    given = [word.replace("{folder}", str(tmp_path)) for word in words]
    assert main(["rerank", str(tmp_path / "c"), "--candidates", "3", *given]) == 2
    assert message in capsys.readouterr().err
