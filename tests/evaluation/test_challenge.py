import numpy as np
import pytest
from made import make_model

from prism_mt import Chrf, PrismError, PrismRef, PrismSrc, Runtime, Ter
from prism_mt.evaluation.challenge import Contrast, perturbed_contrasts, run_challenge
from prism_mt.models.directory import write_model
from prism_mt.text.parallel import Languages

ENGLISH = Languages("en", "de")
CONTRASTS = [
    Contrast(
        "number", "It cost 20 euros.", "It cost 90 euros.", ENGLISH, "It cost 20 euros.", "Es kostete 20 Euro."
    ),
    Contrast(
        "style", "It was 20 euros.", "It cost 21 euros.", ENGLISH, "It cost 20 euros.", "Es kostete 20 Euro."
    ),
    Contrast("style", "Same", "Same", ENGLISH, "Same", "Gleich"),
]


def test_accuracy_by_phenomenon_and_direction() -> None:
    found = run_challenge(CONTRASTS, [Chrf(), Ter()], Runtime())
    assert [outcome.metric for outcome in found.outcomes] == ["chrf", "ter"]
    chrf, ter = found.outcomes
    assert chrf.right.tolist() == [1, 0, 0]  # a tie is wrong
    assert ter.right.tolist() == [1, 0, 0]  # fewer edits are better
    assert found.accuracy(chrf) == pytest.approx(1 / 3)
    assert found.accuracy(chrf, found.phenomena["number"]) == 1
    assert found.languages["en"].all()


def test_languages_that_a_model_lacks_are_left_out(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = str(write_model(make_model(languages=("de", "en")), tmp_path_factory.mktemp("m") / "made").folder)
    swedish = Contrast("style", "Ja.", "Nej.", Languages("sv", "en"), "Ja.", "Yes.")
    found = run_challenge([*CONTRASTS, swedish], [PrismRef(model=folder)], Runtime())
    assert np.isnan(found.outcomes[0].right).tolist() == [False, False, False, True]
    assert "lang:en" in found.outcomes[0].signature
    with pytest.raises(PrismError, match="does not support the language 'sv'"):
        run_challenge([swedish], [PrismRef(model=folder)], Runtime())


def test_what_a_metric_needs() -> None:
    without = Contrast("style", "Ja.", "Nej.", Languages("sv", "en"), "Ja.")
    with pytest.raises(PrismError, match="prism-src needs sources"):
        run_challenge([without], [PrismSrc(model="mini", direction="forward")], _Anything())


class _Anything(Runtime):
    def language(self, model: str, language: str) -> str:
        return "en"


def test_perturbed_references() -> None:
    texts = {
        "en": ["She was in Paris in 1990 with two friends."],
        "de": ["Sie war 1990 mit zwei Freunden in Paris."],
    }
    found = perturbed_contrasts(texts, kinds=["number", "negation"])
    assert [(one.phenomenon, one.languages.target, one.languages.source) for one in found] == [
        ("number", "en", "de"),
        ("number", "de", "en"),
        ("negation", "en", "de"),
        ("negation", "de", "en"),
    ]
    assert all(one.good == one.reference and one.bad != one.good for one in found)
    assert found[0].source == texts["de"][0]
    with pytest.raises(PrismError, match="no texts in fr, only in en, de"):
        perturbed_contrasts(texts, ["fr"])
    with pytest.raises(PrismError, match="nothing to perturb"):
        perturbed_contrasts({"en": [""]})
