"""Both engines against each other: nothing but the model and the pair may change a score."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import SENTENCES, make_model

from prism_mt.engines.base import Engine, Pair
from prism_mt.engines.factory import EngineConfig, open_engine
from prism_mt.engines.scheduler import score_pairs
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.model import Model

ARCHITECTURES: dict[str, dict[str, Any]] = {
    "pre-norm": {},
    "post-norm": {"norm": "post", "final_norm": False},
    "post-norm with final norm": {"norm": "post", "final_norm": True},
    "pre-norm without final norm": {"final_norm": False},
    "mbart": {"activation": "gelu", "positions": "learned", "embedding_norm": True, "output_bias": True},
    "marian": {
        "norm": "post",
        "final_norm": False,
        "activation": "swish",
        "positions": "marian",
        "position_offset": 0,
        "output_bias": True,
    },
    "untied": {"tied_embeddings": False, "tied_output": False},
    "untied input": {"tied_embeddings": False, "tied_output": True},
    "other numbers": {
        "encoder_layers": 3,
        "decoder_layers": 1,
        "encoder_heads": 2,
        "decoder_heads": 8,
        "encoder_feed_forward": 40,
        "decoder_feed_forward": 24,
        "scaled_embedding": False,
        "norm_epsilon": 1e-3,
    },
}


def pairs_of(model: Model) -> list[Pair]:
    """Pairs of all lengths, an empty source and an empty target among them, and one that is far longer."""
    conventions = model.spec.conventions
    texts = ["", *SENTENCES, "Hello", " ".join(SENTENCES[:3]), " ".join(SENTENCES[:5])]
    tags = list(model.spec.languages.values())
    made = []
    for index, text in enumerate(texts):
        other = texts[(index * 5 + 3) % len(texts)]
        source = conventions.encode_source(model.source.encode(text), None, None)
        made.append(Pair(source, conventions.encode_target(model.target.encode(other), tags[index % len(tags)])))
    return made


@pytest.fixture(scope="module")
def model() -> Model:
    return make_model()


@pytest.fixture(scope="module")
def directory(model: Model, tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return write_model(model, tmp_path_factory.mktemp("models") / "made")


@pytest.fixture(scope="module", params=["ct2", "torch"])
def engine(request: pytest.FixtureRequest, directory: ModelDirectory) -> Engine:
    return open_engine(directory, EngineConfig(engine=request.param, device="cpu"))


def score(engine: Engine, pairs: list[Pair], budget: int | None = None) -> list[np.ndarray[Any, Any]]:
    return list(score_pairs(engine, pairs, budget))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_engines_agree(name: str, tmp_path: Path) -> None:
    model = make_model(**ARCHITECTURES[name])
    directory = write_model(model, tmp_path / "model")
    pairs = pairs_of(model)
    ct2, torch = (
        score(open_engine(directory, EngineConfig(engine=engine, device="cpu")), pairs)
        for engine in ("ct2", "torch")
    )
    assert [len(tokens) for tokens in ct2] == [len(pair.target) - 1 for pair in pairs]
    np.testing.assert_allclose(np.concatenate(ct2), np.concatenate(torch), atol=1e-4)
    assert np.concatenate(ct2).std() > 0.5  # the weights are such that the choices above show


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda pairs: list(reversed(pairs)), id="order"),
        pytest.param(lambda pairs: pairs[:1] + pairs + pairs + pairs[-1:], id="duplicates"),
        pytest.param(lambda pairs: pairs, id="same"),
    ],
)
@pytest.mark.parametrize("budget", [1, 64, 300, 100_000])
def test_batches_do_not_change_scores(
    engine: Engine, model: Model, change: Callable[[list[Pair]], list[Pair]], budget: int
) -> None:
    pairs = pairs_of(model)
    alone = {pair: tokens for pair in pairs for tokens in score(engine, [pair])}
    changed = change(pairs)
    for pair, tokens in zip(changed, score(engine, changed, budget), strict=True):
        np.testing.assert_allclose(tokens, alone[pair], atol=1e-5)


def test_temperature_divides_the_logits(engine: Engine, directory: ModelDirectory, model: Model) -> None:
    pairs = pairs_of(model)
    wanted = temperature_reference(model, pairs[3], 0.7)
    config = EngineConfig(engine=engine.name, device="cpu")  # type: ignore[arg-type]
    np.testing.assert_allclose(score(open_engine(directory, config, 0.7), pairs[3:4])[0], wanted, atol=1e-4)
    assert not np.allclose(score(engine, pairs[3:4])[0], wanted, atol=1e-2)


@pytest.mark.parametrize("name", ["pre-norm", "post-norm", "mbart", "marian", "untied"])
def test_bfloat16_is_close_whatever_the_batch(name: str, tmp_path: Path) -> None:
    model = make_model(**ARCHITECTURES[name])
    directory = write_model(model, tmp_path / "model")
    pairs = pairs_of(model)
    exact, quick, alone = (
        np.array([tokens.mean() for tokens in score(open_engine(directory, config), pairs, budget)])
        for config, budget in (
            (EngineConfig(engine="torch", device="cpu"), None),
            (EngineConfig(engine="torch", device="cpu", precision="bfloat16"), None),
            (EngineConfig(engine="torch", device="cpu", precision="bfloat16"), 1),
        )
    )
    assert 1e-5 < np.abs(quick - exact).mean() < 0.02
    np.testing.assert_allclose(quick, alone, atol=0.01)


@pytest.mark.parametrize("precision", ["int8", "int8_bfloat16"])
@pytest.mark.parametrize("name", ["pre-norm", "mbart", "marian", "untied"])
def test_8_bits_of_torch_are_close_whatever_the_batch(name: str, precision: Any, tmp_path: Path) -> None:
    model = make_model(**ARCHITECTURES[name])
    directory = write_model(model, tmp_path / "model")
    pairs = pairs_of(model)
    exact = score(open_engine(directory, EngineConfig(engine="torch", device="cpu")), pairs)
    engine = open_engine(directory, EngineConfig(engine="torch", device="cpu", precision=precision))
    quick, alone = (np.array([tokens.mean() for tokens in score(engine, pairs, budget)]) for budget in (None, 1))
    errors = np.abs(quick - [tokens.mean() for tokens in exact])
    assert 1e-5 < errors.mean() < (0.05 if precision == "int8" else 0.02)
    np.testing.assert_allclose(quick, alone, atol=0.01)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("architecture", ["pre-norm", "marian"])
def test_a_token_that_is_next_to_impossible(architecture: str, precision: Any, tmp_path: Path) -> None:
    """At a low temperature, differences of logits are beyond what an exponential can hold."""
    model = make_model(**ARCHITECTURES[architecture])
    directory = write_model(model, tmp_path / "model")
    pair = pairs_of(model)[3]
    wanted = temperature_reference(model, pair, 0.005)
    config = EngineConfig(engine="torch", device="cpu", precision=precision)
    found = score(open_engine(directory, config, 0.005), [pair])[0]
    assert wanted.min() < -300
    near = (1e-4, 1e-3) if precision == "float32" else (0.1, 20)
    np.testing.assert_allclose(found, wanted, *near)


def temperature_reference(model: Model, pair: Pair, temperature: float) -> np.ndarray[Any, Any]:
    import torch

    from prism_mt.models.network import from_weights

    network = from_weights(model.spec.architecture, model.weights)
    source, target = torch.tensor([pair.source]), torch.tensor([pair.target])
    with torch.no_grad():
        logits = network.project(network(source, target[:, :-1]))[0] / temperature
        scores = torch.log_softmax(logits, dim=-1).gather(1, target[0, 1:, None])[:, 0]
    return np.asarray(scores.numpy())


def test_int8_is_close(directory: ModelDirectory, model: Model) -> None:
    pairs = pairs_of(model)
    exact = score(open_engine(directory, EngineConfig(device="cpu")), pairs)
    quick = score(open_engine(directory, EngineConfig(device="cpu", precision="int8")), pairs)
    assert not np.array_equal(np.concatenate(exact), np.concatenate(quick))
    assert np.corrcoef(np.concatenate(exact), np.concatenate(quick))[0, 1] > 0.97


@pytest.mark.parametrize("name", ["ct2", "torch"])
@pytest.mark.parametrize(("threads", "workers"), [(1, 3), (4, 2), (2, 1)])
def test_workers_do_not_change_scores(
    directory: ModelDirectory, model: Model, name: Any, threads: int, workers: int
) -> None:
    pairs = pairs_of(model)
    wanted = score(open_engine(directory, EngineConfig(device="cpu", threads=1)), pairs)
    engine = open_engine(directory, EngineConfig(engine=name, device="cpu", threads=threads, workers=workers))
    assert engine.parallel == 2 * workers
    for expected, tokens in zip(wanted, score(engine, pairs, 64), strict=True):
        np.testing.assert_allclose(tokens, expected, atol=1e-5)


def test_a_shared_source_is_encoded_once(directory: ModelDirectory, model: Model, monkeypatch: Any) -> None:
    from prism_mt.engines.torch import TorchEngine

    engine = TorchEngine(directory, "cpu")
    encoded = []
    layout = engine.packed.encode.layout

    def watched(sources: Any) -> Any:
        encoded.append(len(sources))
        return layout(sources)

    monkeypatch.setattr(engine.packed.encode, "layout", watched)
    pairs = pairs_of(model)[1:6]
    shared = [Pair(pairs[0].source, pair.target) for pair in pairs]
    together = [tokens.copy() for tokens in score(engine, shared)]
    assert encoded == [1]
    for pair, tokens in zip(shared, together, strict=True):
        np.testing.assert_allclose(score(engine, [pair])[0], tokens, atol=1e-5)


def test_what_targets_of_a_source_have_in_common_is_decoded_once(
    directory: ModelDirectory, model: Model, monkeypatch: Any
) -> None:
    from prism_mt.engines.torch import TorchEngine

    engine = TorchEngine(directory, "cpu")
    decoded = []
    embed = engine.packed._decoder.embed

    def watched(ids: Any, layout: Any) -> Any:
        decoded.append(len(ids))
        return embed(ids, layout)

    first, second = pairs_of(model)[4:6]
    beginning = first.target[:-1]
    targets = [first.target, (*beginning, 7, 2), (*beginning, 7, 8, 2), (*beginning, 9, 2), (*beginning[:4], 2)]
    pairs = [Pair(source, target) for source in (first.source, second.source) for target in targets]
    alone = [score(engine, [pair])[0] for pair in pairs]
    monkeypatch.setattr(engine.packed._decoder, "embed", watched)
    together = score(engine, pairs)
    assert decoded == [2 * (len(beginning) + 3)]
    for tokens, expected in zip(together, alone, strict=True):
        np.testing.assert_allclose(tokens, expected, atol=1e-5)
