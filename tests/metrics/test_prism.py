"""Prism's arithmetic by hand, on an engine whose token scores are known."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from made import make_model

from prism_mt._core.errors import PrismError
from prism_mt.engines.base import Pair, Pending
from prism_mt.metrics.base import Languages, Segment, SegmentScore
from prism_mt.metrics.prism import PrismDual, PrismMetric, PrismRef, PrismScorer, PrismSrc
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.directory import ModelDirectory, write_model


class Positions:
    """Scores the token at position i of any target as -(i + 1)·(length of the source): -1·S for the tag and so on."""

    name, dtype, temperature, parallel, budget, shares_sources = "positions", "float32", 1.0, 1, 1000, False

    def submit(self, batch: Sequence[Pair]) -> Pending:
        results = [
            np.array([-(i + 1) * len(pair.source) for i in range(len(pair.target) - 1)], dtype=np.float32)
            for pair in batch
        ]
        return lambda: results


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return write_model(make_model(max_positions=24), tmp_path_factory.mktemp("prism") / "model")


def mean_score(given: int, scored: int) -> float:
    """Tokens of a text of `scored` pieces: positions 2 … scored+2 (the tag is 1), times source length `given`+1."""
    return -(given + 1) * sum(range(2, scored + 3)) / (scored + 1)


def sum_score(given: int, scored: int) -> float:
    return mean_score(given, scored) * (scored + 1)


def pieces(model: ModelDirectory, text: str) -> int:
    return len(model.source.encode(text))


HYP, REF, REF2 = "Hello world", "Hello", "This is a test"


class PositionsRuntime(Runtime):
    """A runtime whose only engine is the made one."""

    def __init__(self, made: Positions | None = None) -> None:
        super().__init__()
        self._made = made or Positions()

    def engine(self, model: str, temperature: float = 1.0) -> Positions:
        return self._made


def opened(
    model: ModelDirectory,
    kind: type[PrismMetric] = PrismRef,
    source: str = "",
    made: Positions | None = None,
    **options: Any,
) -> PrismScorer:
    return kind(model=str(model.folder), **options).open(PositionsRuntime(made), Languages("en", source))


def one(
    model: ModelDirectory,
    segment: Segment,
    kind: type[PrismMetric] = PrismRef,
    source: str = "",
    tokens: bool = False,
    **options: Any,
) -> SegmentScore:
    [result] = opened(model, kind, source, **options).score([segment], tokens)
    assert not result.statistics  # a system score is the mean
    return result


def test_prism_ref_is_the_mean_of_both_directions(model: ModelDirectory) -> None:
    h, r = pieces(model, HYP), pieces(model, REF)
    forward, backward = mean_score(r, h), mean_score(h, r)
    segment = Segment(HYP, (REF,))
    assert one(model, segment).score == pytest.approx((forward + backward) / 2)
    assert one(model, segment, direction="forward").score == pytest.approx(forward)
    assert one(model, segment, direction="backward").score == pytest.approx(backward)
    weighted = 0.25 * forward + 0.75 * backward
    assert one(model, segment, forward_weight=0.25).score == pytest.approx(weighted)
    summed = (sum_score(r, h) + sum_score(h, r)) / 2
    assert one(model, segment, reduction="sum").score == pytest.approx(summed)


def test_several_references(model: ModelDirectory) -> None:
    singles = [one(model, Segment(HYP, (text,))).score for text in (REF, REF2)]
    assert one(model, Segment(HYP, (REF, REF2))).score == pytest.approx(sum(singles) / 2)
    assert one(model, Segment(HYP, (REF, REF2)), references="max").score == pytest.approx(max(singles))


def test_prism_src_is_one_direction(model: ModelDirectory) -> None:
    h, s = pieces(model, HYP), pieces(model, "Hallo")
    segment = Segment(HYP, source="Hallo")
    assert one(model, segment, PrismSrc).score == pytest.approx(mean_score(s, h))
    both = (mean_score(s, h) + mean_score(h, s)) / 2
    assert one(model, segment, PrismSrc, source="de", direction="both").score == pytest.approx(both)
    with pytest.raises(PrismError, match="needs the source language: set"):
        one(model, segment, PrismSrc, direction="both")


def test_empty_texts_are_scored_on_the_end_of_sentence(model: ModelDirectory) -> None:
    r = pieces(model, REF)
    result = one(model, Segment("", (REF,)), tokens=True)
    assert result.score == pytest.approx((mean_score(r, 0) + mean_score(0, r)) / 2)
    assert result.tokens[0].pieces == ("</s>",)
    assert one(model, Segment("", ("",))).score == pytest.approx(-2.0)


def test_tokens(model: ModelDirectory) -> None:
    result = one(model, Segment(HYP, (REF,)), tokens=True)
    assert [trace.direction for trace in result.tokens] == ["hypothesis|reference", "reference|hypothesis"]
    forward = result.tokens[0]
    assert "".join(forward.pieces).replace("▁", " ") == " Hello world</s>"
    assert forward.scores[0] == -2.0 * (pieces(model, REF) + 1)
    assert np.mean(forward.scores) == pytest.approx(mean_score(pieces(model, REF), pieces(model, HYP)))


def test_the_target_tag_is_that_of_the_scored_text(model: ModelDirectory) -> None:
    seen: list[Pair] = []

    class Spy(Positions):
        def submit(self, batch: Sequence[Pair]) -> Pending:
            seen.extend(batch)
            return super().submit(batch)

    list(opened(model, PrismSrc, "de", Spy(), direction="both").score([Segment(HYP, source="Hallo")]))
    tags = {model.source.decode(pair.target[2:-1]): pair.target[1] for pair in seen}
    assert tags == {HYP: model.spec.languages["en"], "Hallo": model.spec.languages["de"]}


LONG = "a b c d e f g h i k l m n o p r s t u v w x y z a b c"


def test_long_segments(model: ModelDirectory, caplog: pytest.LogCaptureFixture) -> None:
    limit = 24 - 1  # the source side has one special token, and so has what the decoder reads beside its start
    segment = Segment(LONG, (REF,), number=7)
    with pytest.raises(PrismError, match=r"hypothesis, line 7 has \d+ pieces, but the model takes at most 22"):
        one(model, segment)
    cut = one(model, segment, overlong="truncate")
    assert "1 overlong texts were truncated" in caplog.text
    r = pieces(model, REF)
    assert cut.score == pytest.approx((mean_score(r, limit - 1) + mean_score(limit, r)) / 2)
    windowed = one(model, segment, overlong="window", direction="forward", tokens=True)
    assert "scored in windows" in caplog.text
    text = "".join(windowed.tokens[0].pieces).replace("▁", " ").strip()
    assert text == LONG + "</s>"


def test_signature_names_what_changes_a_score(model: ModelDirectory) -> None:
    signature = opened(model, reduction="sum", references="max").signature()
    assert f"model:made@{model.digest[:12]}" in signature
    for part in ("lang:en", "dir:both-0.5", "seg:sum", "refs:max", "log:e", "temp:1", "engine:positions-float32"):
        assert part in signature.split("|")
    assert "batch:" not in signature


def test_signature_says_that_scores_in_8_bits_depend_on_the_batch(
    model: ModelDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of CTranslate2, that is: ours quantizes every token by itself."""
    scorer = opened(model)
    monkeypatch.setattr(scorer.engine, "dtype", "int8", raising=False)
    for name, varies in (("ct2", True), ("torch", False)):
        monkeypatch.setattr(scorer.engine, "name", name, raising=False)
        assert ("batch:varies" in scorer.signature().split("|")) == varies


def test_bad_weight() -> None:
    with pytest.raises(PrismError, match="between 0 and 1"):
        PrismRef(forward_weight=1.5)


def test_nothing_in_nothing_out(model: ModelDirectory) -> None:
    assert list(opened(model).score([])) == []


def test_disagreement_of_the_directions_costs(model: ModelDirectory) -> None:
    scorer = opened(model, PrismDual, "de")
    source, target = "Das ist gut", "Hello"
    x, y = pieces(model, source), pieces(model, target)
    given_source, given_target = -mean_score(x, y), -mean_score(y, x)
    assert given_source != given_target
    [result] = scorer.score([Segment(target, source=source)])
    wanted = abs(given_source - given_target) + (given_source + given_target) / 2
    assert result.score == pytest.approx(-wanted)
    assert scorer.signature().startswith("prism-dual|model:made@")
    assert "|lang:en|srclang:de|dir:both-0.5|" in scorer.signature()
    with pytest.raises(PrismError, match="always uses both directions equally"):
        PrismDual(reduction="sum")
