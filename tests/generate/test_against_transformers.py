"""Beam search on both engines finds what transformers' `generate` finds, with the same scores."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
import torch
from hf_models import LANGUAGES, Family, make

from prism_mt.engines.base import EngineName
from prism_mt.engines.factory import EngineConfig
from prism_mt.generate.base import Request, textless_ids
from prism_mt.generate.generator import Generator
from prism_mt.generate.options import SearchConfig
from prism_mt.models.directory import ModelDirectory
from prism_mt.models.resolve import open_model

TEXTS = ["das Haus und der Hund", "ein Tag", "the cat running über die Straße le monde", "der " * 12 + "Hund", "u"]
LIMIT = 24


@cache
def ending(family: Family) -> tuple[ModelDirectory, Any]:
    """A random model that ends its sentences sooner or later, as ours and as transformers'."""
    folder, model, _ = make(family, Path(mkdtemp(prefix="ending-")) / family, seed=4)
    end = model.config.eos_token_id
    with torch.no_grad():
        # Found by trial: hypotheses of many lengths that do not only repeat one token.
        for name, weight in model.model.decoder.named_parameters():
            if weight.dim() == 2 and "layers" in name:
                weight.mul_(1.5)
        if family == "marian":
            model.final_logits_bias[0, end] += 4.5
        else:
            embedding = model.get_input_embeddings().weight.mul_(0.6)
            model.model.decoder.layer_norm.bias.add_(embedding[end], alpha=2.6)
    model.save_pretrained(folder)
    return open_model(str(folder)), model


def requests(family: Family, model: ModelDirectory) -> list[Request]:
    source, target = LANGUAGES[family]
    generator = Generator(model, EngineConfig(device="cpu"), SearchConfig(max_length=LIMIT))
    route = generator.route(target, source)
    return [request for text in TEXTS if (request := generator._request(text, route, 0, str))]


def peer(network: Any, request: Request, model: ModelDirectory, options: SearchConfig) -> Any:
    forced = request.prefix[1] if len(request.prefix) > 1 else None
    return network.generate(
        input_ids=torch.tensor([request.source]),
        num_beams=options.beams,
        num_return_sequences=options.n,
        length_penalty=options.length_penalty,
        early_stopping=options.beams > 1,
        do_sample=False,
        max_new_tokens=LIMIT,
        min_new_tokens=len(request.prefix),
        forced_bos_token_id=forced,
        forced_eos_token_id=None,
        # What is no text is impossible, and the rest shares its probability.
        bad_words_ids=[[index] for index in textless_ids(model)],
        renormalize_logits=True,
        output_scores=True,
        return_dict_in_generate=True,
    )


def pieces(sequence: list[int], request: Request, end: int) -> tuple[int, ...]:
    rest = sequence[len(request.prefix) :]
    return tuple(rest[: rest.index(end)] if end in rest else rest)


SETTINGS = [
    SearchConfig(n=4, beam=4),
    SearchConfig(n=2, beam=5, length_penalty=0.0),
    SearchConfig(n=3, beam=3, length_penalty=2.0),
    SearchConfig(n=1, beam=1),
]


@pytest.mark.parametrize("engine", ["torch", "ct2"])
@pytest.mark.parametrize("options", SETTINGS, ids=lambda options: options.signature())
@pytest.mark.parametrize("family", ["m2m100", "marian"])
def test_same_sequences_and_scores(family: Family, options: SearchConfig, engine: EngineName) -> None:
    model, network = ending(family)
    end = model.spec.conventions.eos
    generator = Generator(model, EngineConfig(engine=engine, device="cpu", threads=1), options)
    asked = requests(family, model)
    found = generator._run(asked, options)
    lengths = set()
    for request in asked:
        wanted = peer(network, request, model, options)
        sequences = [pieces(sequence, request, end) for sequence in wanted.sequences.tolist()]
        best = found[request][: options.n]
        assert [one.pieces for one in best] == sequences
        lengths |= {len(sequence) for sequence in sequences}
        if options.beams > 1:
            scores = [one.score for one in best]
            assert scores == pytest.approx(wanted.sequences_scores.tolist(), abs=1e-4)
    assert len(lengths) > (3 if options.beams > 1 else 0)  # the test would say little if nothing ended


@pytest.mark.parametrize("method", ["beam", "diverse", "sample", "penalty"])
def test_the_batch_does_not_matter(method: Any) -> None:
    model, _ = ending("m2m100")
    further: dict[str, Any] = {"diverse": {"groups": 2}, "sample": {"seed": 7}}.get(method, {})
    options = SearchConfig(method=method, n=4, beam=8, **further)
    generator = Generator(model, EngineConfig(engine="torch", device="cpu", threads=1), options)
    asked = requests("m2m100", model)
    searcher = generator.searcher(options)
    together = searcher.submit(asked)()
    for request, found in zip(asked, together, strict=True):
        [alone] = searcher.submit([request])()
        assert [one.pieces for one in alone] == [one.pieces for one in found]
        assert [one.score for one in alone] == pytest.approx([one.score for one in found], abs=1e-5)
