"""`prism explain` end to end, and its colors."""

import io
import json
import re
from typing import Any

import pytest
from made import make_model

from prism_mt import explain
from prism_mt.cli.main import main
from prism_mt.metrics.base import TokenTrace
from prism_mt.models.directory import write_model
from prism_mt.report.explain import Explanation, lowest, strength

TRACE = TokenTrace("hypothesis|reference", ("▁Jason", "▁will", "\x1b[2J", "</s>"), (-0.1, -9.77, -0.5, -0.02))


def test_both_directions(capsys: Any, tmp_path: Any) -> None:
    model = str(write_model(make_model(), tmp_path / "made").folder)
    assert main(["explain", "Hello, world.", "Hello world!", "--lang", "en", "--model", model]) == 0
    shown = capsys.readouterr().out.splitlines()
    score = float(shown[0].split()[0])
    means = [float(line.rsplit(": ")[1]) for line in shown if " given " in line]
    assert len(means) == 2
    assert score == pytest.approx(sum(means) / 2, abs=1e-4)
    assert "hypothesis given reference" in shown[2]
    assert len(shown[3].split()) == len(shown[4].split())  # every piece has its number


def test_a_source_and_json(capsys: Any, tmp_path: Any) -> None:
    model = str(write_model(make_model(), tmp_path / "made").folder)
    words = ["--src", "Hallo Welt!", "--lang", "en", "--src-lang", "de", "--model", model, "--format", "json"]
    assert main(["explain", "Hello world!", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    [trace] = found["directions"]
    assert trace["direction"] == "hypothesis|source"
    assert len(trace["pieces"]) == len(trace["scores"]) > 1
    assert found["score"] == pytest.approx(sum(trace["scores"]) / len(trace["scores"]), abs=1e-5)
    assert found["signature"].startswith("prism-src|")
    assert main(["explain", "Hello", "Hello world!", *words]) == 2
    assert "a reference or --src, not both" in capsys.readouterr().err


def test_the_reference_can_be_named_as_in_python(capsys: Any) -> None:
    words = ["--lang", "en", "--format", "json"]
    assert main(["explain", "Hello world!", "Hello", *words]) == 0
    by_place = json.loads(capsys.readouterr().out)
    assert main(["explain", "Hello", "--ref", "Hello world!", *words]) == 0
    assert json.loads(capsys.readouterr().out) == by_place
    assert main(["explain", "Hello world!", "Hello", "--ref", "Hi", *words]) == 2
    assert "pass one reference" in capsys.readouterr().err
    assert main(["explain", "Hello", *words]) == 2
    assert "an output and --ref or --src" in capsys.readouterr().err


def test_mistakes(capsys: Any) -> None:
    assert main(["explain", "a", "b", "--lang", "en", "--model", "nowhere"]) == 2
    assert "no model 'nowhere'" in capsys.readouterr().err
    assert main(["explain", "a", "b", "--lang", "en", "--char-order", "6"]) == 2
    assert "prism explain has no option --char-order" in capsys.readouterr().err


def test_control_characters_do_not_reach_the_terminal() -> None:
    handle = io.StringIO()
    Explanation(-2.0, "signature", (TRACE,)).write(handle, 80)
    assert "\x1b" not in handle.getvalue()
    assert "least probable: ▁will -9.77" in handle.getvalue()


def test_lines_fit_the_width() -> None:
    handle = io.StringIO()
    trace = TokenTrace("hypothesis|reference", ("▁piece",) * 30, (-1.0,) * 30)
    Explanation(-1.0, "s", (trace,)).write(handle, 40)
    assert max(map(len, handle.getvalue().splitlines())) <= 40
    assert len(re.findall("▁piece", handle.getvalue())) == 31


@pytest.mark.parametrize(("score", "wanted"), [(0.0, 0.0), (-4.0, 0.5), (-8.0, 1.0), (-30.0, 1.0), (1e-9, 0.0)])
def test_strength_of_colors(score: float, wanted: float) -> None:
    assert strength(score) == wanted


def test_lowest_piece() -> None:
    assert lowest(TRACE) == ("▁will", -9.77)


def test_worked_example_of_the_paper(capsys: Any) -> None:
    """The copy first, and of what was changed the changed piece is the least probable."""
    reference = "Jason went to school at the University of Madrid."
    changed = {
        reference: "",
        "Jason attended the University of Madrid.": "",
        "Jason will go to school at the University of Madrid.": "will",
        "Jason went to school at the University of Berlin.": "Berlin",
        "Jason went school at University of Madrid.": "school University",  # where words are missing
    }
    scores = []
    for hypothesis, words in changed.items():
        assert main(["explain", reference, hypothesis, "--lang", "en"]) == 0
        lines = capsys.readouterr().out.splitlines()
        scores.append(float(lines[0].split()[0]))
        if words:
            assert least_probable_word(lines) in words.split()
    assert scores[0] == max(scores)


def least_probable_word(lines: list[str]) -> str:
    """The word of the output with the least probable piece, which may be the space before it."""
    start = next(number for number, line in enumerate(lines) if line.startswith("hypothesis given"))
    pieces, scores = lines[start + 1].split(), [float(score) for score in lines[start + 2].split()]
    place = scores.index(min(scores))
    first = max(number for number in range(place + 1) if pieces[number].startswith("▁"))
    after = [number for number in range(first + 1, len(pieces)) if pieces[number].startswith(("▁", ".", "</s>"))]
    return "".join(pieces[first : after[0]]).lstrip("▁")


@pytest.mark.parametrize(
    ("hypothesis", "wrong", "missing"),
    [
        ("Jason attended the University of Madrid.", [], None),  # a paraphrase; what it may lack is not looked at
        ("Jason will go to school at the University of Madrid.", ["will go"], []),
        ("Jason went to school at the University of Berlin.", ["Berlin"], []),
        ("Jason went school at University of Madrid.", [], ["to", "the"]),
    ],
)
def test_error_spans_of_the_worked_example(hypothesis: str, wrong: list[str], missing: list[str] | None) -> None:
    found = explain(hypothesis, ref="Jason went to school at the University of Madrid.", lang="en").to_dict()[
        "spans"
    ]
    assert [span["text"] for span in found if span["part"] == "hypothesis"] == wrong
    if missing is not None:
        assert [span["text"] for span in found if span["part"] == "reference"] == missing
