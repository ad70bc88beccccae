import json
from pathlib import Path

import numpy as np
import pytest
from made import make_model

from prism_mt import Prism, PrismError, load_model, score
from prism_mt.models.directory import write_model

CAND, REF, SRC = ["Hello world!", ""], ["Hello, world.", "A test."], ["Hallo Welt!", "Ein Test."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(make_model(), tmp_path_factory.mktemp("api") / "made").folder)


def test_three_ways_give_one_number(folder: str) -> None:
    direct = score(CAND, REF, lang="en", model=folder)
    loaded = load_model(folder).score(CAND, REF, lang="English")
    prism = Prism(folder, "en")
    np.testing.assert_array_equal(direct.segments, loaded.segments)
    np.testing.assert_array_equal(direct.segments, prism.score(cand=CAND, ref=REF, segment_scores=True))
    assert direct.score == loaded.score == prism.score(CAND, REF) == pytest.approx(direct.segments.mean())
    assert direct.signature == loaded.signature


def test_systems_references_and_options(folder: str) -> None:
    model = load_model(folder, engine="torch")
    assert model.languages == ["de", "en", "fr", "ru", "zh"]
    by_system = model.score({"A": CAND, "B": REF}, [REF, CAND], lang="en", references="max")
    assert list(by_system) == ["A", "B"]
    assert "refs:max" in by_system["A"].signature
    assert model.digest[:12] in by_system["A"].signature
    alone = model.score(CAND, src=SRC, lang="en")
    assert alone.metric == "prism-src"
    assert score(CAND, REF, metric="chrf").score == pytest.approx(score(CAND, [REF], metric="chrf").score)
    assert (
        score(CAND, REF, lang="en", model=folder, temperature=2.0, direction="forward").score
        != by_system["A"].score
    )


def test_paraphrased_references(tmp_path: Path) -> None:
    file = tmp_path / "paraphrases.jsonl"
    lists = [[{"text": "Hello world!", "score": -1.0}], [{"text": "A trial.", "score": -1.0}]]
    file.write_text(
        "".join(
            json.dumps({"source": ref, "paraphrases": found}) + "\n" for ref, found in zip(REF, lists, strict=True)
        )
    )
    plain = score(CAND, REF, metric="parchrf++", lang="en", paraphrases=0)
    more = score(CAND, REF, metric="parchrf++", lang="en", paraphrases=1, paraphrase_file=file)
    instead = score(CAND, REF, metric="parchrf++", lang="en", replace_reference=True, paraphrase_file=str(file))
    assert plain.segments[0] < 100
    assert more.segments[0] == instead.segments[0] == pytest.approx(100)


def test_mistakes(folder: str) -> None:
    prism = Prism(folder, "en")
    for sides in ({}, {"ref": REF, "src": SRC}):
        with pytest.raises(PrismError, match="exactly one"):
            prism.score(CAND, **sides)  # type: ignore[arg-type]
    with pytest.raises(PrismError, match="it knows de, en"):
        Prism(folder, "ja")
    with pytest.raises(PrismError, match="2 lines but ref 1 has 1"):
        prism.score(CAND, ref=REF[:1])
    with pytest.raises(PrismError, match="prism-ref needs ref"):
        score(CAND, src=SRC, metric="prism-ref", lang="en", model=folder)
    with pytest.raises(PrismError, match="lang='xx'"):
        score(CAND, REF, model=folder)
    with pytest.raises(PrismError, match="is not a model"):
        load_model(str(Path(folder).parent))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"long": "windows"}, "long must be one of error, truncate, window, not 'windows'"),
        ({"references": "min"}, "references must be one of mean, max"),
        ({"reduction": "average"}, "reduction must be one of mean, sum"),
        ({"direction": "fwd"}, "direction must be one of forward, backward, both"),
        ({"engine": "fairseq"}, "engine must be one of auto, ct2, torch"),
        ({"ref": []}, "ref is empty"),
        ({"ref": "Hallo"}, "expected a list of texts, not a single text"),
        ({"cand": "Hallo"}, "expected a list of texts, not a single text"),
    ],
)
def test_values_that_no_option_has(folder: str, arguments: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"cand": ["Hallo"], "ref": ["Hallo"], "lang": "de", "model": folder, **arguments}
    with pytest.raises(PrismError, match=message):
        score(**given)  # type: ignore[arg-type]
