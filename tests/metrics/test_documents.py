"""Segments in the context of their documents."""

import numpy as np
import pytest
from made import make_model

from prism_mt import Chrf, EngineConfig, PrismError, PrismRef, PrismSrc, score
from prism_mt.metrics.forced_decoding import PairEncoder, Text
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.text.parallel import parallel_text

REF = ["She bought three red apples.", "He is found dead.", "The report is large.", "A vote."]
CAND = ["She bought two apples.", "He was found.", "The report was red.", "A market."]
DOCUMENTS = ["a", "a", "a", "b"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return write_model(make_model(max_positions=40), tmp_path_factory.mktemp("documents") / "made")


def test_context_changes_later_segments_only(model: ModelDirectory) -> None:
    def segments(context: int, engine: str = "ct2") -> list[float]:
        metric = PrismRef(model=str(model.folder), context=context)
        config = EngineConfig(engine=engine)  # type: ignore[arg-type]
        found = score(CAND, ref=REF, lang="en", metrics=metric, documents=DOCUMENTS, config=config).item()
        assert ("context:" in found.signature) == bool(context)
        return [float(value) for value in found.segments]

    alone, one, two = segments(0), segments(1), segments(2)
    assert [a == b for a, b in zip(alone, one, strict=True)] == [True, False, False, True]
    assert one[1] == two[1]
    np.testing.assert_allclose(segments(2, "torch"), two, atol=1e-5)


def test_only_own_pieces_count_and_the_oldest_context_goes_first(model: ModelDirectory) -> None:
    encoder = PairEncoder(model)
    given, scored = Text(REF[2], "en", "ref"), Text(CAND[2], "en", "hyp")
    context = [(REF[0], CAND[0]), (REF[1], CAND[1])]
    [pair], skipped = encoder.pairs_in_context(given, scored, context)
    lengths = [len(model.target.encode(text)) for text in CAND]
    assert skipped in (lengths[1], lengths[0] + lengths[1])
    if skipped == lengths[1]:  # both would be longer than the model's positions
        assert sum(len(model.source.encode(text)) for text in REF[:3]) > 39 or sum(lengths[:3]) > 38
    ids, values = encoder.join([pair], [np.arange(len(pair.target) - 1, dtype=np.float32)], skipped)
    assert ids[:-1] == model.target.encode(CAND[2])
    assert len(values) == len(ids)
    assert encoder.pairs_in_context(given, scored, [("large " * 60, "red")])[1] == 0


def test_traces_have_own_pieces(model: ModelDirectory) -> None:
    metric = PrismSrc(model=str(model.folder), context=3)
    found = score(CAND, src=REF, lang="en", metrics=metric, documents=DOCUMENTS, tokens=True).item()
    assert found.tokens is not None
    for text, traces in zip(CAND, found.tokens, strict=True):
        assert len(traces[0].pieces) == len(model.target.encode(text)) + 1


def test_document_scores(model: ModelDirectory) -> None:
    metrics = [PrismRef(model=str(model.folder)), Chrf()]
    found = score({"A": CAND, "B": REF}, ref=REF, lang="en", metrics=metrics, documents=DOCUMENTS)
    by_document = found.by_document("prism-ref")
    assert list(by_document) == ["a", "b"]
    np.testing.assert_allclose(by_document["a"], found["prism-ref"].segments[:, :3].mean(axis=1))
    assert found.by_document("chrf")["b"][1] == pytest.approx(100)
    assert score(CAND, ref=REF, metrics="chrf").by_document("chrf") == {}


def test_mistakes(model: ModelDirectory) -> None:
    metric = PrismRef(model=str(model.folder), context=1)
    with pytest.raises(PrismError, match="reads earlier segments of a document: set `documents=`"):
        score(CAND, ref=REF, lang="en", metrics=metric)
    with pytest.raises(PrismError, match="documents, line 4: the document 'a' continues after another one"):
        score(CAND, ref=REF, lang="en", metrics=metric, documents=["a", "a", "b", "a"])
    with pytest.raises(PrismError, match="system.* has 4 lines but documents has 3|hypotheses has 4 lines but"):
        score(CAND, ref=REF, lang="en", metrics=metric, documents=["a", "a", "b"])


def test_context_of_several_systems() -> None:
    text = parallel_text({"A": CAND, "B": REF}, REF, documents=DOCUMENTS)
    segments = list(text.segments(2))
    assert [len(one.context) for one in segments] == [0, 0, 1, 1, 2, 2, 0, 0]
    assert [one.hypothesis for one in segments[5].context] == REF[:2]
