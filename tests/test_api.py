import json
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from made import make_model

import prism_mt
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


FUNCTIONS = [name for name in prism_mt.__all__ if isinstance(getattr(prism_mt, name), FunctionType)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_that_no_function_has(name: str) -> None:
    with pytest.raises(PrismError, match=f"^{name} has no argument 'nonsense'; (known|did you mean)"):
        getattr(prism_mt, name)(nonsense=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: score(CAND, reff=REF), "^score has no argument 'reff'; did you mean 'ref'"),  # type: ignore[call-arg]
        (lambda: PrismRef(directoin="both"), "^PrismRef has no option 'directoin'; did you mean 'direction'"),  # type: ignore[call-arg]
        (lambda: EngineConfig(presicion="int8"), "^EngineConfig has no option 'presicion'; did you mean 'precision'"),  # type: ignore[call-arg]
        (lambda: score(CAND, ref=REF, metrics=3), "^metrics must be .*, not 3"),  # type: ignore[arg-type]
        (lambda: score(CAND, ref=REF, metrics=Chrf), "^metrics must be of type Metric, not .*Chrf"),  # type: ignore[arg-type]
        (lambda: score(CAND, ref=REF, metrics="chrf", lang=3), "^lang must be .*, not 3"),  # type: ignore[arg-type]
        (lambda: score(CAND, ref=REF, metrics="chrf", lang=["en", 3]), "^lang, segment 2: expected a string, not int"),  # type: ignore[list-item]
        (lambda: score(CAND, ref=REF, metrics="chrf", tokens="yes"), "^tokens must be of type bool, not 'yes'"),  # type: ignore[arg-type]
        (lambda: score(CAND, ref=REF, config={}), "^config must be of type EngineConfig, not {}"),  # type: ignore[arg-type]
        (lambda: score(CAND, ref=REF, runtime=3), "^runtime must be of type Runtime, not 3"),  # type: ignore[arg-type]
        (lambda: prism_mt.compare([1]), r"^scores must be of type Scores, not \[1\]"),  # type: ignore[arg-type]
        (lambda: prism_mt.compare(prism_mt.Scores([]), test="boot"), "^test must be one of bootstrap, random"),  # type: ignore[arg-type]
        (lambda: prism_mt.compare(prism_mt.Scores([]), draws="5"), "^draws must be of type int, not '5'"),  # type: ignore[arg-type]
        (lambda: prism_mt.paraphrase(REF, lang="en", n="5"), "^n must be of type int, not '5'"),  # type: ignore[call-overload]
        (lambda: prism_mt.explain(["Hello"], ref="Hello", lang="en"), "^hypothesis must be of type str, not "),  # type: ignore[arg-type]
        (lambda: prism_mt.rerank(3), "^candidates must be a list or another iterable, not 3"),  # type: ignore[arg-type]
        (lambda: prism_mt.judge(3, ["chrf"]), "^judgments must be .*, not 3"),  # type: ignore[arg-type]
        (lambda: prism_mt.reproduce("wmt20", 3), "^studies must be of type str, not 3"),  # type: ignore[arg-type]
        (lambda: prism_mt.train(3), "^config must be .*, not 3"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_mistakes_name_the_argument(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(PrismError, match=message):
        call()


def test_numbers_of_arrays_are_numbers(folder: str) -> None:
    scores = score({"A": CAND, "B": REF}, ref=np.array(REF), metrics=Chrf(beta=np.int64(2)))  # type: ignore[arg-type]
    assert len(prism_mt.compare(scores, draws=np.int64(40)).comparisons) == 1  # type: ignore[arg-type]
    assert repr(load_model(folder)) == f"LoadedModel({folder!r})"
