"""MQM: penalties, marks in texts, and Google's rating files."""

from pathlib import Path

import numpy as np
import pytest
from judging import write_rows

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.mqm import penalty
from prism_mt.evaluation.ratings import Error
from prism_mt.evaluation.readers import read_judgments
from prism_mt.evaluation.readers.google_mqm import strip_marks


def test_google_mqm_ratings(tmp_path: Path) -> None:
    header = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"
    start = "A\td\t1\t7\trater1\tone\t"
    path = write_rows(
        tmp_path / "mqm_newstest2020_ende.tsv",
        header,
        start + "<v>ein</v> s\tAccuracy/Mistranslation\tMajor",
        start + "ein <v>s</v>\tFluency/Punctuation\tMinor",
        "A\td\t1\t7\trater2\tone\tein s\tNo-error\tno-error",
        "B\td\t1\t7\trater1\tone\tunding\tNon-translation!\tMajor",
    )
    judgments = read_judgments(path, pair="en-de")
    np.testing.assert_allclose(judgments.scores, [[-2.55], [-25.0]])
    ratings = judgments.ratings
    assert ratings.raters == ("rater1", "rater2")
    assert ratings.errors[0] == (
        Error("Accuracy/Mistranslation", "Major", (0, 3)),
        Error("Fluency/Punctuation", "Minor", (4, 5)),
    )
    assert ratings.errors[1] == ()
    assert judgments.documents == ("d",)
    assert judgments.texts is not None
    assert judgments.texts.outputs["A"] == ("ein s",)
    with pytest.raises(PrismError, match="line 2: unknown severity 'Odd'"):
        read_judgments(write_rows(path, header, start + "x\tStyle\tOdd"), pair="en-de")


@pytest.mark.parametrize(
    ("category", "severity", "expected"),
    [
        ("Accuracy/Omission", "Major", 5.0),
        ("Style/Awkward", "minor", 1.0),
        ("Fluency/Punctuation", "Minor", 0.1),
        ("Fluency/Punctuation", "Major", 5.0),
        ("Other", "Neutral", 0.0),
        ("Non-translation!", "Major", 25.0),
    ],
)
def test_mqm_penalties(category: str, severity: str, expected: float) -> None:
    assert penalty(category, severity) == expected


def test_mqm_penalty_of_non_translation_can_be_that_of_prism_ft() -> None:
    assert penalty("Non-translation!", "Major", non_translation=5.0) == 5.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no marks", ("no marks", None)),
        ("a <v>b</v> c", ("a b c", (2, 3))),
        ("<v></v>omitted", ("omitted", (0, 0))),
        ("only <v>opened", ("only opened", None)),
        ("<v>a</v> and <v>b</v>", ("a and b", (0, 1))),
    ],
)
def test_marks_become_spans(text: str, expected: tuple[str, tuple[int, int] | None]) -> None:
    assert strip_marks(text) == expected
