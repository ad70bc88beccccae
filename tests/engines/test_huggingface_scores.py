"""Our token log-probabilities of Hugging Face models equal those of transformers' own logits."""

from typing import Any

import numpy as np
import pytest
from hf_models import FAMILIES, LANGUAGES, Family, cached, ids

from prism_mt._core.errors import PrismError
from prism_mt.engines.base import EngineName
from prism_mt.engines.factory import EngineConfig, open_engine
from prism_mt.engines.scheduler import score_pairs
from prism_mt.metrics.base import Languages, Segment
from prism_mt.metrics.forced_decoding import PairEncoder, Text
from prism_mt.metrics.prism import PrismRef, PrismSrc
from prism_mt.metrics.runtime import Runtime
from prism_mt.models.resolve import open_model

TEXTS = [
    ("das Haus und der Hund", "la maison le jour"),
    ("", "le monde"),
    ("ein Tag über die Straße", ""),
    ("the cat running", "x \U0001f600 мир день 你好"),
    ("der " * 30 + "Hund", "bon jour " * 20 + "monde"),
]


def transformers_scores(
    model: Any, source: list[int], decoder_input: list[int], labels: list[int]
) -> np.ndarray[Any, Any]:
    """Log-probabilities of the labels, straight from the logits of the reference implementation."""
    import torch

    with torch.no_grad():
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([decoder_input])).logits[0]
        scores = torch.log_softmax(logits.float(), dim=-1)
        return np.asarray(scores[torch.arange(len(labels)), torch.tensor(labels)].numpy())


@pytest.mark.parametrize("engine", ["ct2", "torch"])
@pytest.mark.parametrize("family", FAMILIES)
def test_token_scores(family: Family, engine: EngineName) -> None:
    folder, reference, tokenizer = cached(family)
    model = open_model(str(folder))
    source_language, target_language = LANGUAGES[family]
    encoder = PairEncoder(model)
    found = []
    for source, target in TEXTS:
        given, scored = Text(source, source_language, ""), Text(target, target_language, "")
        [pair] = encoder.pairs(given, scored)
        wanted = ids(family, reference, tokenizer, source, target, source_language, target_language)
        assert list(pair.source) == wanted.source
        # mBART-25's labels go on with the tag after the end of sentence, which is no part of the text.
        length = len(pair.target) - 1
        assert list(pair.target[:-1]) == wanted.decoder_input[:length]
        assert list(pair.target[1:]) == wanted.labels[:length]
        found.append((pair, transformers_scores(reference, wanted.source, wanted.decoder_input, wanted.labels)))
    loaded = open_engine(model, EngineConfig(engine=engine, device="cpu"))
    for (pair, expected), tokens in zip(found, score_pairs(loaded, [pair for pair, _ in found]), strict=True):
        np.testing.assert_allclose(tokens, expected[: len(pair.target) - 1], atol=1e-4)


TAGGED = {
    # family: is a tag of the scored language predicted (and left out of the average)?
    "m2m100": True,
    "nllb": True,
    "mbart50": True,
    "mbart25": False,
    "small100": False,
    "marian": False,
}


@pytest.mark.parametrize("family", TAGGED)
def test_the_tag_is_left_out_of_the_average(family: Family) -> None:
    folder, reference, tokenizer = cached(family)
    model = open_model(str(folder))
    source_language, target_language = LANGUAGES[family]
    source, target = TEXTS[0]
    metric = PrismSrc(model=str(folder))
    scorer = metric.open(Runtime(EngineConfig(device="cpu")), Languages(target_language, source_language))
    [result] = scorer.score([Segment(target, source=source)], tokens=True)
    wanted = ids(family, reference, tokenizer, source, target, source_language, target_language)
    scores = transformers_scores(reference, wanted.source, wanted.decoder_input, wanted.labels)
    tags = [index for index in model.spec.languages.values() if index is not None]
    counted = [s for s, label in zip(scores, wanted.labels, strict=True) if label not in tags]
    assert (wanted.labels[0] in tags) == TAGGED[family]
    assert len(counted) == len(result.tokens[0].pieces)
    assert result.score == pytest.approx(np.mean(counted), abs=1e-4)


def test_a_model_of_one_pair_does_not_score_within_a_language() -> None:
    folder, _, _ = cached("marian")
    runtime = Runtime(EngineConfig(device="cpu"))
    with pytest.raises(PrismError, match="from en to en, but it only translates from de into en"):
        PrismRef(model=str(folder)).open(runtime, Languages("en"))
    with pytest.raises(PrismError, match="from en to de"):
        PrismSrc(model=str(folder)).open(runtime, Languages("de", "en"))


def test_a_model_that_tags_the_source_needs_its_language() -> None:
    folder, _, _ = cached("m2m100")
    runtime = Runtime(EngineConfig(device="cpu"))
    with pytest.raises(PrismError, match="needs the source language: set"):
        PrismSrc(model=str(folder)).open(runtime, Languages("fr"))
