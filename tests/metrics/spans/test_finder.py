"""Error spans end to end with a made model and made weights."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from made import make_model, make_vocabulary, random_weights
from numpy.typing import NDArray

from prism_mt import Chrf, EngineConfig, PrismError, PrismRef, PrismSrc, Scores, explain, score
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.spans.classifier import FILE, PARTS, SIDES, SpanClassifier, load_classifier, save_classifier
from prism_mt.metrics.spans.error_free import WIDTH, ErrorFree, save_error_free
from prism_mt.metrics.spans.features import NAMES
from prism_mt.metrics.spans.finder import SpanReader, _whole_phrases
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.model import Model
from prism_mt.text.parallel import Languages

CAND, REF = ["She bought two apples.", "A red hall."], ["She bought three apples.", "A red hall."]


def made_classifier() -> SpanClassifier:
    """Mark words that the other text lacks: as wrong majorly, as missing minorly."""
    weights: dict[str, NDArray[np.float32]] = {}
    for side in SIDES:
        inner, outer = np.zeros((len(NAMES), 1)), np.zeros((1, 3))
        inner[NAMES.index("same"), 0] = -1
        outer[0, 2 if side == "wrong" else 1] = 4
        arrays = {
            "mean": np.zeros(len(NAMES)),
            "scale": np.ones(len(NAMES)),
            "inner": inner,
            "inner_bias": np.ones(1),
            "outer": outer,
            "outer_bias": np.zeros(3),
        }
        weights |= {f"{side}.{name}": array.astype(np.float32) for name, array in arrays.items()}
    return SpanClassifier(weights, {f"{side}.{part}": 0.9 for side in SIDES for part in PARTS})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    model = write_model(make_model(), tmp_path_factory.mktemp("spans") / "made")
    save_classifier(made_classifier(), model.folder / FILE, model)
    judge = ErrorFree(
        np.zeros(WIDTH, np.float32), np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32), float(np.log(3))
    )
    save_error_free({"reference": judge}, model.folder / "error_free.json", model)
    return model


@pytest.mark.parametrize("engine", ["ct2", "torch"])
def test_spans_of_both_texts(model: ModelDirectory, engine: str) -> None:
    metric = PrismRef(model=str(model.folder))
    config = EngineConfig(engine=engine)  # type: ignore[arg-type]
    plain = score(CAND, ref=REF, lang="en", metrics=metric, config=config).item()
    found = score(CAND, ref=REF, lang="en", metrics=metric, spans=True, error_free=True, config=config).item()
    np.testing.assert_array_equal(plain.segments, found.segments)
    assert plain.spans is None
    assert found.tokens is None
    assert found.spans is not None
    wrong, missing = found.spans[0]
    assert (wrong.part, wrong.text, wrong.start, wrong.end, wrong.severity) == (
        "hypothesis",
        "two",
        11,
        14,
        "major",
    )
    assert (missing.part, missing.text, missing.severity) == ("reference", "three", "minor")
    assert wrong.probability == pytest.approx(np.exp(4) / (np.exp(4) + 2) + 1 / (np.exp(4) + 2), rel=1e-4)
    assert found.spans[1] == ()
    assert found.error_free == pytest.approx([0.75, 0.75])


def test_two_words_that_were_changed_together_are_marked_together() -> None:
    marked = np.array([0, 1, 0, 0, 1, 0, 0, 0, 1], dtype=np.bool_)
    changed = np.array([0, 1, 1, 0, 1, 1, 1, 0, 1], dtype=np.bool_)
    assert _whole_phrases(marked, changed).tolist() == [False, True, True, False, True, False, False, False, True]


def test_scores_with_spans_are_saved(model: ModelDirectory, tmp_path: Path) -> None:
    metrics = [PrismRef(model=str(model.folder)), Chrf()]
    found = score(CAND, ref=REF, lang="en", metrics=metrics, spans=True, error_free=True)
    assert found["chrf"].spans is None
    found.save(tmp_path / "scores")
    again = Scores.load(tmp_path / "scores")
    assert again["prism-ref"].spans == found["prism-ref"].spans
    assert again["prism-ref"]["system"].error_free == pytest.approx([0.75, 0.75])
    assert found.to_dict()["metrics"][0]["systems"][0]["spans"][0][0]["text"] == "two"


def test_explain_shows_spans_where_a_model_has_weights(model: ModelDirectory) -> None:
    found = explain(CAND[0], ref=REF[0], lang="en", metric=PrismRef(model=str(model.folder)))
    assert "wrong: two (major, 0.96)" in repr(found) or "wrong: two (major, 0.98)" in repr(found)
    assert found.to_dict()["spans"][1]["text"] == "three"


def test_mistakes(model: ModelDirectory, tmp_path: Path) -> None:
    with pytest.raises(PrismError, match="chrf cannot find error spans, which need the tokens of both texts"):
        score(CAND, ref=REF, metrics="chrf", spans=True)
    with pytest.raises(PrismError, match="prism-src.* cannot find error spans"):
        score(CAND, src=REF, lang="en", metrics=PrismSrc(model=str(model.folder)), spans=True)
    bare = write_model(make_model(seed=1), tmp_path / "bare")
    with pytest.raises(PrismError, match="has no weights for error spans: train them with `prism metric spans"):
        score(CAND, ref=REF, lang="en", metrics=PrismRef(model=str(bare.folder)), spans=True)
    (bare.folder / FILE).write_bytes((model.folder / FILE).read_bytes())
    with pytest.raises(PrismError, match="belongs to another model than made"):
        load_classifier(bare)
    (bare.folder / FILE).write_bytes(b"nonsense")
    with pytest.raises(PrismError, match="is damaged"):
        load_classifier(bare)
    (bare.folder / FILE).write_bytes(b"0" * (1 << 21))
    with pytest.raises(PrismError, match="too large"):
        load_classifier(bare)
    source = PrismSrc(model=str(model.folder), direction="both")
    with pytest.raises(PrismError, match="is damaged or lacks sources"):
        score(CAND, src=REF, lang="en", src_lang="de", metrics=source, error_free=True)


def test_the_file_is_small(model: ModelDirectory) -> None:
    assert (model.folder / FILE).stat().st_size < 1 << 20
    assert json.loads((model.folder / "error_free.json").read_text())["model"] == model.digest


def test_an_encoder_with_pieces_of_its_own(tmp_path: Path) -> None:
    made = make_model()
    source = make_vocabulary(size=200)
    architecture = dataclasses.replace(
        made.spec.architecture, source_vocabulary=len(source), tied_embeddings=False
    )
    spec = dataclasses.replace(made.spec, architecture=architecture)
    model = write_model(Model(spec, random_weights(architecture), source, made.target), tmp_path / "two")
    assert len(model.source.encode(CAND[0])) != len(model.target.encode(CAND[0]))
    save_classifier(made_classifier(), model.folder / FILE, model)
    found = score(CAND, ref=REF, lang="en", metrics=PrismRef(model=str(model.folder)), spans=True).item()
    assert found.spans is not None
    assert [span.text for span in found.spans[0]] == ["two", "three"]


def test_all_languages_share_one_network(model: ModelDirectory) -> None:
    runtime, metric = Runtime(), PrismRef(model=str(model.folder))
    readers = [SpanReader(metric, runtime, Languages(language)) for language in ("en", "de")]
    loaded = [encoder._loaded for reader in readers for encoder in reader._encoders.values()]  # type: ignore[attr-defined]
    assert len(loaded) == 2
    assert loaded[0] is loaded[1]
