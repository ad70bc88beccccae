import json
from pathlib import Path

import numpy as np
import pytest
from made import make_model

from prism_mt import (
    Bleu,
    Chrf,
    EngineConfig,
    ParChrf,
    Prism,
    PrismError,
    PrismRef,
    load_model,
    make_metric,
    score,
)
from prism_mt.models.directory import write_model

CAND, REF, SRC = ["Hello world!", ""], ["Hello, world.", "A test."], ["Hallo Welt!", "Ein Test."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(make_model(), tmp_path_factory.mktemp("api") / "made").folder)


def test_three_ways_give_one_number(folder: str) -> None:
    direct = score(CAND, ref=REF, lang="en", model=folder).item()
    loaded = load_model(folder).score(CAND, ref=REF, lang="English").item()
    prism = Prism(folder, "en")
    np.testing.assert_array_equal(direct.segments, loaded.segments)
    np.testing.assert_array_equal(direct.segments, prism.score(cand=CAND, ref=REF, segment_scores=True))
    assert direct.score == loaded.score == prism.score(CAND, REF) == pytest.approx(direct.segments.mean())
    assert direct.signature == loaded.signature


def test_systems_references_and_options(folder: str) -> None:
    model = load_model(folder, config=EngineConfig(engine="torch"))
    assert model.languages == ["de", "en", "fr", "ru", "zh"]
    metric = PrismRef(model=folder, references="max")
    [by_system] = model.score({"A": CAND, "B": REF}, ref=[REF, CAND], lang="en", metrics=metric).values()
    assert by_system.systems == ("A", "B")
    assert "refs:max" in by_system.signature
    assert model.digest[:12] in by_system.signature
    alone = model.score(CAND, src=SRC, lang="en").item()
    assert alone.metric == "prism-src"
    assert score(CAND, ref=REF, metrics=Chrf()).item().score == pytest.approx(
        score(CAND, ref=[REF], metrics="chrf").item().score
    )
    changed = PrismRef(model=folder, temperature=2.0, direction="forward")
    assert score(CAND, ref=REF, lang="en", metrics=changed).item().score != by_system["A"].score


def test_paraphrased_references(tmp_path: Path) -> None:
    file = tmp_path / "paraphrases.jsonl"
    lists = [[{"text": "Hello world!", "score": -1.0}], [{"text": "A trial.", "score": -1.0}]]
    file.write_text(
        "".join(
            json.dumps({"source": ref, "paraphrases": found}) + "\n" for ref, found in zip(REF, lists, strict=True)
        )
    )
    metrics = [
        ParChrf(paraphrases=0),
        ParChrf(paraphrases=1, paraphrase_file=file),
        make_metric("parchrf++", {"replace_reference": True, "paraphrase_file": file}),
    ]
    plain, more, instead = (score(CAND, ref=REF, metrics=metric, lang="en").item() for metric in metrics)
    assert plain.segments[0] < 100
    assert more.segments[0] == instead.segments[0] == pytest.approx(100)


def test_mistakes(folder: str) -> None:
    prism = Prism(folder, "en")
    for sides in ({}, {"ref": REF, "src": SRC}):
        with pytest.raises(PrismError, match="exactly one"):
            prism.score(CAND, **sides)  # type: ignore[arg-type]
    with pytest.raises(PrismError, match="it supports de, en"):
        Prism(folder, "ja")
    with pytest.raises(PrismError, match="2 lines but ref has 1"):
        prism.score(CAND, ref=REF[:1])
    with pytest.raises(PrismError, match="prism-ref.* needs references: set `ref=`"):
        score(CAND, src=SRC, metrics="prism-ref", lang="en", model=folder)
    with pytest.raises(PrismError, match="needs the language of the outputs: set `lang=`"):
        score(CAND, ref=REF, model=folder)
    with pytest.raises(PrismError, match="is not a model"):
        load_model(str(Path(folder).parent))
    with pytest.raises(PrismError, match="`model=` is an option of .*prism-ref.* none of them is requested"):
        score(CAND, ref=REF, metrics=[Bleu()], model=folder)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (PrismRef, {"overlong": "windows"}, "overlong must be one of error, truncate, window, not 'windows'"),
        (PrismRef, {"references": "min"}, "references must be one of mean, max"),
        (PrismRef, {"reduction": "average"}, "reduction must be one of mean, sum"),
        (PrismRef, {"direction": "fwd"}, "direction must be one of forward, backward, both"),
        (PrismRef, {"temperature": 0.0}, "temperature must be between 0.001 and 1000"),
        (EngineConfig, {"engine": "fairseq"}, "engine must be one of auto, ct2, torch"),
    ],
)
def test_values_that_no_option_has(kind: type[object], options: dict[str, object], message: str) -> None:
    with pytest.raises(PrismError, match=message):
        kind(**options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ref": []}, "ref is empty"),
        ({"ref": "Hallo"}, "ref must be a list of strings, not str"),
        ({"hypotheses": "Hallo"}, "hypotheses must be a list of strings, not str"),
        ({"hypotheses": {}}, "hypotheses is empty"),
    ],
)
def test_texts_that_are_no_lists(folder: str, arguments: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"hypotheses": ["Hallo"], "ref": ["Hallo"], "lang": "de", "model": folder}
    with pytest.raises(PrismError, match=message):
        score(**{**given, **arguments})  # type: ignore[arg-type]
