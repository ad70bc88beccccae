"""Learned metrics: what they read, and how often."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_mt.metrics.base import Side
from prism_mt.metrics.learned import Learned, LearnedScorer, MetricSpec, read_spec, read_weights, write_metric
from prism_mt.metrics.learned_network import KINDS, Kind, RegressionNetwork, cut, network_shapes

Array = Any


def random_weights(kind: Kind) -> dict[str, Array]:
    numbers = np.random.default_rng(3)
    shapes = network_shapes(kind, layers=3, width=5, hidden=4)
    return {name: np.asarray(numbers.normal(size=shape), np.float32) for name, shape in shapes.items()}


class MadeEncoder:
    """An encoder of texts that are numbers: so many pieces, at most 7."""

    name, digest, layer, layers, width, room = "made", "0" * 64, "all", 3, 5, 512

    def encode(self, texts: Sequence[str]) -> list[Array]:
        made = [np.random.default_rng(int(text)) for text in texts]
        return [
            numbers.normal(size=(3, int(text) % 8, 5)).astype(np.float32)
            for text, numbers in zip(texts, made, strict=True)
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_layers_can_be_mixed_beforehand(kind: Kind) -> None:
    network, encoder = RegressionNetwork(kind, random_weights(kind)), MadeEncoder()
    layers = encoder.encode(["5", "7"])
    mixed = [np.tensordot(network.mix, text, 1)[None] for text in layers]
    for wanted, found in zip(network.read(layers), network.without_mix().read(mixed), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["ref", "src"])
def test_a_text_is_read_once_and_scores_are_those_of_single_pairs(
    kind: Kind, side: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, encoder = RegressionNetwork(kind, random_weights(kind)), MadeEncoder()
    spec = MetricSpec(kind, "made", encoder.digest, "en", 3, 5, 4, pieces=5, side=side)
    write_metric(tmp_path / "metric", spec, network.weights)
    pairs = [(str(one), str(other)) for one in range(11) for other in range(20)] * 2
    wanted = []
    for pair in pairs:
        one, other = (network.read([cut(encoder.encode([text])[0], 5)])[0] for text in pair)
        wanted.append(float(network.judge([(one, other)])[0]))
    read: list[int] = []
    original = network.read

    def counted(texts: Sequence[Array]) -> list[Array]:
        read.append(len(texts))
        return original(texts)

    monkeypatch.setattr(network, "read", counted)
    metric = Learned(folder=tmp_path / "metric")
    assert metric.needs == {side}
    scorer = LearnedScorer(metric, network, encoder, of_sources=MadeEncoder() if side == "src" else None)
    np.testing.assert_allclose(scorer.compare(pairs), wanted, atol=1e-5)
    assert sum(read) == (11 + 20 if side == "src" else 20)


def test_weights_can_be_stored_in_fewer_bits(tmp_path: Path) -> None:
    weights = random_weights("esim")
    spec = MetricSpec("esim", "made", "0", "en", 3, 5, 4, pieces=5)
    for storage, size in (("float32", 0), ("float16", 1e-3), ("int8", 1e-2)):
        folder = tmp_path / storage
        write_metric(folder, spec, weights, storage)  # type: ignore[arg-type]
        found = read_weights(folder, read_spec(folder))
        for name, array in weights.items():
            np.testing.assert_allclose(found[name], array, atol=size * float(np.abs(array).max()))
